package rush

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// Config is a morning.
type Config struct {
	Seed      uint64
	Pipelines int
	Warm      bool          // their runners have a plugin cache
	OwnTokens bool          // each has a token of its own; else all have the same
	Sources   int           // from how many addresses they connect
	OneNode   bool          // one machine answers; else AWS does
	Within    time.Duration // from the first start to the last
	AWS       AWS
	Node      Node

	Travel      time.Duration // from a runner to the registry
	RunnerRate  float64       // bytes a second
	ArchiveSize int           // of a module
	PackageSize int           // of a provider
}

// AWS is a deployment on AWS.
type AWS struct {
	RequestRate, RequestBurst float64 // as it is deployed
	Concurrency               float64 // of the account
	Prefixes                  float64 // into how many AWS has divided the bucket
	ColdStart                 time.Duration
	FirstByte                 time.Duration // of the bucket
	CPU                       scale.Times
}

// Node is one machine.
type Node struct {
	Cores       int
	CPU         scale.Times
	Handshake   time.Duration // of the processor
	PerMegabyte time.Duration // of the processor, to send 1 MB
	LineRate    float64       // bytes a second
}

// The morning's modules and providers.
const (
	modulesOfOne, modulesInAll     = 5, 200
	providersOfOne, providersInAll = 3, 20
)

// Result is what became of the pipelines.
type Result struct {
	Pipelines, Failed, Retried int
	P50, P99, Longest          time.Duration // of inits that did not fail
	Until                      time.Duration // when the last init has ended

	Requests, BucketRequests int // that were answered
	TooMany, Unavailable     int // answers of status 429 and 503
	NoAnswer                 int

	Busiest                    int // requests at the same time
	Throttled                  int // requests that Lambda, or the bucket of one machine, refused
	ColdStarts                 int
	TokenReads, TableThrottled int
	ReadUnits, WriteUnits      float64
	LambdaSeconds              float64 // GB-seconds
	Refused, Handshakes        int     // connections with one machine
	CPU                        time.Duration
}

// world is a simulation that runs.
type world struct {
	clock
	config   Config
	random   *rand.Rand
	registry registry
	statuses map[int]int
	result   Result
}

func newWorld(c Config) *world {
	w := &world{config: c, random: rand.New(rand.NewPCG(c.Seed, 9)), statuses: map[int]int{}}
	if c.OneNode {
		w.registry = newNode(w)
	} else {
		w.registry = newDeployment(w)
	}
	return w
}

// Run simulates a morning.
func Run(c Config) Result {
	w := newWorld(c)
	all := make([]*pipeline, c.Pipelines)
	for n := range all {
		all[n] = w.pipeline(n)
	}
	w.clock.run()
	return w.summary(all)
}

// pipeline makes a pipeline and plans its start.
func (w *world) pipeline(number int) *pipeline {
	p := &pipeline{
		client: scale.Terraform, source: number % w.config.Sources,
		started: start(w.random, w.config.Within), modules: popular(w.random, modulesOfOne, modulesInAll),
		providers: popular(w.random, providersOfOne, providersInAll), idle: map[bool]int{},
	}
	if number%2 == 1 {
		p.client = scale.OpenTofu
	}
	if w.config.OwnTokens {
		p.token = number
	}
	init := scale.Init{Client: p.client, Modules: modulesOfOne, Providers: providersOfOne, Warm: w.config.Warm}
	w.after(p.started, func() { w.run(p, init.Stages()) })
	return p
}

func (w *world) summary(all []*pipeline) Result {
	r := w.result
	r.Pipelines = len(all)
	r.TooMany, r.Unavailable, r.NoAnswer = w.statuses[tooMany], w.statuses[unavailable], w.statuses[noAnswer]
	var took []time.Duration
	for _, p := range all {
		r.Until = max(r.Until, p.started+p.took)
		if p.retries > 0 {
			r.Retried++
		}
		if p.failed {
			r.Failed++
			continue
		}
		took = append(took, p.took)
	}
	slices.Sort(took)
	r.P50, r.P99, r.Longest = percentile(took, 50), percentile(took, 99), percentile(took, 100)
	return r
}

// percentile is the time that so many percent did not exceed.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

// Dollars is what a morning costs on AWS.
func (r Result) Dollars() float64 {
	bill := scale.Bill{
		{Price: scale.GatewayRequest, Number: float64(r.Requests)}, {Price: scale.LambdaRequest, Number: float64(r.Requests)},
		{Price: scale.LambdaTime, Number: r.LambdaSeconds}, {Price: scale.TableRead, Number: r.ReadUnits},
		{Price: scale.TableWrite, Number: r.WriteUnits}, {Price: scale.BucketRead, Number: float64(r.BucketRequests)},
	}
	return bill.Dollars()
}
