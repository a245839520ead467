package rush

import (
	"testing"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// deployed is a deployment whose answers take 1 ms of computing and 5 of waiting.
func deployed(change func(*Config)) (*world, *deployment) {
	c := nine()
	if change != nil {
		change(&c)
	}
	w := newWorld(c)
	return w, w.registry.(*deployment)
}

// statusOf is the status of an answer, and when it came.
type statusOf struct {
	status int
	at     time.Duration
}

func askFor(w *world, r request) *statusOf {
	got := &statusOf{status: -1}
	w.registry.answer(r, func(status int) { *got = statusOf{status, w.now} })
	return got
}

func TestGatewayLimits(t *testing.T) {
	w, _ := deployed(func(c *Config) { c.AWS.RequestBurst = 2 })
	var got []*statusOf
	for range 3 {
		got = append(got, askFor(w, request{from: &pipeline{}, kind: scale.Discovery}))
	}
	w.clock.run()
	if got[0].status != ok || got[1].status != ok || *got[2] != (statusOf{tooMany, 0}) {
		t.Errorf("the answers are %v, %v and %v, want two and a 429", *got[0], *got[1], *got[2])
	}
}

func TestEnvironments(t *testing.T) {
	w, d := deployed(func(c *Config) { c.AWS.Concurrency = 2; c.AWS.RequestBurst = 100 })
	ask := func() *statusOf {
		return askFor(w, request{from: &pipeline{}, kind: scale.ModuleVersions})
	}
	first, second, third := ask(), ask(), ask()
	w.clock.run()
	const cold, warm = 305 * time.Millisecond, 5 * time.Millisecond
	if *first != (statusOf{ok, cold}) || *second != (statusOf{ok, cold}) || *third != (statusOf{unavailable, 0}) {
		t.Errorf("the answers are %v, %v and %v", *first, *second, *third)
	}
	if again := ask(); again.status != -1 {
		t.Errorf("an answer takes no time")
	} else if w.clock.run(); *again != (statusOf{ok, cold + warm}) {
		t.Errorf("a process that has started answers %v", *again)
	}
	if r := d.result; r.ColdStarts != 2 || r.Busiest != 2 || r.Throttled != 1 || r.Requests != 4 {
		t.Errorf("it counts %+v", r)
	}
}

func TestNewEnvironments(t *testing.T) {
	_, d := deployed(nil)
	f := d.functions["versions"]
	for n := range scale.NewEnvironments {
		if e, cold := d.environment(f); e == nil || !cold {
			t.Fatalf("Lambda does not make environment %d", n)
		}
	}
	if e, _ := d.environment(f); e != nil {
		t.Error("Lambda makes more at once than it may")
	}
	if e, _ := d.environment(d.functions["download"]); e == nil {
		t.Error("the limit of one function is that of another")
	}
	d.now = 10 * time.Millisecond // 100 a second
	if e, _ := d.environment(f); e == nil {
		t.Error("Lambda makes no more, later")
	}
}

// A token is read once a minute in each process, and the first use of a day is written once.
func TestTokenIsRemembered(t *testing.T) {
	w, d := deployed(nil)
	e := &environment{remembered: map[int]time.Duration{}}
	r := request{from: &pipeline{token: 7}, kind: scale.ModuleVersions}
	for _, at := range []time.Duration{0, 59 * time.Second, 60 * time.Second} {
		w.after(at-w.now, func() {
			d.read(r, e, func(status int) {
				if status != ok {
					t.Errorf("at %v: %d", at, status)
				}
			})
		})
		w.clock.run()
	}
	if got := d.result; got.TokenReads != 2 || got.ReadUnits != 2+0.5+2 || got.WriteUnits != 1 {
		t.Errorf("it counts %+v", got)
	}
}

// What the table refuses is asked for again, and no more than that.
func TestTableRefuses(t *testing.T) {
	w, d := deployed(nil)
	tokens := d.table[placeOf(tokenPartition, len(d.table))]
	tokens.take(0, scale.PartitionReads-0.5)
	e := &environment{remembered: map[int]time.Duration{}}
	var got statusOf
	other := 0 // a module elsewhere than the tokens
	for placeOf(partition(request{kind: scale.ModuleVersions, what: other}), len(d.table)) == placeOf(tokenPartition, len(d.table)) {
		other++
	}
	d.read(request{from: &pipeline{}, kind: scale.ModuleVersions, what: other}, e, func(status int) { got = statusOf{status, w.now} })
	w.clock.run()
	if got.status != ok || got.at <= 0 || got.at > 50*time.Millisecond || d.result.ReadUnits != 2 || d.result.TableThrottled != 1 {
		t.Errorf("it answers %v and counts %+v", got, d.result)
	}
	tokens.rate, tokens.used = 0, scale.PartitionReads
	d.readAll([]read{{tokenPartition, 1}}, 1, func(status int) { got.status = status })
	w.clock.run()
	if got.status != unavailable || d.result.TableThrottled != 1+maxReads {
		t.Errorf("at last it answers %d, and counts %+v", got.status, d.result)
	}
}

func TestTablePause(t *testing.T) {
	for _, tt := range []struct {
		part  float64
		tried int
		want  time.Duration
	}{{0, 1, 0}, {0.5, 1, 25 * time.Millisecond}, {0.5, 2, 50 * time.Millisecond}, {0.5, 5, 400 * time.Millisecond}, {0.5, 6, 500 * time.Millisecond}} {
		if got := tablePause(tt.part, tt.tried); got != tt.want {
			t.Errorf("after %d tries it waits %v, want %v", tt.tried, got, tt.want)
		}
	}
}

func TestBucketLimits(t *testing.T) {
	w, _ := deployed(nil)
	var refused int
	for range scale.PrefixReads + 1 {
		if got := askFor(w, request{kind: scale.HeadFirst}); got.status == unavailable {
			refused++
		}
	}
	got := askFor(w, request{kind: scale.Package, size: 1000})
	if refused != 1 || got.status != unavailable {
		t.Errorf("%d requests are refused, want the last", refused)
	}
	w.now = time.Second
	got = askFor(w, request{kind: scale.Package, size: 20e6})
	w.clock.run()
	if *got != (statusOf{ok, 1300 * time.Millisecond}) { // the first byte after 100 ms, and 100 MB a second
		t.Errorf("a download ends with %v", *got)
	}
}
