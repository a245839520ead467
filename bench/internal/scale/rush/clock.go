// Package rush simulates a company whose pipelines all start at nine o'clock: how long their
// inits take on AWS and on one machine, and how many fail. Nothing runs at the same time: the
// simulation goes from event to event, and the same seed gives the same result.
package rush

import "time"

// clock is the time of the simulation, and what happens later.
type clock struct {
	now   time.Duration
	later []event // a heap: an event happens before the two at twice its place
	count int
}

// event is something that happens at a time. Of two at the same time, the first that was
// planned happens first.
type event struct {
	at    time.Duration
	order int
	do    func()
}

func (e event) before(other event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// after plans something. It is a heap of our own, because container/heap allocates for each of
// a million events.
func (c *clock) after(wait time.Duration, do func()) {
	c.count++
	c.later = append(c.later, event{c.now + max(wait, 0), c.count, do})
	for at := len(c.later) - 1; at > 0; {
		above := (at - 1) / 2
		if !c.later[at].before(c.later[above]) {
			break
		}
		c.later[at], c.later[above] = c.later[above], c.later[at]
		at = above
	}
}

// next takes the first event.
func (c *clock) next() event {
	first, last := c.later[0], len(c.later)-1
	c.later[0], c.later[last] = c.later[last], event{}
	c.later = c.later[:last]
	for at := 0; ; {
		below := 2*at + 1
		if below+1 < last && c.later[below+1].before(c.later[below]) {
			below++
		}
		if below >= last || !c.later[below].before(c.later[at]) {
			return first
		}
		c.later[at], c.later[below] = c.later[below], c.later[at]
		at = below
	}
}

// run goes on until nothing more happens.
func (c *clock) run() {
	for len(c.later) > 0 {
		next := c.next()
		c.now = next.at
		next.do()
	}
}

// allowance is a rate with a burst: so the gateway, Lambda, DynamoDB and S3 limit requests.
type allowance struct {
	rate, burst float64 // a second, and at once
	used        float64 // of the burst
	at          time.Duration
}

func newAllowance(rate, burst float64) *allowance { return &allowance{rate: rate, burst: burst} }

// take says whether there is enough left at a time, and takes it.
func (a *allowance) take(now time.Duration, n float64) bool {
	a.used = max(0, a.used-a.rate*(now-a.at).Seconds())
	a.at = now
	if a.used+n > a.burst {
		return false
	}
	a.used += n
	return true
}
