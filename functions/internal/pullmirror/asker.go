package pullmirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/larder-registry/larder/functions/internal/queue"
	"github.com/larder-registry/larder/internal/ttlcache"
	"github.com/larder-registry/larder/pkg/pullthrough"
)

const (
	// maxAsked is how many packages are remembered.
	maxAsked = 1000

	// sendTime is how long the queue may take while a client waits, and
	// failedFor is how long it is not asked again when that was not enough.
	sendTime  = time.Second
	failedFor = 30 * time.Second
)

// errSilent says that the queue has failed and is not asked for a while.
var errSilent = errors.New("the queue has failed a moment ago")

// asker asks the queue for packages, for each only once in the time for which the queue
// remembers it.
type asker struct {
	send func(ctx context.Context, id, body string) error

	mu     sync.Mutex
	asked  *ttlcache.Cache[string, struct{}] // by the names of packages; the queue drops a repeated one anyway
	silent time.Time                         // until when the queue is not asked
}

func newAsker(send func(ctx context.Context, id, body string) error) *asker {
	return &asker{send: send, asked: ttlcache.New[string, struct{}](maxAsked)}
}

// want asks for a package to be fetched.
func (a *asker) want(ctx context.Context, w pullthrough.Wanted) error {
	first, err := a.claim(w)
	if first {
		err = a.ask(ctx, w)
	}
	if err != nil {
		return fmt.Errorf("ask the queue for %s: %w", w, err)
	}
	return nil
}

func (a *asker) ask(ctx context.Context, w pullthrough.Wanted) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	id, body, err := message(w)
	if err == nil {
		err = a.send(ctx, id, body)
	}
	if err != nil {
		a.forget(w)
	}
	return err
}

// claim says whether nobody has asked for a package lately, and notes that it is asked for
// now.
func (a *asker) claim(w pullthrough.Wanted) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if _, asked := a.asked.Get(w.String(), now); asked {
		return false, nil
	}
	if now.Before(a.silent) {
		return false, errSilent
	}
	a.asked.Put(w.String(), struct{}{}, now, queue.OnceFor)
	return true, nil
}

// forget removes the note of a package, after the queue has failed.
func (a *asker) forget(w pullthrough.Wanted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked.Delete(w.String())
	a.silent = time.Now().Add(failedFor)
}
