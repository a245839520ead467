package front

import (
	"cmp"
	"container/list"
	"net/netip"
	"sync"
)

// shares divides a limited number of connections, or of requests under way, among sources.
// There is a limit for all, and one for each source.
//
// If there is no room, the source with the most makes room for a source with less: it
// loses the part that it needs least. So a few sources never have all, and a source with a
// fair share, or less, keeps what it uses.
type shares struct {
	max, perSource int

	mu      sync.Mutex
	taken   int
	sources map[netip.Prefix]*share
}

// share is the parts of one source by their states, the oldest first.
type share [states]list.List

func (s *share) size() (sum int) {
	for state := range s {
		sum += s[state].Len()
	}
	return sum
}

// unused returns the part that has been idle longest, or else fresh longest.
func (s *share) unused() *list.Element { return cmp.Or(s[idle].Front(), s[fresh].Front()) }

// state says whether a part has a request.
type state int

const (
	idle  state = iota // not now: it had one, and may have another
	fresh              // not yet
	busy               // now
	states
)

// part is a connection or a request of a share.
type part struct {
	of    *shares
	from  netip.Prefix
	end   func()
	in    *list.List // of its share; nil after it was given back
	place *list.Element
}

func newShares(most, perSource int) *shares {
	return &shares{max: most, perSource: perSource, sources: map[netip.Prefix]*share{}}
}

// take gives a source a part, or nil if there is no room. To make room for another, the
// part may be taken back later: then end is called, which must not wait, and must not call
// a method of shares.
func (s *shares) take(from netip.Prefix, as state, end func()) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.makeRoom(from) {
		return nil
	}
	own := s.sources[from]
	if own == nil {
		own = &share{}
		s.sources[from] = own
	}
	p := &part{of: s, from: from, end: end}
	p.moveTo(&own[as])
	s.taken++
	return p
}

// makeRoom says whether there is room for another part of a source.
func (s *shares) makeRoom(from netip.Prefix) bool {
	own := cmp.Or(s.sources[from], &share{})
	var spared *list.Element
	switch {
	case own.size() >= s.perSource:
		spared = own.unused()
	case s.taken < s.max:
		return true
	default:
		spared = s.spared(own)
	}
	if spared != nil {
		spared.Value.(*part).takeBack()
	}
	return spared != nil
}

// spared returns the part that makes room for a source when there is no room: an idle or
// fresh part of the source that has the most of these. A source spares a fresh part only
// if it has more parts than the other, so that a source that connects again and again
// cannot keep others from their first request. If there is no such part, the source with
// the most parts spares a busy one, if the other then has at most half as many: so two
// sources of about the same size do not end each other's requests in turn.
func (s *shares) spared(own *share) *list.Element {
	size := own.size()
	unused := func(one *share) int {
		if one == own || one.size() > size {
			return one[idle].Len() + one[fresh].Len()
		}
		return one[idle].Len()
	}
	if most := s.most(unused); unused(most) > 0 {
		return most.unused()
	}
	if most := s.most((*share).size); most.size() >= 2*(size+1) {
		return most[busy].Front()
	}
	return nil
}

// most returns the share with the highest count; of two, the larger share.
func (s *shares) most(of func(*share) int) *share {
	most := &share{}
	for _, one := range s.sources {
		if cmp.Or(cmp.Compare(of(one), of(most)), cmp.Compare(one.size(), most.size())) > 0 {
			most = one
		}
	}
	return most
}

// endUnused ends all parts but busy ones.
func (s *shares) endUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sources {
		for unused := one.unused(); unused != nil; unused = one.unused() {
			unused.Value.(*part).takeBack()
		}
	}
}

// becomes sets the state of the part.
func (p *part) becomes(next state) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.in == nil {
		return
	}
	if in := &p.of.sources[p.from][next]; in != p.in {
		p.in.Remove(p.place)
		p.moveTo(in)
	}
}

// giveBack gives the part back, once.
func (p *part) giveBack() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.in != nil {
		p.remove()
	}
}

func (p *part) takeBack() {
	p.remove()
	p.end()
}

func (p *part) moveTo(in *list.List) { p.in, p.place = in, in.PushBack(p) }

func (p *part) remove() {
	p.in.Remove(p.place)
	p.in = nil
	p.of.taken--
	if p.of.sources[p.from].size() == 0 {
		delete(p.of.sources, p.from)
	}
}
