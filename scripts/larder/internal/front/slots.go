package front

import (
	"net/netip"
	"sync"
)

// Slots are how much may be under way at the same time: as much of each source
// as is said, and as much in all.
type Slots struct {
	max, perSource int

	mu    sync.Mutex
	taken int
	by    map[netip.Prefix]int
}

// NewSlots returns so many slots, of which one source may have so many.
func NewSlots(most, perSource int) *Slots {
	return &Slots{max: most, perSource: perSource, by: map[netip.Prefix]int{}}
}

// Take takes a slot for who comes from a remote address, until the function
// that it returns is called. It returns nil if there is none.
func (s *Slots) Take(remote string) (release func()) {
	from := Source(remote)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.max || s.by[from] >= s.perSource {
		return nil
	}
	s.taken++
	s.by[from]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		if s.by[from]--; s.by[from] == 0 {
			delete(s.by, from)
		}
	}
}
