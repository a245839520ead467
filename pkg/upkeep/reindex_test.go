package upkeep_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// An empty catalog is rebuilt, what is accepted and not signed is signed, and
// the second time there is nothing to do.
func TestAReindexRebuildsTheCatalog(t *testing.T) {
	w := newWorld(t)
	listed := w.Mixed()
	dying := w.PartsOn(w.Bucket, w.Index, publishtest.RefusingSigner{Key: w.Key})
	arm := publishtest.PackageKey("2.0.0-rc.1+b", "linux_arm64")
	if _, err := dying.Publish(t.Context(), blob.Object{Key: arm, Version: w.S3.Upload(t, arm, publishtest.Widget("b"), nil)}); err == nil {
		t.Fatal("a publisher that does not sign published a package")
	}
	want := listed()
	want[1] += " linux_arm64"
	w.Empty()
	changed := []string{
		"module acme/vpc/aws 1.0.0 changed", "module acme/vpc/aws 1.1.0 changed",
		"provider acme/widget 1.0.0 changed", "provider acme/widget 2.0.0-rc.1 changed",
	}
	if got := w.Walked(w.Reindex(t.Context(), "", false)); !slices.Equal(got, changed) {
		t.Errorf("reindexed %q, want %q", got, changed)
	}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if got := w.Walked(w.Reindex(t.Context(), "", false)); len(got) != 0 {
		t.Errorf("the second time: %q", got)
	}
}

// What a catalog has otherwise than the records say is corrected, also where
// its revision is the same or a higher one; what it has beside them is removed.
func TestAReindexCorrectsTheCatalog(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	w := newWorld(t)
	listed := w.Mixed()
	want := listed()
	right := w.Provider("acme", "widget", "1.0.0")

	wrong, later := right, right
	wrong.Packages = wrong.Packages[:1]
	later.Revision += 7
	foreign := right
	foreign.Version, foreign.Address.Type = publishtest.MustVersion(t, "3.0.0"), "other"
	module := registry.ModuleVersion{Address: registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}, Version: publishtest.MustVersion(t, "9.0.0"), Revision: 1}
	for name, damage := range map[string]struct {
		do   func() error
		want []string
	}{
		"the same revision": {func() error {
			seen := catalog.Seen{State: right.Revision, Listed: right.Revision}
			return catalogtest.Replace(t.Context(), w.Index, wrong, seen)
		}, []string{"provider acme/widget 1.0.0 changed"}},
		"a higher revision":            {func() error { return catalogtest.Put(t.Context(), w.Index, later) }, []string{"provider acme/widget 1.0.0 changed"}},
		"a provider that is not there": {func() error { return catalogtest.Put(t.Context(), w.Index, foreign) }, []string{"provider acme/other 3.0.0 changed"}},
		"a version that is not there":  {func() error { return catalogtest.Put(t.Context(), w.Index, module) }, []string{"module acme/vpc/aws 9.0.0 changed"}},
	} {
		if err := damage.do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found := w.Walked(w.Verify(t.Context(), "", true)); len(found) == 0 {
			t.Errorf("%s: it is not told of", name)
		}
		if got := w.Walked(w.Reindex(t.Context(), "", false)); !slices.Equal(got, damage.want) {
			t.Errorf("%s: reindexed %q, want %q", name, got, damage.want)
		}
		if got := listed(); !slices.Equal(got, want) || len(w.Listed("acme/other")) > 0 {
			t.Errorf("%s: listed %q, want %q", name, got, want)
		}
		if found := w.Walked(w.Verify(t.Context(), "", false)); len(found) > 0 {
			t.Errorf("%s, once it is corrected: %q", name, found)
		}
	}
}

// States that an older release stored have no time of publication. No verification calls that
// wrong, no recovery rewrites them, and a reindex adds it.
func TestAReindexAddsTheTimeOfPublication(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		w.Mixed()
		right := w.Provider("acme", "widget", "1.0.0")
		module, err := catalogtest.ModuleVersion(w.Context(), w.Index, publishtest.VPC, publishtest.MustVersion(w.T, "1.1.0"))
		if err != nil || module.Published.IsZero() || right.Published.IsZero() {
			w.Fatalf("%v, %v, %v", module.Published, right.Published, err)
		}
		older, olderModule := right, module
		older.Published, olderModule.Published = time.Time{}, time.Time{}
		for _, s := range []registry.State{&older, &olderModule} {
			if err := w.Index.Replace(w.Context(), s, catalog.Seen{State: s.Listed().Revision, Listed: s.Listed().Revision}); err != nil {
				w.Fatal(err)
			}
		}
		if found := w.Walked(w.Verify(w.Context(), "", false)); len(found) > 0 {
			w.Errorf("verified: %q", found)
		}
		if err := w.Recover(w.Context()); err != nil || !w.Provider("acme", "widget", "1.0.0").Published.IsZero() {
			w.Errorf("the recovery has changed it: %v", err)
		}
		want := []string{"module acme/vpc/aws 1.1.0 changed", "provider acme/widget 1.0.0 changed"}
		if got := w.Walked(w.Reindex(w.Context(), "", false)); !slices.Equal(got, want) {
			w.Errorf("reindexed %q, want %q", got, want)
		}
		if got := w.Provider("acme", "widget", "1.0.0"); !reflect.DeepEqual(got, right) {
			w.Errorf("it is %+v, want %+v", got, right)
		}
		older.Published = right.Published.Add(time.Second)
		if err := w.Index.Replace(w.Context(), &older, catalog.Seen{State: older.Revision, Listed: older.Revision}); err != nil {
			w.Fatal(err)
		}
		if found := w.Walked(w.Verify(w.Context(), "", true)); len(found) != 1 {
			w.Errorf("a wrong time: verified %q", found)
		}
	})
}

// A walk can be ended after any step, and goes on after its cursor: it comes to
// everything, once.
func TestWalksGoOnWhereTheyStopped(t *testing.T) {
	w := newWorld(t)
	w.Mixed()
	for name, walk := range map[string]func(after string) upkeep.Walk{
		"reindex": func(after string) upkeep.Walk { return w.Reindex(t.Context(), after, false) },
		"verify":  func(after string) upkeep.Walk { return w.Verify(t.Context(), after, true) },
		"resign":  func(after string) upkeep.Walk { return w.Resign(t.Context(), after) },
	} {
		var whole, parts []string
		for step, err := range walk("") {
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, step.Subject)
		}
		for after := ""; ; {
			step, stepped := upkeep.Step{}, false
			for s, err := range walk(after) {
				if err != nil {
					t.Fatal(err)
				}
				step, stepped = s, true
				break
			}
			if !stepped {
				break
			}
			parts, after = append(parts, step.Subject), step.After
		}
		if !slices.Equal(parts, whole) || len(whole) < 4 {
			t.Errorf("%s: in parts %q, and as a whole %q", name, parts, whole)
		}
	}
}

// A version that is broken does not keep the others waiting, and is told of.
func TestAReindexFinishesWhatItCan(t *testing.T) {
	w := newWorld(t)
	broken := registry.RecordKey("registry/records/providers/acme/aaa/1.0.0/", 1)
	if err := w.Bucket.Create(t.Context(), broken, []byte(`{"kind":"frobnicated"}`)); err != nil {
		t.Fatal(err)
	}
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Empty()
	var failed, changed []string
	for step, err := range w.Reindex(t.Context(), "", false) {
		if err != nil {
			failed = append(failed, step.Subject)
		} else if step.Changed {
			changed = append(changed, step.Subject)
		}
	}
	if !slices.Equal(failed, []string{"provider acme/aaa 1.0.0"}) || !slices.Equal(changed, []string{"provider acme/widget 1.0.0"}) {
		t.Errorf("failed %q, changed %q", failed, changed)
	}
}

// The walk ends where the records cannot be listed, and says so.
func TestAReindexEndsWithTheListing(t *testing.T) {
	w := newWorld(t)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	steps := 0
	for step, err := range w.Reindex(ctx, "", false) {
		if steps++; err == nil || step.Subject != "" {
			t.Errorf("%+v, %v: want an error of the whole", step, err)
		}
	}
	if steps != 1 {
		t.Errorf("%d steps, want one", steps)
	}
}
