package serve

import (
	"container/list"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"

	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/pkg/protocol"
)

// maxSources is how many sources a throttle remembers at a route. The one that
// was away for longest is forgotten, and has its burst again when it comes back.
const maxSources = 10_000

// A limit is how often a route takes a request that costs something: from one
// source, and from all of them together. What all have is several times what one
// has, so that no source uses it up.
//
// A source gets what a deployment on AWS takes from everybody, for a company behind
// one address is one source, and so is a proxy in front of the registry that is not
// among those it trusts.
// Logins that were begun in the ten minutes for which they are kept fit into the
// room that there is for tickets.
type limit struct {
	each      rate.Limit // a second
	eachBurst int        // at once
	all       rate.Limit
	allBurst  int
}

// keysPath is the path, at the bucket's address, at which access keys are asked for.
const keysPath = "/"

var limits = map[string]limit{
	protocol.LoginPath: {each: 5, eachBurst: 20, all: 15, allBurst: 60},
	protocol.TokenPath: {each: 20, eachBurst: 50, all: 100, allBurst: 200},
	keysPath:           {each: 20, eachBurst: 50, all: 100, allBurst: 200},
}

// admission says for which requests of those who have no token there is room, by
// path. The pages of a login that has begun are not counted; they are good once,
// and there are no more of them than logins.
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

// counted is a source, and how much it may do yet.
type counted struct {
	from netip.Prefix
	left *rate.Limiter
}

func newThrottle(l limit) *throttle {
	return &throttle{limit: l, total: rate.NewLimiter(l.all, l.allBurst), sources: map[netip.Prefix]*list.Element{}, recent: list.New()}
}

// admit counts a request. One that its source may not make is not counted for
// the others.
func (t *throttle) admit(from netip.Prefix) bool {
	return t.of(from).Allow() && t.total.Allow()
}

// of is the limit of a source.
func (t *throttle) of(from netip.Prefix) *rate.Limiter {
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
