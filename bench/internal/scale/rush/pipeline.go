package rush

import (
	"math/rand/v2"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// The statuses of answers here. A client that gets no answer counts as noAnswer.
const (
	ok          = 200
	tooMany     = 429
	unavailable = 503
	noAnswer    = 0
)

// request is one request of a pipeline.
type request struct {
	from *pipeline
	kind scale.Kind
	what int // which module or provider, of all in the registry
	size int // of what is downloaded, in bytes
}

// registry is what answers: a deployment on AWS, or one machine.
type registry interface {
	// answer answers a request, at any later time. It calls done at most once.
	answer(r request, done func(status int))

	// ended is called when a pipeline's client has ended.
	ended(p *pipeline)
}

// pipeline is one job, which runs init once.
type pipeline struct {
	client             scale.Client
	source             int // from which address it connects
	token              int
	started            time.Duration
	modules, providers []int // that it uses, of all in the registry

	took    time.Duration // once it has ended
	failed  bool
	retries int
	idle    map[bool]int // its idle connections with one machine: to the bucket, and to the registry
}

// tries is how often a client sends a request until it gives up.
func tries(c scale.Client, k scale.Kind) int {
	switch k {
	case scale.ModuleVersions, scale.ModuleDownload, scale.ProviderVersions, scale.ProviderDownload, scale.Sums, scale.Sig:
		return 2
	case scale.Package:
		if c == scale.OpenTofu {
			return 3
		}
	}
	return 1
}

// retryable says whether a client sends a request again after such an answer.
func retryable(status int) bool {
	return status == noAnswer || status == tooMany || status >= 500 && status != 501
}

// pause is how long a client waits before it sends a request again, after so many tries.
func pause(tried int) time.Duration { return time.Second << (tried - 1) }

// timeout is how long a client waits for an answer of the registry. It waits for archives as
// long as it takes.
const timeout = 10 * time.Second

// needed says whether an init fails if a request does. A HEAD before a download is refused by
// S3, and clients do not mind.
func needed(k scale.Kind) bool { return k != scale.HeadFirst }

// atOnce is the part of all pipelines that starts in the first twelfth of the time, which is 5
// seconds of a minute. The others start evenly in the rest of it, when there is a runner.
const atOnce = 1. / 3

// start is when a pipeline starts.
func start(random *rand.Rand, within time.Duration) time.Duration {
	first := within / 12
	if random.Float64() < atOnce {
		return time.Duration(random.Int64N(int64(first)))
	}
	return first + time.Duration(random.Int64N(int64(within-first)))
}

// popular chooses some of all, without repeating one. The nth is chosen 1/n times as often as
// the first: so some are used nearly everywhere.
func popular(random *rand.Rand, some, all int) (chosen []int) {
	var sum float64
	for n := range all {
		sum += 1 / float64(n+1)
	}
	taken := map[int]bool{}
	for len(chosen) < some {
		at, one := random.Float64()*sum, 0
		for ; one < all-1 && at > 1/float64(one+1); one++ {
			at -= 1 / float64(one+1)
		}
		if !taken[one] {
			taken[one] = true
			chosen = append(chosen, one)
		}
	}
	return chosen
}

// run runs the stages of a pipeline's init, and then says how it ended.
func (w *world) run(p *pipeline, stages []scale.Stage) {
	if len(stages) == 0 || p.failed {
		p.took = w.now - p.started
		w.registry.ended(p)
		return
	}
	left := len(stages[0])
	for _, chain := range stages[0] {
		w.chain(p, chain, func() {
			if left--; left == 0 {
				w.run(p, stages[1:])
			}
		})
	}
}

// chain sends requests one after the other. After one that failed, it sends no more.
func (w *world) chain(p *pipeline, asks []scale.Ask, done func()) {
	if len(asks) == 0 {
		done()
		return
	}
	w.try(p, asks[0], 1, func(succeeded bool) {
		if !succeeded && needed(asks[0].Kind) {
			p.failed = true
			done()
			return
		}
		w.chain(p, asks[1:], done)
	})
}

// try sends a request, for the first time or again.
func (w *world) try(p *pipeline, a scale.Ask, tried int, done func(succeeded bool)) {
	answered := false
	answer := func(status int) {
		if answered {
			return
		}
		answered = true
		w.statuses[status]++
		switch {
		case status == ok:
			done(true)
		case retryable(status) && tried < tries(p.client, a.Kind):
			p.retries++
			w.after(pause(tried), func() { w.try(p, a, tried+1, done) })
		default:
			done(false)
		}
	}
	if !a.Kind.FromBucket() {
		w.after(timeout, func() { answer(noAnswer) })
	}
	w.after(w.config.Travel, func() {
		w.registry.answer(w.request(p, a), func(status int) {
			w.after(w.config.Travel, func() { answer(status) })
		})
	})
}

// request is what a pipeline asks.
func (w *world) request(p *pipeline, a scale.Ask) request {
	r := request{from: p, kind: a.Kind}
	switch a.Kind {
	case scale.ModuleVersions, scale.ModuleDownload:
		r.what = p.modules[a.Of]
	case scale.ProviderVersions, scale.ProviderDownload:
		r.what = p.providers[a.Of]
	case scale.Archive:
		r.size = w.config.ArchiveSize
	case scale.Package:
		r.size = w.config.PackageSize
	}
	return r
}
