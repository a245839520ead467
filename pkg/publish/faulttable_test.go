package publish_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/registry"
)

// faultsVariable makes the table of faults go through more points than a quick
// run, which has all of them on bolt, and a sample of them elsewhere: "catalog"
// adds every request to DynamoDB, and "all" is every point on all engines, which
// takes minutes.
const faultsVariable = "LARDER_FAULTS"

// Every call of the publish path that leaves the process goes wrong in turn: it
// fails, it says that it failed, or the process dies before it. Then the events
// come again. The end is always the same, and on the way nothing is listed that
// cannot be served.
func TestEveryCallMayFail(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	wanted := os.Getenv(faultsVariable)
	for _, d := range []struct {
		name      string
		storage   func(*testing.T) publishtest.Storage
		catalog   func(*testing.T) publishtest.EmptyCatalog
		event     eventOf
		scenarios []scenario
		every     int    // one of so many points
		all       string // and all whose call's name has this in it, if anything
	}{
		{"bolt", publishtest.InMemory, publishtest.OnBolt, byHint, scenarios, 1, ""},
		{"DynamoDB", publishtest.InMemory, publishtest.OnDynamoDB, byEvent, scenarios, 24, "#acme/"},
		{"S3 and bolt", publishtest.OnS3, publishtest.OnBolt, byHint, scenarios[:2], 61, ""},
		{"S3 and DynamoDB", publishtest.OnS3, publishtest.OnDynamoDB, byEvent, scenarios[:2], 61, ""},
	} {
		switch {
		case wanted == "all":
			d.scenarios, d.every = scenarios, 1
		case wanted != "catalog":
			d.all = ""
		}
		t.Run(d.name, func(t *testing.T) {
			table := &faultTable{world: newWorldOn(t, d.storage, d.catalog), event: d.event, every: d.every, all: d.all}
			for _, s := range d.scenarios {
				table.run(s)
			}
			t.Logf("%d of %d points of failure%s", table.points, table.candidates, &table.text)
			if table.candidates < 50*len(d.scenarios) {
				t.Errorf("only %d points of failure: the calls are not told any more", table.candidates)
			}
		})
	}
}

// faultTable goes through the points at which a call can go wrong.
type faultTable struct {
	*world
	event eventOf
	every int
	all   string

	namespaces int
	candidates int
	points     int
	text       strings.Builder
}

// takes says whether the next point is one that the table goes through.
func (t *faultTable) takes(call string) bool {
	t.candidates++
	return t.candidates%t.every == 0 || t.all != "" && strings.Contains(call, t.all)
}

func (t *faultTable) run(s scenario) {
	t.Helper()
	none := &publishtest.Faults{}
	want := t.play(s, none)
	fmt.Fprintf(&t.text, "\n%s: %d calls", s.name, len(none.Calls))
	for n := range none.Calls {
		at := publishtest.PointOf(none.Calls[:n+1])
		var tried []string
		for _, kind := range []publishtest.FaultKind{publishtest.Failed, publishtest.Unclear, publishtest.Killed} {
			if kind == publishtest.Unclear && !publishtest.Changes(at.Name) {
				continue // without an effect there is no "failed but done"
			}
			if !t.takes(at.Name) {
				continue
			}
			f := &publishtest.Faults{Kind: kind, Hits: at.Hits}
			if got := t.play(s, f); got != want || !f.Hit {
				t.Errorf("it ends as\n%s\nwant\n%s", got, want)
			}
			if t.Failed() {
				t.Fatalf("%s: %v, %v of\n%s", s.name, at, kind, strings.Join(f.Calls, "\n"))
			}
			t.points++
			tried = append(tried, kind.String())
		}
		fmt.Fprintf(&t.text, "\n  %3d. %s: %s", n+1, at.Name, strings.Join(tried, ", "))
	}
}

// play has a publisher go through a scenario with faults, and another one
// through what has to be done again after them. It returns the picture of what
// that ends in.
func (t *faultTable) play(s scenario, f *publishtest.Faults) string {
	t.Helper()
	t.namespaces++ // their names are of one length, for the reasons in tags are cut to one
	r := publishtest.NewRelease(t.T, fmt.Sprintf("acme-%05d", t.namespaces))
	f.Namespace = r.Namespace
	for _, key := range t.KeysUnder(registry.ContentsPrefix) { // they do not name a namespace
		t.S3.Delete(t.T, key)
	}
	steps := s.prepare(t.world, r, t.event)
	for n, step := range t.untilDone(steps, f, r.Namespace) {
		if err := step(t.Context(), t.Parts); err != nil {
			t.Errorf("step %d of what is done again: %v", n+1, err)
		}
	}
	t.CheckServable(r.Namespace)
	s.end(t.world, r)
	return t.picture(r.Namespace)
}

// untilDone goes through steps with faults, and returns those that have to be
// done again: the one that failed, or all since the process died.
func (t *faultTable) untilDone(steps []publishtest.Step, f *publishtest.Faults, namespace string) (again []publishtest.Step) {
	t.Helper()
	failing := t.Through(f)
	for n, step := range steps {
		before := f.Hit
		err := step(t.Context(), failing)
		now := f.Hit && !before
		if (err != nil) != now {
			t.Errorf("step %d ends with %v; a call of it has gone wrong: %v", n+1, err, now)
		}
		if !now {
			continue
		}
		t.CheckServable(namespace)
		if f.Kind == publishtest.Killed {
			return steps[n:]
		}
		again = steps[n : n+1]
	}
	return again
}
