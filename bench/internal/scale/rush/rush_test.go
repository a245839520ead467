package rush

import (
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// nine is nine o'clock, if no answer takes time to compute.
func nine() Config { return Nine(scale.Measurement{}) }

// One pipeline alone waits only for what it asks.
func TestOnePipeline(t *testing.T) {
	c := nine()
	c.Pipelines = 1
	const (
		asked   = 17 * 20 * time.Millisecond  // there and back
		tables  = 16 * 5 * time.Millisecond   // all but discovery wait for the table
		starts  = 3 * 300 * time.Millisecond  // of each function
		objects = 22 * 120 * time.Millisecond // there, back and the first byte
		loads   = 3*200*time.Millisecond + 5*500*time.Microsecond
	)
	took := asked + tables + starts + objects + loads
	got := Run(c)
	got.Until = 0 // when it started is chance
	want := Result{
		Pipelines: 1, P50: took, P99: took, Longest: took, Requests: 17, BucketRequests: 22, Busiest: 1, ColdStarts: 3,
		TokenReads: 2, ReadUnits: 2*2 + 14*0.5, WriteUnits: 1, LambdaSeconds: got.LambdaSeconds,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it is\n%+v, want\n%+v", got, want)
	}
}

func TestTheSameSeedGivesTheSame(t *testing.T) {
	c := nine()
	c.Pipelines = 500
	one := c
	one.OneNode, one.Sources = true, 7
	for _, c := range []Config{c, one} {
		first, second := Run(c), Run(c)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("twice the same morning:\n%+v\n%+v", first, second)
		}
		c.Seed++
		if other := Run(c); reflect.DeepEqual(first, other) {
			t.Errorf("another seed gives the same: %+v", other)
		}
	}
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for n := range 100 {
		hundred = append(hundred, time.Duration(n+1))
	}
	for percent, want := range map[int]time.Duration{1: 1, 50: 50, 99: 99, 100: 100} {
		if got := percentile(hundred, percent); got != want {
			t.Errorf("%d %%: %d, want %d", percent, got, want)
		}
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("without values: %d", got)
	}
	if got := percentile(hundred[:1], 50); got != 1 {
		t.Errorf("of one: %d", got)
	}
}

// The page has the results, and what they were computed from.
func TestMorningsAreDocumented(t *testing.T) {
	const page = "docs/performance.md"
	text, err := os.ReadFile("../../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	m, err := scale.Measured()
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{"inputs": Inputs(m)}
	if !testing.Short() {
		tables["mornings"] = Table(Mornings(m))
	}
	if renewed, err := scale.RenewAll(string(text), tables); err != nil {
		t.Errorf("%s: %v", page, err)
	} else if renewed != string(text) {
		t.Errorf("%s has other tables than are computed: go run ./bench -scale -write renews them", page)
	}
}
