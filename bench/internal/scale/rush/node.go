package rush

import (
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// The limits of one machine, at each of its two ports.
const (
	maxConnections = 2048 // internal/node/front
	maxPerSource   = 1024
	maxDownloads   = 768 // under way at the same time, internal/node/locals3
	maxOfSource    = 384
)

// node is the registry on one machine.
type node struct {
	*world
	ports     map[bool]*shares // of connections, at the bucket's port and at the registry's
	downloads *shares
	free      []time.Duration // when each processor has no more to do
	sent      time.Duration   // when the line has no more to do
}

// shares divides a limited number among sources.
type shares struct {
	most, perSource int
	taken           int
	of              map[int]int
	idle            map[int]int // connections of a source without a request
	idleAll         int
}

func newShares(most, perSource int) *shares {
	return &shares{most: most, perSource: perSource, of: map[int]int{}, idle: map[int]int{}}
}

// take says whether there is one more for a source. An idle one makes room for it: one of
// its own if the source has as many as it may, or else any.
func (s *shares) take(source int) bool {
	switch {
	case s.of[source] >= s.perSource:
		if s.idle[source] == 0 {
			return false
		}
		s.endIdle(source)
	case s.taken >= s.most:
		from, found := s.mostIdle()
		if !found {
			return false
		}
		s.endIdle(from)
	}
	s.taken++
	s.of[source]++
	return true
}

// mostIdle is the source with the most idle ones; of several, the lowest.
func (s *shares) mostIdle() (from int, found bool) {
	if s.idleAll == 0 {
		return 0, false
	}
	for source, n := range s.idle {
		if most := s.idle[from]; !found || n > most || n == most && source < from {
			from, found = source, true
		}
	}
	return from, true
}

func (s *shares) endIdle(source int) {
	s.idle[source]--
	s.idleAll--
	s.giveBack(source)
}

func (s *shares) giveBack(source int) {
	s.taken--
	s.of[source]--
}

func newNode(w *world) *node {
	return &node{
		world: w,
		ports: map[bool]*shares{
			false: newShares(maxConnections, maxPerSource), true: newShares(maxConnections, maxPerSource),
		},
		downloads: newShares(maxDownloads, maxOfSource),
		free:      make([]time.Duration, w.config.Node.Cores),
	}
}

// answer implements registry.
func (n *node) answer(r request, done func(status int)) {
	toBucket := r.kind.FromBucket()
	port, p := n.ports[toBucket], r.from
	work := n.config.Node.CPU[r.kind]
	var shake time.Duration
	// A connection that was closed to make room for another is not there any more.
	if p.idle[toBucket] > 0 && port.idle[p.source] > 0 {
		p.idle[toBucket]--
		port.idle[p.source]--
		port.idleAll--
	} else {
		p.idle[toBucket] = 0
		if !port.take(p.source) {
			n.result.Refused++
			done(noAnswer)
			return
		}
		n.result.Handshakes++
		work += n.config.Node.Handshake
		shake = 4 * n.config.Travel // twice there and back, for TCP and for TLS 1.3
	}
	n.result.Busiest = max(n.result.Busiest, port.taken-port.idleAll)
	release := func(status int) {
		p.idle[toBucket]++
		port.idle[p.source]++
		port.idleAll++
		done(status)
	}
	n.after(shake, func() { n.serve(r, work, release) })
}

// serve answers on a connection.
func (n *node) serve(r request, work time.Duration, done func(status int)) {
	if !r.kind.FromBucket() {
		n.result.Requests++
		n.after(n.compute(work), func() { done(ok) })
		return
	}
	n.result.BucketRequests++
	source := r.from.source
	if !n.downloads.take(source) {
		n.result.Throttled++
		n.after(n.compute(work-n.config.Node.CPU[r.kind]+n.config.Node.CPU[scale.Discovery]), func() { done(unavailable) }) // nothing is read
		return
	}
	work += time.Duration(float64(r.size) / 1e6 * float64(n.config.Node.PerMegabyte))
	n.after(max(n.compute(work), n.send(r.size)), func() {
		n.downloads.giveBack(source)
		done(ok)
	})
}

// compute gives work to the processor that is free first, and says after how long it is done.
func (n *node) compute(work time.Duration) time.Duration {
	first := 0
	for core, free := range n.free {
		if free < n.free[first] {
			first = core
		}
	}
	n.free[first] = max(n.free[first], n.now) + work
	n.result.CPU += work
	return n.free[first] - n.now
}

// send sends bytes over the line, one download after the other, and says after how long they
// are sent. No runner gets them faster than its own line takes them.
func (n *node) send(size int) time.Duration {
	n.sent = max(n.sent, n.now) + transfer(size, n.config.Node.LineRate)
	return max(n.sent-n.now, transfer(size, n.config.RunnerRate))
}

// ended implements registry: a client that ends closes its connections.
func (n *node) ended(p *pipeline) {
	for toBucket, port := range n.ports {
		for range min(p.idle[toBucket], port.idle[p.source]) {
			port.endIdle(p.source)
		}
		p.idle[toBucket] = 0
	}
}
