package mirror

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/larder-registry/larder/functions/internal/queue"
	"github.com/larder-registry/larder/pkg/pullthrough"
)

// maxAsked is how many packages are remembered.
const maxAsked = 1000

// asker asks the queue for packages, for each once in as long as the queue
// remembers it. Its zero value needs send alone.
type asker struct {
	send func(ctx context.Context, id, body string) error

	mu    sync.Mutex
	asked map[pullthrough.Wanted]time.Time
}

// want asks for a package to be fetched.
func (a *asker) want(ctx context.Context, w pullthrough.Wanted) error {
	if !a.first(w) {
		return nil
	}
	id, body, err := message(w)
	if err == nil {
		err = a.send(ctx, id, body)
	}
	if err != nil {
		a.forget(w)
		return fmt.Errorf("ask the queue for %s: %w", w, err)
	}
	return nil
}

// first says whether nobody has asked for a package lately, and remembers that
// it is asked for now.
func (a *asker) first(w pullthrough.Wanted) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if asked, ok := a.asked[w]; ok && time.Since(asked) < queue.OnceFor {
		return false
	}
	if a.asked == nil || len(a.asked) >= maxAsked { // the queue remembers what is forgotten here
		a.asked = map[pullthrough.Wanted]time.Time{}
	}
	a.asked[w] = time.Now()
	return true
}

func (a *asker) forget(w pullthrough.Wanted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.asked, w)
}
