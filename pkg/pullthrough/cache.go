package pullthrough

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// maxCached is how many answers are kept of each kind.
const maxCached = 1000

// errAsked says that an origin failed a moment ago, and was not asked again.
var errAsked = errors.New("the origin has failed a moment ago")

// cache keeps what origins answered, and that they did not. Its zero value is
// empty.
type cache[T any] struct {
	asking singleflight.Group

	mu      sync.Mutex
	answers map[string]answer[T]
}

type answer[T any] struct {
	value T
	err   error
	until time.Time
}

// get is the answer under a key: one that is good still, or a new one. Of many
// who want it at once, one asks. The error of a failure is returned once, and
// errAsked for a while after it.
func (c *cache[T]) get(key string, ask func() (T, error)) (T, error) {
	if a, ok := c.find(key); ok {
		return a.value, a.err
	}
	value, err, _ := c.asking.Do(key, func() (any, error) {
		if a, ok := c.find(key); ok { // another one has asked since
			return a.value, a.err
		}
		value, err := ask()
		c.keep(key, value, err)
		return value, err
	})
	return value.(T), err
}

func (c *cache[T]) find(key string) (answer[T], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.answers[key]
	return a, ok && time.Now().Before(a.until)
}

func (c *cache[T]) keep(key string, value T, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil || len(c.answers) >= maxCached { // what is thrown away is asked for again
		c.answers = map[string]answer[T]{}
	}
	a := answer[T]{value: value, until: time.Now().Add(freshFor)}
	if err != nil {
		a.err, a.until = errAsked, time.Now().Add(failedFor)
	}
	c.answers[key] = a
}
