// Package uploadqueue feeds the publisher of a single node with the keys that have changed.
// It publishes several keys at once, but a key never twice at the same time. A key that
// failed is tried again, for about a day. Keys that failed are tried one after another, so
// that they do not hold others up. Nor does a namespace with many keys: the next key is one of the
// namespace that has the fewest running. While the disk has no room, all keys wait.
package uploadqueue

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// workers is how many keys are published at once.
	workers = 4

	// firstDelay and maxDelay bound the wait before the next try of a key, which doubles
	// with every failure.
	firstDelay = time.Second
	maxDelay   = time.Minute

	// maxTries is how often a failing key is tried, in about a day. After that it waits
	// until its object changes, or the node starts.
	maxTries = 24 * 60

	// lookEvery is the time between two looks whether there is room.
	lookEvery = time.Second
)

// Queue is a queue of keys that have changed. Its methods are safe for
// concurrent use.
type Queue struct {
	publish func(ctx context.Context, key string) error
	hasRoom func() bool
	log     *slog.Logger
	wake    chan struct{}

	mu     sync.Mutex
	lanes  map[string]*lane  // by the namespaces of their keys, each with a key that waits or runs
	queued int               // how many times a key was put into a lane
	later  []string          // taken when nothing of the lanes can be taken
	again  bool              // a key that has failed before is running
	keys   map[string]*entry // every key that is queued, running or waiting for its next try
}

// lane has the keys of one namespace that wait, and how many of its keys are running.
type lane struct {
	waiting []ticket
	running int
}

// ticket is a key, and how many were put into lanes before it.
type ticket struct {
	key    string
	number int
}

type entry struct {
	queued   bool
	running  bool
	failures int
}

// New makes a queue that hands keys to publish, while hasRoom says that the disk has room for
// what publishing writes.
func New(publish func(ctx context.Context, key string) error, hasRoom func() bool, log *slog.Logger) *Queue {
	return &Queue{publish: publish, hasRoom: hasRoom, log: log, wake: make(chan struct{}, 1), lanes: map[string]*lane{}, keys: map[string]*entry{}}
}

// Notice says that the object of a key has changed. It never blocks.
func (q *Queue) Notice(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys[key]
	if e == nil {
		e = &entry{}
		q.keys[key] = e
	}
	if e.queued {
		return
	}
	e.queued = true
	if !e.running { // otherwise it is queued when the run ends
		q.enqueue(key)
	}
}

// Later says that the object of a key may have changed a while ago. Keys of Notice are
// published first, because nobody waits for this one. It never blocks.
func (q *Queue) Later(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.later = append(q.later, key)
	q.wakeUp()
}

func (q *Queue) enqueue(keys ...string) {
	for _, key := range keys {
		l := q.lane(key)
		l.waiting = append(l.waiting, ticket{key, q.queued})
		q.queued++
	}
	q.wakeUp()
}

// lane is the lane of a key's namespace.
func (q *Queue) lane(key string) *lane {
	namespace := namespaceOf(key)
	l := q.lanes[namespace]
	if l == nil {
		l = &lane{}
		q.lanes[namespace] = l
	}
	return l
}

// namespaceOf is the second part of a key, which is the hostname in the mirror.
func namespaceOf(key string) string {
	_, rest, _ := strings.Cut(key, "/")
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}

func (q *Queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run publishes until the context ends, and returns when no key is running any more.
func (q *Queue) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, workers)
	for {
		select {
		case <-ctx.Done():
			return
		case free <- struct{}{}:
		}
		key, ok := q.next(ctx)
		if !ok {
			return
		}
		running.Go(func() {
			defer func() { <-free }()
			q.work(ctx, key)
		})
	}
}

// next waits for a key to publish. It is not ok when the context has ended.
func (q *Queue) next(ctx context.Context) (key string, ok bool) {
	for {
		if !q.waitForRoom(ctx) {
			return "", false
		}
		if key, ok := q.take(); ok {
			return key, true
		}
		select {
		case <-ctx.Done():
			return "", false
		case <-q.wake:
		}
	}
}

// waitForRoom waits until there is room, if keys wait. At its second look it logs how many do:
// at a start, not all are known at the first. It is not ok when the context has ended.
func (q *Queue) waitForRoom(ctx context.Context) (ok bool) {
	for look := 1; ; look++ {
		waiting := q.waiting()
		if waiting == 0 || q.hasRoom() {
			return true
		}
		if look == 2 {
			q.log.WarnContext(ctx, "uploads wait until the disk has room, and are published then: make room on it, as larder prune does", "waiting", waiting)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(lookEvery):
		}
	}
}

// waiting is how many keys wait for a worker.
func (q *Queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := len(q.later)
	for _, l := range q.lanes {
		waiting += len(l.waiting)
	}
	return waiting
}

func (q *Queue) take() (key string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	best, at := q.choose()
	if best == nil {
		return q.takeLater()
	}
	key = best.waiting[at].key
	best.waiting = slices.Delete(best.waiting, at, at+1)
	best.running++
	e := q.keys[key]
	e.queued, e.running = false, true
	q.again = q.again || e.failures > 0
	return key, true
}

// choose is the lane with the fewest running keys of those with a key that can be taken, and of
// equal ones that whose key has waited longest; and where the key is in it.
func (q *Queue) choose() (best *lane, at int) {
	canRun := func(t ticket) bool { return !q.again || q.keys[t.key].failures == 0 }
	for _, l := range q.lanes {
		i := slices.IndexFunc(l.waiting, canRun)
		if i < 0 {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(l.running, best.running), cmp.Compare(l.waiting[i].number, best.waiting[at].number)) < 0 {
			best, at = l, i
		}
	}
	return best, at
}

// takeLater takes a key of later, unless it is queued, running or waiting for its next try:
// these are published anyway.
func (q *Queue) takeLater() (key string, ok bool) {
	for len(q.later) > 0 {
		key, q.later = q.later[0], q.later[1:]
		if q.keys[key] == nil {
			q.keys[key] = &entry{running: true}
			q.lane(key).running++
			return key, true
		}
	}
	return "", false
}

func (q *Queue) work(ctx context.Context, key string) {
	err := q.publish(ctx, key)
	if ctx.Err() != nil {
		return
	}
	delay := q.done(key, err)
	switch {
	case err != nil && delay == 0:
		q.log.ErrorContext(ctx, "an upload could not be published and will not be tried again: mend what is wrong, and upload it again or restart the server", "key", key, "error", err, "tries", maxTries)
	case err != nil:
		q.log.ErrorContext(ctx, "an upload could not be published and will be tried again", "key", key, "error", err, "in", delay)
		time.AfterFunc(delay, func() {
			if ctx.Err() == nil {
				q.Notice(key)
			}
		})
	}
}

// done ends the run of a key. If it failed, it returns the wait before the next try; 0 is
// never.
func (q *Queue) done(key string, err error) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.leave(key)
	e := q.keys[key]
	e.running = false
	if e.failures > 0 {
		q.again = false
		q.enqueue() // keys that have waited for this one
	}
	if e.queued {
		q.enqueue(key)
	}
	if e.failures++; err != nil && e.failures < maxTries {
		return min(firstDelay<<min(e.failures-1, 10), maxDelay)
	}
	e.failures = 0
	if !e.queued {
		delete(q.keys, key)
	}
	return 0
}

// leave notes that a key has stopped running. It forgets a lane in which nothing is left.
func (q *Queue) leave(key string) {
	l := q.lane(key)
	if l.running--; l.running == 0 && len(l.waiting) == 0 {
		delete(q.lanes, namespaceOf(key))
	}
}
