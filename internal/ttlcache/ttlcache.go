// Package ttlcache keeps values for a limited time, and no more of them than there is
// room for.
//
// It is a package of our own because hashicorp/golang-lru/v2/expirable serves none of
// its users: it has a goroutine that does not end with its owner, one lifetime for all
// values, and the monotonic clock. That clock may stand still while a function of
// Lambda is frozen between two requests, and what is kept would outlive its time.
package ttlcache

import (
	"sync"
	"time"
)

// Cache keeps values by key, each for a lifetime of its own. Whoever calls says what
// time it is. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	max int

	mu      sync.Mutex
	entries map[K]entry[V]
}

// entry is a value, and when it is good, by the clock on the wall.
type entry[V any] struct {
	value       V
	from, until time.Time
}

// New is an empty cache with room for max values.
func New[K comparable, V any](max int) *Cache[K, V] {
	return &Cache[K, V]{max: max, entries: map[K]entry[V]{}}
}

// Get is the value of a key, where there is one that is good at that time. None is
// good before it was put: so nothing outlives its time where the clock was set back.
func (c *Cache[K, V]) Get(key K, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key, now)
}

func (c *Cache[K, V]) get(key K, now time.Time) (value V, ok bool) {
	if e, found := c.entries[key]; found && e.goodAt(now) {
		return e.value, true
	}
	return value, false
}

// Put keeps a value from now on, in the place of the key's last one. A lifetime that
// is not positive keeps nothing. Where there is no room, what has ended goes, or else
// the one value that ends first.
func (c *Cache[K, V]) Put(key K, value V, now time.Time, lifetime time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, now, lifetime)
}

// PutNew is [Cache.Put] for a key that has no good value yet. It says whether that was
// so.
func (c *Cache[K, V]) PutNew(key K, value V, now time.Time, lifetime time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.get(key, now); ok {
		return false
	}
	c.put(key, value, now, lifetime)
	return true
}

func (c *Cache[K, V]) put(key K, value V, now time.Time, lifetime time.Duration) {
	if lifetime <= 0 {
		return
	}
	if _, replaces := c.entries[key]; !replaces && len(c.entries) >= c.max {
		c.makeRoom(now)
	}
	now = now.Round(0) // without the monotonic clock
	c.entries[key] = entry[V]{value, now, now.Add(lifetime)}
}

// Delete forgets the value of a key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

func (c *Cache[K, V]) makeRoom(now time.Time) {
	var first K
	var ends time.Time
	for key, e := range c.entries {
		switch {
		case !e.goodAt(now):
			delete(c.entries, key)
		case ends.IsZero() || e.until.Before(ends):
			first, ends = key, e.until
		}
	}
	if len(c.entries) >= c.max {
		delete(c.entries, first)
	}
}

func (e entry[V]) goodAt(now time.Time) bool {
	return !now.Before(e.from) && now.Before(e.until)
}
