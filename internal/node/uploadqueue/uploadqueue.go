// Package uploadqueue feeds the publisher of a single node. It is told which keys
// have changed, and publishes what lies under them: several at once, a key
// never twice at the same time, and again after a while where it failed: those one
// after another, for about a day, so that they are not in the way of others.
package uploadqueue

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// workers is how many keys are published at once.
	workers = 4

	// firstDelay and maxDelay bound the wait before a key is tried again; it
	// doubles with every failure.
	firstDelay = time.Second
	maxDelay   = time.Minute

	// maxTries is how often a key is tried that fails every time: for about a
	// day. Then it is left, until something changes under it, or the node
	// starts.
	maxTries = 24 * 60
)

// Queue is a queue of keys that have changed. Its methods are safe for
// concurrent use.
type Queue struct {
	publish func(ctx context.Context, key string) error
	log     *slog.Logger
	wake    chan struct{}

	mu    sync.Mutex
	queue []string
	later []string          // when nothing of the queue can be taken
	again bool              // one that has failed before is running
	keys  map[string]*entry // every key that is queued, running or waiting for its next try
}

type entry struct {
	queued   bool
	running  bool
	failures int
}

// New is a queue that hands keys to publish.
func New(publish func(ctx context.Context, key string) error, log *slog.Logger) *Queue {
	return &Queue{publish: publish, log: log, wake: make(chan struct{}, 1), keys: map[string]*entry{}}
}

// Notice says that something has changed under a key. It never blocks.
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
	if !e.running { // else it is queued when the run ends
		q.enqueue(key)
	}
}

// Later says that something may have changed under a key a while ago: it is
// published once nothing that Notice told of can be, since nobody waits for it. It
// never blocks.
func (q *Queue) Later(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.later = append(q.later, key)
	q.wakeUp()
}

func (q *Queue) enqueue(keys ...string) {
	q.queue = append(q.queue, keys...)
	q.wakeUp()
}

func (q *Queue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run publishes until the context ends, and returns when nothing is in work
// any more.
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

func (q *Queue) take() (key string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.queue, func(key string) bool { return !q.again || q.keys[key].failures == 0 })
	if at < 0 {
		return q.takeLater()
	}
	key = q.queue[at]
	q.queue = slices.Delete(q.queue, at, at+1)
	e := q.keys[key]
	e.queued, e.running = false, true
	q.again = q.again || e.failures > 0
	return key, true
}

// takeLater takes a key that is neither queued nor running nor waiting for its
// next try: those are published anyway.
func (q *Queue) takeLater() (key string, ok bool) {
	for len(q.later) > 0 {
		key, q.later = q.later[0], q.later[1:]
		if q.keys[key] == nil {
			q.keys[key] = &entry{running: true}
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

// done ends the run of a key and says when to try it again, if it failed: never,
// for 0.
func (q *Queue) done(key string, err error) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys[key]
	e.running = false
	if e.failures > 0 {
		q.again = false
		q.enqueue() // those that have waited for that
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
