package measure

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{2}, Spread{2, 2, 2}},
		{[]float64{9, 1}, Spread{5, 1, 9}},
		{[]float64{5, 1, 3}, Spread{3, 1, 5}},
		{[]float64{4, 1, 3, 9}, Spread{3.5, 1, 9}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// TestRatio checks that rounds are compared one by one: a round in which the machine was slow
// for both says the same as the others.
func TestRatio(t *testing.T) {
	turn := func(took time.Duration) Turn { return Turn{Requests: 100, Took: took} }
	mine := Result{Rounds: []Turn{turn(time.Second), turn(10 * time.Second), turn(time.Second)}}
	other := Result{Rounds: []Turn{turn(2 * time.Second), turn(20 * time.Second), turn(3 * time.Second)}}
	if got, want := mine.Ratio(other), (Spread{2, 2, 3}); got != want {
		t.Errorf("Ratio = %v, want %v", got, want)
	}
	if got := mine.Ratio(Result{Void: "it failed"}); got != (Spread{}) {
		t.Errorf("Ratio with a void result = %v", got)
	}
}

func TestResult(t *testing.T) {
	r := Result{Rounds: []Turn{
		{Requests: 2, Took: time.Second, CPU: 30 * time.Millisecond, Bytes: 200, Latencies: []time.Duration{4, 1}},
		{Requests: 4, Took: time.Second, CPU: 30 * time.Millisecond, Bytes: 400, Latencies: []time.Duration{3, 2, 5, 6}},
	}}
	if got, want := r.Rate(), (Spread{3, 2, 4}); got != want {
		t.Errorf("Rate = %v, want %v", got, want)
	}
	if got := r.CPU(); got != 10*time.Millisecond {
		t.Errorf("CPU = %v", got)
	}
	if got := r.Bytes(); got != 100 {
		t.Errorf("Bytes = %v", got)
	}
	if got := []time.Duration{r.Percentile(0), r.Percentile(0.5), r.Percentile(1)}; !reflect.DeepEqual(got, []time.Duration{1, 4, 6}) {
		t.Errorf("percentiles %v", got)
	}
	r.Void = "it failed"
	if r.Rate() != (Spread{}) || r.CPU() != 0 || r.Bytes() != 0 || r.Percentile(0.5) != 0 {
		t.Error("a void result has values")
	}
}

// fake takes a millisecond for each request, until it fails.
type fake struct {
	wrong   error // of Check
	failsAt int   // the turn that fails, counted from 1 with those of the calibration; 0: none
	turns   []int // how many requests each had
	order   *[]string
	name    string
}

func (f *fake) Check(context.Context) error { return f.wrong }

func (f *fake) Turn(_ context.Context, requests int) (Turn, error) {
	f.turns = append(f.turns, requests)
	*f.order = append(*f.order, f.name)
	if len(f.turns) == f.failsAt {
		return Turn{}, errors.New("it failed")
	}
	return Turn{Requests: requests, Took: time.Duration(requests) * time.Millisecond}, nil
}

// TestCompare checks that a wrong answer and a failed request make a subject void, whenever
// they come, and that the others have all their turns, one after the other.
func TestCompare(t *testing.T) {
	var order []string
	a := &fake{order: &order, name: "a"}
	wrong := &fake{order: &order, name: "wrong", wrong: errors.New("it is wrong")}
	early := &fake{order: &order, name: "early", failsAt: 1}
	late := &fake{order: &order, name: "late", failsAt: 6}
	b := &fake{order: &order, name: "b"}
	got := Compare(t.Context(), Plan{Rounds: 3, Turn: 100 * time.Millisecond, Least: 4}, []Subject{a, wrong, early, late, b})
	var voids []string
	for _, r := range got {
		voids = append(voids, r.Void)
	}
	if want := []string{"", "it is wrong", "warm up: it failed", "it failed", ""}; !reflect.DeepEqual(voids, want) {
		t.Errorf("void are %q, want %q", voids, want)
	}
	if want := []int{4, 8, 16, 32, 100, 100, 100}; !reflect.DeepEqual(a.turns, want) || !reflect.DeepEqual(b.turns, want) {
		t.Errorf("a has turns of %v requests, and b of %v, want %v", a.turns, b.turns, want)
	}
	if want := []string{"a", "late", "b", "a", "late", "b", "a", "b"}; !reflect.DeepEqual(order[len(order)-len(want):], want) {
		t.Errorf("the order ends with %v, want %v", order[len(order)-len(want):], want)
	}
	if len(got[0].Rounds) != 3 || len(got[4].Rounds) != 3 {
		t.Errorf("there are %d and %d rounds", len(got[0].Rounds), len(got[4].Rounds))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Compare(ended, Plan{Rounds: 1}, []Subject{a}); got[0].Void == "" {
		t.Error("a run that was stopped is not void")
	}
}

func TestCPU(t *testing.T) {
	for text, want := range map[string]time.Duration{"1234 5 6\n": 1234, "": 0, "x 1 2": 0} {
		if got := parseRun(text); got != want {
			t.Errorf("parseRun(%q) = %v, want %v", text, got, want)
		}
	}
	if got := parsePeak("VmPeak:\t  9 kB\nVmHWM:\t   123 kB\n"); got != 123<<10 {
		t.Errorf("parsePeak = %v", got)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil && (PeakMemory(os.Getpid()) == 0 || CPU(os.Getpid()) == 0) {
		t.Error("this process takes no memory, or no time")
	}
}

func TestSpreadJSON(t *testing.T) {
	text, err := json.Marshal(Spread{12345, 0.12344, 0})
	if want := "[1.234e+04,0.1234,0]"; err != nil || string(text) != want {
		t.Errorf("it is %s, %v, want %s", text, err, want)
	}
	var got Spread
	if err := json.Unmarshal(text, &got); err != nil || got != (Spread{12340, 0.1234, 0}) {
		t.Errorf("it is read as %v, %v", got, err)
	}
}
