// Package ttlcache keeps a limited number of values for a limited time.
//
// It is our own because hashicorp/golang-lru/v2/expirable does not fit: that has a goroutine
// that does not end with its owner, one lifetime for all values, and the monotonic clock. This
// clock may stop while a function of Lambda is frozen between two requests, and then values
// would live too long.
package ttlcache

import (
	"sync"
	"time"
)

// Cache keeps values by key, each with its own lifetime. Callers pass the current time. It is
// safe for concurrent use.
type Cache[K comparable, V any] struct {
	max int

	mu      sync.Mutex
	entries map[K]entry[V]
}

// entry is a value and its time, by the wall clock.
type entry[V any] struct {
	value       V
	from, until time.Time
}

// New makes an empty cache with room for max values.
func New[K comparable, V any](max int) *Cache[K, V] {
	return &Cache[K, V]{max: max, entries: map[K]entry[V]{}}
}

// Get returns the value of a key that is valid at a time. A value is not valid before it was
// put: so it does not live too long if the clock was set back.
func (c *Cache[K, V]) Get(key K, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key, now)
}

func (c *Cache[K, V]) get(key K, now time.Time) (value V, ok bool) {
	if e, found := c.entries[key]; found && e.validAt(now) {
		return e.value, true
	}
	return value, false
}

// Put keeps a value from now on, and replaces the key's last one. If the lifetime is not
// positive, it keeps nothing. If there is no room, it removes the values that have ended, or
// else the value that ends first.
func (c *Cache[K, V]) Put(key K, value V, now time.Time, lifetime time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, now, lifetime)
}

// PutNew is [Cache.Put] for a key without a valid value. It says whether it has put the value.
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
		case !e.validAt(now):
			delete(c.entries, key)
		case ends.IsZero() || e.until.Before(ends):
			first, ends = key, e.until
		}
	}
	if len(c.entries) >= c.max {
		delete(c.entries, first)
	}
}

func (e entry[V]) validAt(now time.Time) bool {
	return !now.Before(e.from) && now.Before(e.until)
}
