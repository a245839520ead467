package pullthrough

import (
	"time"

	"github.com/larder-registry/larder/internal/ttlcache"
	"golang.org/x/sync/singleflight"
)

// maxCached is how many answers of each kind are kept. The versions of a provider may take
// hundreds of kilobytes. A failure is kept for a short time, so that requests for what
// does not exist do not replace the answers that others need.
const maxCached = 200

// cache keeps the answers and failures of origins.
type cache[T any] struct {
	asking  singleflight.Group
	answers *ttlcache.Cache[string, any] // of T each
}

func newCache[T any]() *cache[T] {
	return &cache[T]{answers: ttlcache.New[string, any](maxCached)}
}

// get is the kept answer under a key, or a new one from ask, which also says for how long to
// keep it: 0 for not at all. Of several callers at the same time only one asks.
func (c *cache[T]) get(key string, ask func() (T, time.Duration)) T {
	value, _, _ := c.asking.Do(key, func() (any, error) {
		if value, ok := c.answers.Get(key, time.Now()); ok {
			return value, nil
		}
		value, goodFor := ask()
		c.answers.Put(key, value, time.Now(), goodFor)
		return value, nil
	})
	return value.(T)
}
