package ttlcache

import (
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)

// holds holds that just these keys have good values, which are the keys themselves.
func holds(t *testing.T, c *Cache[int, int], now time.Time, want ...int) {
	t.Helper()
	for _, key := range want {
		if value, ok := c.Get(key, now); !ok || value != key {
			t.Errorf("under %d is %d, %t", key, value, ok)
		}
	}
	if len(c.entries) != len(want) {
		t.Errorf("%d values are kept, want %d", len(c.entries), len(want))
	}
}

// A value is good from when it was put until its lifetime ends, at the nanosecond.
func TestLifetime(t *testing.T) {
	c := New[string, string](1)
	c.Put("key", "value", start, time.Minute)
	for after, good := range map[time.Duration]bool{
		-time.Nanosecond: false, 0: true, time.Minute - time.Nanosecond: true, time.Minute: false, time.Hour: false,
	} {
		want := map[bool]string{true: "value"}[good]
		if value, ok := c.Get("key", start.Add(after)); value != want || ok != good {
			t.Errorf("%v later: %q, %t, want %q", after, value, ok, want)
		}
	}
	if value, ok := c.Get("other", start); value != "" || ok {
		t.Errorf("another key has %q, %t", value, ok)
	}
}

// Times of the monotonic clock are not used, for it may have stood still.
func TestClockOnTheWall(t *testing.T) {
	c, now := New[int, int](1), time.Now()
	c.Put(1, 1, now, time.Minute)
	if e := c.entries[1]; e.from != now.Round(0) || e.until != now.Round(0).Add(time.Minute) {
		t.Errorf("it is good from %v until %v", e.from, e.until)
	}
}

func TestPutReplaces(t *testing.T) {
	c := New[int, string](1)
	c.Put(1, "old", start, time.Hour)
	c.Put(1, "new", start, time.Minute)
	if value, ok := c.Get(1, start); value != "new" || !ok {
		t.Errorf("%q, %t", value, ok)
	}
	if _, ok := c.Get(1, start.Add(time.Minute)); ok {
		t.Error("it has the old lifetime")
	}
	for _, none := range []time.Duration{0, -time.Second} {
		c.Put(2, "never", start, none)
	}
	if _, ok := c.Get(1, start); !ok || len(c.entries) != 1 {
		t.Errorf("a value for no time took the place of another: %v", c.entries)
	}
}

func TestPutNew(t *testing.T) {
	c := New[int, string](1)
	for _, tt := range []struct {
		value string
		after time.Duration
		isNew bool
		want  string
	}{
		{"a", 0, true, "a"},
		{"b", time.Minute - time.Nanosecond, false, "a"},
		{"c", time.Minute, true, "c"},
		{"d", time.Minute, false, "c"},
		{"e", 0, true, "e"}, // the clock was set back
	} {
		now := start.Add(tt.after)
		isNew := c.PutNew(1, tt.value, now, time.Minute)
		if value, _ := c.Get(1, now); isNew != tt.isNew || value != tt.want {
			t.Errorf("%s after %v: %t, and there is %q, want %t and %q", tt.value, tt.after, isNew, value, tt.isNew, tt.want)
		}
	}
}

func TestDelete(t *testing.T) {
	c := New[int, int](2)
	c.Put(1, 1, start, time.Minute)
	c.Put(2, 2, start, time.Minute)
	c.Delete(1)
	c.Delete(3)
	holds(t, c, start, 2)
}

// Where there is no room, what has ended goes; else what ends first, and no more. So
// values with a short lifetime drive out none with a long one.
func TestRoom(t *testing.T) {
	c := New[int, int](3)
	c.Put(1, 1, start, time.Hour)
	c.Put(2, 2, start, time.Minute)
	c.Put(3, 3, start, 2*time.Minute)
	holds(t, c, start, 1, 2, 3)
	c.Put(3, 3, start, 2*time.Minute) // which needs no room
	holds(t, c, start, 1, 2, 3)
	c.Put(4, 4, start, time.Minute)
	holds(t, c, start, 1, 3, 4)
	for key := range 100 {
		c.Put(10+key, 10+key, start, time.Second)
	}
	holds(t, c, start, 1, 3, 109)
	c.Put(5, 5, start.Add(2*time.Minute), time.Second)
	holds(t, c, start.Add(2*time.Minute), 1, 5)
	c.Put(6, 6, start.Add(2*time.Minute), time.Second)
	c.Put(7, 7, start.Add(-time.Second), time.Second) // the clock was set back, and nothing is good
	holds(t, c, start.Add(-time.Second), 7)
}

func TestConcurrentUse(t *testing.T) {
	c := New[int, int](10)
	var news [20]int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for key := range 10 {
				if c.PutNew(key, key, start, time.Minute) {
					mu.Lock()
					news[key]++
					mu.Unlock()
				}
				if value, ok := c.Get(key, start); ok && value != key {
					t.Errorf("under %d is %d", key, value)
				}
				c.Put(100+key, key, start, time.Second)
				c.Delete(100 + key)
			}
		})
	}
	all.Wait()
	for key, n := range news[:10] {
		if n == 0 {
			t.Errorf("%d was new to nobody", key)
		}
	}
}
