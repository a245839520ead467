package serve

import (
	"container/list"
	"net/http"
	"net/netip"
	"sync"

	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/pkg/protocol"
	"golang.org/x/time/rate"
)

// maxSources is how many sources a throttle remembers at a route. It forgets the source
// whose last request is the oldest, which then has its whole burst again.
const maxSources = 10_000

// A limit is how often a route takes requests that cost something: from one source, and from
// all sources together. The limit for all is several times that for one, so that no source
// uses it up.
//
// The limit for one source is what a deployment on AWS takes from everybody: a company
// behind one address is one source, and so is a proxy that the registry does not trust. All
// logins that can begin in ten minutes, the time for which they are kept, fit into the room
// for tickets.
type limit struct {
	each      rate.Limit // a second
	eachBurst int        // at once
	all       rate.Limit
	allBurst  int
}

// keysPath is the path of requests for access keys, at the bucket's address.
const keysPath = "/"

var limits = map[string]limit{
	protocol.LoginPath: {each: 5, eachBurst: 20, all: 15, allBurst: 60},
	protocol.TokenPath: {each: 20, eachBurst: 50, all: 100, allBurst: 200},
	keysPath:           {each: 20, eachBurst: 50, all: 100, allBurst: 200},
}

// admission returns a function that admits requests without a token, by their path. The
// pages of a login that has begun are not counted: each works once, and there are no more of
// them than logins.
func admission() func(*http.Request) bool {
	throttles := map[string]*throttle{}
	for path, limit := range limits {
		throttles[path] = newThrottle(limit)
	}
	return func(r *http.Request) bool {
		t := throttles[r.URL.Path]
		return t == nil || t.admit(front.Source(r.RemoteAddr))
	}
}

// throttle counts the requests of a route. It is safe for concurrent use.
type throttle struct {
	limit
	total *rate.Limiter

	mu      sync.Mutex
	sources map[netip.Prefix]*list.Element
	recent  *list.List // of *counted, the one that came last first
}

// counted is a source and its limit.
type counted struct {
	from netip.Prefix
	left *rate.Limiter
}

func newThrottle(l limit) *throttle {
	return &throttle{limit: l, total: rate.NewLimiter(l.all, l.allBurst), sources: map[netip.Prefix]*list.Element{}, recent: list.New()}
}

// admit counts a request. A request that exceeds the limit of its source does not count for
// the limit of all.
func (t *throttle) admit(from netip.Prefix) bool {
	return t.limiterOf(from).Allow() && t.total.Allow()
}

// limiterOf returns the limiter of a source.
func (t *throttle) limiterOf(from netip.Prefix) *rate.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.sources[from]; ok {
		t.recent.MoveToFront(known)
		return known.Value.(*counted).left
	}
	if t.recent.Len() >= maxSources {
		oldest := t.recent.Remove(t.recent.Back()).(*counted)
		delete(t.sources, oldest.from)
	}
	c := &counted{from, rate.NewLimiter(t.each, t.eachBurst)}
	t.sources[from] = t.recent.PushFront(c)
	return c.left
}
