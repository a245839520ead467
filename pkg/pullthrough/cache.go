package pullthrough

import (
	"time"

	"github.com/larder-registry/larder/internal/ttlcache"
	"golang.org/x/sync/singleflight"
)

// maxCached is how many answers are kept of each kind. The versions of a provider
// may take hundreds of kilobytes. Those that an origin does not give end soon: so
// whoever asks for what is nowhere does not drive out what others ask for.
const maxCached = 200

// cache keeps what origins answered, and that they did not.
type cache[T any] struct {
	asking singleflight.Group
	known  *ttlcache.Cache[string, any] // of T each
}

func newCache[T any]() *cache[T] {
	return &cache[T]{known: ttlcache.New[string, any](maxCached)}
}

// get is the answer under a key: one that is good still, or a new one, with how
// long it is good for, which may be no time at all. Of many who want it at once,
// one asks.
func (c *cache[T]) get(key string, ask func() (T, time.Duration)) T {
	value, _, _ := c.asking.Do(key, func() (any, error) {
		if value, ok := c.known.Get(key, time.Now()); ok {
			return value, nil
		}
		value, goodFor := ask()
		c.known.Put(key, value, time.Now(), goodFor)
		return value, nil
	})
	return value.(T)
}
