package pullthrough

import (
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// maxCached is how many answers are kept of each kind. The versions of a provider
// may take hundreds of kilobytes.
const maxCached = 200

// cache keeps what origins answered, and that they did not. Its zero value is
// empty.
type cache[T any] struct {
	asking singleflight.Group

	mu      sync.Mutex
	answers map[string]answer[T]
}

type answer[T any] struct {
	value T
	until time.Time
}

// get is the answer under a key: one that is good still, or a new one, with how
// long it is good for, which may be no time at all. Of many who want it at once,
// one asks.
func (c *cache[T]) get(key string, ask func() (T, time.Duration)) T {
	value, _, _ := c.asking.Do(key, func() (any, error) {
		if value, ok := c.find(key); ok {
			return value, nil
		}
		value, goodFor := ask()
		c.keep(key, value, time.Now().Add(goodFor))
		return value, nil
	})
	return value.(T)
}

func (c *cache[T]) find(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.answers[key]
	return a.value, time.Now().Before(a.until)
}

// keep keeps an answer, and throws away the one that ends soonest where there is
// no room. Those that an origin does not give end soon: so whoever asks for what is
// nowhere does not drive out what others ask for.
func (c *cache[T]) keep(key string, value T, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !time.Now().Before(until) {
		return
	}
	if c.answers == nil {
		c.answers = map[string]answer[T]{}
	}
	if _, known := c.answers[key]; !known && len(c.answers) >= maxCached {
		soonest := ""
		for other, a := range c.answers {
			if soonest == "" || a.until.Before(c.answers[soonest].until) {
				soonest = other
			}
		}
		delete(c.answers, soonest)
	}
	c.answers[key] = answer[T]{value, until}
}

// silences remembers which hosts did not answer in time. Its zero value is empty.
type silences struct {
	mu    sync.Mutex
	until map[string]time.Time // by hostname, of which patterns name a few
}

func (s *silences) has(hostname string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until[hostname])
}

func (s *silences) add(hostname string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	s.until[hostname] = until
}
