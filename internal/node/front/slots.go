package front

// Slots limits the requests that are under way at the same time, of each source and in
// all.
type Slots struct{ shares *shares }

// NewSlots returns most slots, of which one source may have perSource.
func NewSlots(most, perSource int) *Slots { return &Slots{newShares(most, perSource)} }

// Take takes a slot for a client at a remote address, until the function that it returns
// is called. It returns nil if there is no slot. The slot may be taken back for a source
// that has far fewer: end must then end the request, without waiting for it.
func (s *Slots) Take(remote string, end func()) (release func()) {
	slot := s.shares.take(Source(remote), busy, end)
	if slot == nil {
		return nil
	}
	return slot.giveBack
}
