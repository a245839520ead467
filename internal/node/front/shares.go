package front

import (
	"cmp"
	"container/list"
	"net/netip"
	"sync"
)

// shares are what sources have of something of which there is so much in all,
// and so much for one of them: connections, or requests under way.
//
// Where there is no more, the source that has most makes room, for one that has
// less, by what can best be spared. So a few never have all, and who has a fair
// share, or less, keeps what is of use.
type shares struct {
	max, perSource int

	mu      sync.Mutex
	taken   int
	sources map[netip.Prefix]*share
}

// share is what one source has: parts by their states, the longest first.
type share [states]list.List

func (s *share) size() (sum int) {
	for state := range s {
		sum += s[state].Len()
	}
	return sum
}

// unused is what has been idle longest or, where nothing is, fresh.
func (s *share) unused() *list.Element { return cmp.Or(s[idle].Front(), s[fresh].Front()) }

// state is what a part is good for.
type state int

const (
	idle  state = iota // for nothing: it was, and may be again
	fresh              // for nothing yet
	busy               // for a request
	states
)

// part is one of a share.
type part struct {
	of    *shares
	from  netip.Prefix
	end   func()
	in    *list.List // of its share; nil once it is given back
	place *list.Element
}

func newShares(most, perSource int) *shares {
	return &shares{max: most, perSource: perSource, sources: map[netip.Prefix]*share{}}
}

// take gives a source a part, and nil if there is none. To make room for another,
// the part is taken back, and end called: at once, so it must neither wait nor
// call any of this.
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

// spared is what makes room for a source where all is taken: what is not busy,
// of the source that has most such. Only who has more than the other one spares
// what is fresh, so that who comes again and again keeps nobody from their first
// request. Where there is no such, whoever has most spares what is busy, if the
// other one comes to half as much by that at most: two of about the same size do
// not end each other's in turn.
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

// most is the share that has most of something; of two, the larger.
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

// becomes says what state the part is in from now on.
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
