package rush

import (
	"testing"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

func TestShares(t *testing.T) {
	s := newShares(3, 2)
	take := func(source int, want bool) {
		t.Helper()
		if got := s.take(source); got != want {
			t.Errorf("one for %d: %v, want %v", source, got, want)
		}
	}
	becomesIdle := func(source int) { s.idle[source]++; s.idleAll++ }
	take(1, true)
	take(1, true)
	take(1, false) // it has as many as one may have
	becomesIdle(1)
	take(1, true) // in the place of the idle one
	take(2, true)
	take(3, false) // there are no more
	becomesIdle(1)
	take(3, true)
	if s.taken != 3 || s.of[1] != 1 || s.of[2] != 1 || s.of[3] != 1 || s.idleAll != 0 {
		t.Errorf("they are divided so: %+v", s)
	}
}

// oneMachine has one processor and answers in a millisecond.
func oneMachine() (*world, *node) {
	c := nine()
	c.OneNode = true
	c.Node = Node{
		Cores: 1, Handshake: 2 * time.Millisecond, PerMegabyte: time.Millisecond, LineRate: 50e6,
		CPU: scale.Times{scale.Discovery: time.Millisecond, scale.Package: time.Millisecond},
	}
	w := newWorld(c)
	return w, w.registry.(*node)
}

// Answers wait for the processor. A client shakes hands once.
func TestNodeComputes(t *testing.T) {
	w, n := oneMachine()
	p := &pipeline{idle: map[bool]int{}}
	const shake = 40 * time.Millisecond // four times the travel
	first := askFor(w, request{from: p, kind: scale.Discovery})
	second := askFor(w, request{from: p, kind: scale.Discovery})
	w.clock.run()
	third := askFor(w, request{from: p, kind: scale.Discovery})
	w.clock.run()
	const ms = time.Millisecond
	if *first != (statusOf{ok, shake + 3*ms}) || *second != (statusOf{ok, shake + 6*ms}) || *third != (statusOf{ok, shake + 7*ms}) {
		t.Errorf("it answers %v, %v, %v", *first, *second, *third)
	}
	if r := n.result; r.Handshakes != 2 || r.CPU != 7*ms || r.Busiest != 2 {
		t.Errorf("it counts %+v", r)
	}
	n.ended(p)
	if port := n.ports[false]; port.taken != 0 || port.idleAll != 0 {
		t.Errorf("connections are left: %+v", port)
	}
}

func TestNodeSends(t *testing.T) {
	w, n := oneMachine()
	first := askFor(w, request{from: &pipeline{idle: map[bool]int{}}, kind: scale.Package, size: 10e6})
	second := askFor(w, request{from: &pipeline{idle: map[bool]int{}}, kind: scale.Package, size: 10e6})
	w.clock.run()
	if first.at != 240*time.Millisecond || second.at != 440*time.Millisecond {
		t.Errorf("they are sent at %v and %v", first.at, second.at)
	}
	for range maxOfSource {
		n.downloads.take(0)
	}
	refused := askFor(w, request{from: &pipeline{idle: map[bool]int{}}, kind: scale.Package, size: 10e6})
	other := askFor(w, request{from: &pipeline{source: 1, idle: map[bool]int{}}, kind: scale.Package, size: 10e6})
	w.clock.run()
	if refused.status != unavailable || other.status != ok {
		t.Errorf("it answers %v and %v", *refused, *other)
	}
	if r := n.result; r.BucketRequests != 4 || r.Throttled != 1 || r.Requests != 0 {
		t.Errorf("it counts %+v", r)
	}
}

func TestNodeRefuses(t *testing.T) {
	w, n := oneMachine()
	for range maxPerSource {
		n.ports[false].take(0)
	}
	got := askFor(w, request{from: &pipeline{idle: map[bool]int{}}, kind: scale.Discovery})
	if *got != (statusOf{noAnswer, 0}) || n.result.Refused != 1 {
		t.Errorf("it answers %v and counts %+v", *got, n.result)
	}
}
