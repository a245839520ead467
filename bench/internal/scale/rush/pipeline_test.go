package rush

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

func TestTries(t *testing.T) {
	for kind, want := range map[scale.Kind][2]int{ // of Terraform and of OpenTofu
		scale.Discovery:        {1, 1},
		scale.ModuleVersions:   {2, 2},
		scale.ModuleDownload:   {2, 2},
		scale.ProviderVersions: {2, 2},
		scale.ProviderDownload: {2, 2},
		scale.Sums:             {2, 2},
		scale.Sig:              {2, 2},
		scale.HeadFirst:        {1, 1},
		scale.Archive:          {1, 1},
		scale.Package:          {1, 3},
	} {
		if got := [2]int{tries(scale.Terraform, kind), tries(scale.OpenTofu, kind)}; got != want {
			t.Errorf("%s: %v tries, want %v", kind, got, want)
		}
	}
}

func TestRetryable(t *testing.T) {
	for status, want := range map[int]bool{noAnswer: true, ok: false, 400: false, 404: false, 428: false, tooMany: true, 499: false, 500: true, 501: false, 502: true, unavailable: true} {
		if got := retryable(status); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}

func TestPause(t *testing.T) {
	if pause(1) != time.Second || pause(2) != 2*time.Second {
		t.Errorf("clients wait %v and %v", pause(1), pause(2))
	}
}

func TestStart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const all = 30_000
	first := 0
	for range all {
		switch at := start(random, time.Minute); {
		case at < 0 || at >= time.Minute:
			t.Fatalf("a pipeline starts at %v", at)
		case at < 5*time.Second:
			first++
		}
	}
	if part := float64(first) / all; part < 0.32 || part > 0.35 {
		t.Errorf("in the first 5 seconds %.3f of all start, want a third", part)
	}
}

func TestPopular(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	count := make([]int, 20)
	for range 10_000 {
		chosen := popular(random, 3, len(count))
		slices.Sort(chosen)
		if len(slices.Compact(slices.Clone(chosen))) != 3 || chosen[0] < 0 || chosen[2] >= len(count) {
			t.Fatalf("these are chosen: %v", chosen)
		}
		for _, one := range chosen {
			count[one]++
		}
	}
	if count[0] < 6000 || count[19] < 300 || count[0] < 10*count[19] {
		t.Errorf("they are chosen so often: %v", count)
	}
}

// scripted is a registry that answers with some statuses, one after the other.
type scripted struct {
	*world
	statuses []int
	asked    []time.Duration
}

func (s *scripted) answer(_ request, done func(int)) {
	s.asked = append(s.asked, s.now)
	if len(s.statuses) > 0 {
		status := s.statuses[0]
		s.statuses = s.statuses[1:]
		done(status)
	} // else never
}

func (s *scripted) ended(*pipeline) {}

func TestTry(t *testing.T) {
	const travel = 10 * time.Millisecond
	for _, tt := range []struct {
		name     string
		client   scale.Client
		kind     scale.Kind
		statuses []int
		want     bool
		asked    []time.Duration
	}{
		{"at once", scale.Terraform, scale.ModuleVersions, []int{ok}, true, []time.Duration{travel}},
		{"again", scale.Terraform, scale.ModuleVersions, []int{tooMany, ok}, true, []time.Duration{travel, time.Second + 3*travel}},
		{"never", scale.Terraform, scale.ModuleVersions, []int{tooMany, unavailable, ok}, false, []time.Duration{travel, time.Second + 3*travel}},
		{"no second try", scale.Terraform, scale.Discovery, []int{tooMany, ok}, false, []time.Duration{travel}},
		{"not found", scale.Terraform, scale.ModuleVersions, []int{404, ok}, false, []time.Duration{travel}},
		{"three", scale.OpenTofu, scale.Package, []int{unavailable, unavailable, ok}, true, []time.Duration{travel, time.Second + 3*travel, 3*time.Second + 5*travel}},
		{"no answer", scale.Terraform, scale.ModuleVersions, nil, false, []time.Duration{travel, timeout + time.Second + travel}},
	} {
		w := &world{config: Config{Travel: travel}, statuses: map[int]int{}}
		s := &scripted{world: w, statuses: tt.statuses}
		w.registry = s
		var got []bool
		p := &pipeline{client: tt.client, modules: []int{0}, providers: []int{0}}
		w.try(p, scale.Ask{Kind: tt.kind}, 1, func(succeeded bool) { got = append(got, succeeded) })
		w.clock.run()
		if !slices.Equal(got, []bool{tt.want}) || !slices.Equal(s.asked, tt.asked) {
			t.Errorf("%s: %v, asked at %v, want %v at %v", tt.name, got, s.asked, tt.want, tt.asked)
		}
	}
}
