// Package sizedlru keeps values up to a total size. The values that were not needed for the
// longest time make room for others.
//
// hashicorp/golang-lru keeps their order. It counts entries, so this package counts sizes.
package sizedlru

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps values by key, each with its size. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	room int

	mu      sync.Mutex
	entries *simplelru.LRU[K, entry[V]]
	used    int
}

type entry[V any] struct {
	value V
	size  int
}

// New makes an empty cache with room for a total size.
func New[K comparable, V any](room int) *Cache[K, V] {
	c := &Cache[K, V]{room: room}
	// All entries together have a limit; their number has no other.
	c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ K, removed entry[V]) { c.used -= removed.size }) // fails for a size of 0 only
	return c
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries.Get(key)
	return e.value, ok
}

// Put keeps a value instead of the key's last one. It does not keep a value that would take
// more than an eighth of the room, since that would drive out too many others.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
	if size > c.room/8 {
		return
	}
	c.entries.Add(key, entry[V]{value, size})
	for c.used += size; c.used > c.room; {
		c.entries.RemoveOldest()
	}
}

// Used is how many values there are, and their total size.
func (c *Cache[K, V]) Used() (entries, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len(), c.used
}
