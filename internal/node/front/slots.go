package front

// Slots are how many requests may be under way at the same time: so many of each
// source, and so many in all.
type Slots struct{ shares *shares }

// NewSlots returns so many slots, of which one source may have so many.
func NewSlots(most, perSource int) *Slots { return &Slots{newShares(most, perSource)} }

// Take takes a slot for who comes from a remote address, until the function
// that it returns is called. It returns nil if there is none. Where a source that
// has far fewer finds no other, the slot is taken back: end must then end what is
// under way, without waiting for it.
func (s *Slots) Take(remote string, end func()) (release func()) {
	slot := s.shares.take(Source(remote), busy, end)
	if slot == nil {
		return nil
	}
	return slot.giveBack
}
