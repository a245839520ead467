package sizedlru_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/sizedlru"
)

// The values take no more than the room, and each at most an eighth of it. What was not
// needed for the longest time goes first.
func TestRoom(t *testing.T) {
	const size = 100
	for room, want := range map[int]int{8 * size: 8, 9*size - 1: 8, 10 * size: 10, 10*size - 1: 9, 8*size - 1: 0} {
		c := sizedlru.New[int, int](room)
		for i := range 20 {
			c.Put(i, -i, size)
			c.Get(0) // is needed
			if entries, used := c.Used(); used != entries*size || used > room {
				t.Fatalf("a room of %d has %d, in %d values", room, used, entries)
			}
		}
		var has, all []int
		for i := range 20 {
			if v, ok := c.Get(i); ok && v == -i {
				has = append(has, i)
			}
			if want > 0 && (i == 0 || i > 20-want) {
				all = append(all, i)
			}
		}
		if !slices.Equal(has, all) {
			t.Errorf("a room of %d has the values %v, want %v", room, has, all)
		}
	}
}

// A value takes the place of the key's last one, also if it is too large to be kept.
func TestReplaced(t *testing.T) {
	c := sizedlru.New[string, int](80)
	for i := range 100 {
		c.Put("key", i, 1+i%10)
		if v, ok := c.Get("key"); v != i || !ok {
			t.Fatalf("the value is %d, %t, want %d", v, ok, i)
		}
		if entries, used := c.Used(); entries != 1 || used != 1+i%10 {
			t.Fatalf("%d: %d values of %d", i, entries, used)
		}
	}
	c.Put("key", 0, 11)
	if _, ok := c.Get("key"); ok {
		t.Error("the last value is there")
	}
	if entries, used := c.Used(); entries+used != 0 {
		t.Errorf("%d values of %d", entries, used)
	}
}

func TestAtOnce(t *testing.T) {
	c := sizedlru.New[int, int](1000)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				c.Put(i%50, i%50, 1+(g+i)%100)
				if v, ok := c.Get(i % 50); ok && v != i%50 {
					t.Errorf("%d has the value %d", i%50, v)
				}
			}
		})
	}
	wg.Wait()
	if _, used := c.Used(); used > 1000 {
		t.Errorf("they take %d", used)
	}
}
