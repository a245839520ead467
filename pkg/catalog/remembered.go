package catalog

import (
	"sync"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// maxRemembered is how many tokens are known at a time.
const maxRemembered = 1000

// remembered is the tokens that were looked up a moment ago.
type remembered struct {
	lifetime time.Duration

	mu     sync.Mutex
	tokens map[access.ID]known
}

type known struct {
	access.Token
	since time.Time
}

func newRemembered(lifetime time.Duration) *remembered {
	return &remembered{lifetime: lifetime, tokens: map[access.ID]known{}}
}

func (r *remembered) get(id access.ID, now time.Time) (access.Token, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.tokens[id]
	return k.Token, ok && r.fresh(k, now)
}

// fresh goes by the clock on the wall, which goes on while a process is frozen
// between two requests; the monotonic one may stand still then. Where the wall's
// was set back, a token is looked up again.
func (r *remembered) fresh(k known, now time.Time) bool {
	age := now.Round(0).Sub(k.since)
	return age >= 0 && age < r.lifetime
}

func (r *remembered) put(t access.Token, now time.Time) {
	if r.lifetime <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tokens) >= maxRemembered {
		r.forget(now)
	}
	r.tokens[t.ID] = known{t, now.Round(0)}
}

// forget makes room: it drops what is too old, or any one where nothing is.
func (r *remembered) forget(now time.Time) {
	for id, k := range r.tokens {
		if !r.fresh(k, now) {
			delete(r.tokens, id)
		}
	}
	for id := range r.tokens {
		if len(r.tokens) < maxRemembered {
			return
		}
		delete(r.tokens, id)
	}
}
