package versionlog_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// stands is how a provider version and a module version stand, in state and
// listing.
func (w *world) stands(version string) (provider, module registry.Standing) {
	w.Helper()
	v := publishtest.MustVersion(w.T, version)
	provider = w.Provider("acme", "widget", version).Standing
	m, err := catalogtest.ModuleVersion(w.Context(), w.Index, publishtest.VPC, v)
	if err != nil {
		w.Fatal(err)
	}
	for _, check := range []struct {
		list  func() (registry.Listing, error)
		state registry.Standing
	}{
		{func() (registry.Listing, error) { return catalog.Listing(w.Context(), w.Index, publishtest.Widgets) }, provider},
		{func() (registry.Listing, error) { return catalog.Listing(w.Context(), w.Index, publishtest.VPC) }, m.Standing},
	} {
		listing, err := check.list()
		if err != nil {
			w.Fatal(err)
		}
		if got := listing.Find(v).Standing; got != check.state {
			w.Errorf("listed as %+v, and its state is %+v", got, check.state)
		}
	}
	return provider, m.Standing
}

// set changes how version 1.0.0 of both stands.
func (w *world) set(to registry.Standing) (changed bool, err error) {
	w.Helper()
	_, changed, err = w.SetStanding(w.Context(), registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(w.T, "1.0.0")}, to)
	_, changedToo, errToo := w.SetStanding(w.Context(), registry.Subject{Address: publishtest.VPC, Version: publishtest.MustVersion(w.T, "1.0.0")}, to)
	if changed != changedToo || (err == nil) != (errToo == nil) {
		w.Errorf("%+v: the provider %v, %v; the module %v, %v", to, changed, err, changedToo, errToo)
	}
	return changed, err
}

func (w *world) publishBoth() {
	w.Helper()
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	w.Want(w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""})), inbox.Published)
}

// The last word counts, the same word twice changes nothing, and what is
// withdrawn is restored before anything else is said of it.
func TestStandings(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		w.publishBoth()
		for _, step := range []struct {
			to      registry.Standing
			changed bool
			refused bool
			want    registry.Standing
		}{
			{publishtest.Restore, false, false, registry.Standing{}},
			{publishtest.Deprecate("use 2.0.0"), true, false, publishtest.Deprecate("use 2.0.0")},
			{publishtest.Deprecate("use 2.0.0"), false, false, publishtest.Deprecate("use 2.0.0")},
			{publishtest.Deprecate("use 3.0.0"), true, false, publishtest.Deprecate("use 3.0.0")},
			{publishtest.Withdraw, true, false, publishtest.Withdraw},
			{publishtest.Withdraw, false, false, publishtest.Withdraw},
			{publishtest.Deprecate("use 2.0.0"), false, true, publishtest.Withdraw},
			{publishtest.Restore, true, false, registry.Standing{}},
			{publishtest.Restore, false, false, registry.Standing{}},
		} {
			changed, err := w.set(step.to)
			if changed != step.changed || errors.As(err, new(*versionlog.Refusal)) != step.refused || (err != nil) != step.refused {
				w.Errorf("%+v: changed %v, %v", step.to, changed, err)
			}
			if want := "version 1.0.0 is withdrawn: restore it first, and then deprecate it"; step.refused && err.Error() != want {
				w.Errorf("%+v: it is refused with %q, want %q", step.to, err, want)
			}
			if provider, module := w.stands("1.0.0"); provider != step.want || module != step.want {
				w.Errorf("%+v: they stand as %+v and %+v, want %+v", step.to, provider, module, step.want)
			}
		}
	})
}

// What is not published cannot be withdrawn: not a version that nobody has
// uploaded, and not one of which only a manifest came.
func TestOnlyWhatIsPublishedStandsOtherwise(t *testing.T) {
	w := newWorld(t)
	if _, err := w.set(publishtest.Withdraw); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("nothing is published: %v", err)
	}
	w.Upload("providers/acme/widget/terraform-provider-widget_1.0.0_manifest.json", []byte(publishtest.ManifestJSON))
	if _, err := w.set(publishtest.Withdraw); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("only a manifest came: %v", err)
	}
	if got := w.KeysUnder(registry.RecordsPrefix); len(got) != 1 {
		t.Errorf("records were written: %q", got)
	}
}

// A withdrawn version stays withdrawn: uploaded again, with another package, in
// a catalog that is built anew. And all of it can be served.
func TestAWithdrawnVersionStaysWithdrawn(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		w.publishBoth()
		if _, err := w.set(publishtest.Withdraw); err != nil {
			w.Fatal(err)
		}
		w.publishBoth()
		w.Want(w.Upload(publishtest.PackageKey("1.0.0", "darwin_arm64"), publishtest.Widget("b")), inbox.Published)
		check := func(when string) {
			w.Helper()
			if provider, module := w.stands("1.0.0"); provider != publishtest.Withdraw || module != publishtest.Withdraw {
				w.Errorf("%s they stand as %+v and %+v", when, provider, module)
			}
			s := w.Provider("acme", "widget", "1.0.0")
			for _, platform := range []registry.Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}} {
				if _, served := s.Package(platform); !served {
					w.Errorf("%s it is not served for %s", when, platform)
				}
			}
			w.Served(s)
		}
		check("uploaded again")
		w.Empty()
		if err := w.Recover(w.Context()); err != nil {
			w.Fatal(err)
		}
		check("recovered")
	})
}

// Of many who speak at once, each is heard, and one is last: the log tells who.
func TestStandingsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.publishBoth()
	var speaking sync.WaitGroup
	for _, to := range []registry.Standing{publishtest.Withdraw, publishtest.Restore, publishtest.Withdraw, publishtest.Restore, publishtest.Deprecate("use 2.0.0")} {
		speaking.Go(func() {
			_, _, err := w.SetStanding(t.Context(), registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}, to)
			if err != nil && !errors.As(err, new(*versionlog.Refusal)) {
				t.Error(err)
			}
		})
	}
	speaking.Go(func() { w.Upload(publishtest.PackageKey("1.0.0", "darwin_arm64"), publishtest.Widget("b")) })
	speaking.Wait()
	before, _ := w.stands("1.0.0")
	if s := w.Provider("acme", "widget", "1.0.0"); !s.Settled() || len(s.Packages) != 2 {
		t.Errorf("the package is lost: %+v", s)
	}
	w.Empty()
	if got := w.Walked(w.Reindex(t.Context(), "", false)); len(got) != 2 {
		t.Errorf("reindexed %q", got)
	}
	if after, _ := w.stands("1.0.0"); after != before {
		t.Errorf("it stands as %+v, and the log says %+v", before, after)
	}
}

// An operator's word that fails at any call is said again, and holds then.
func TestAStandingMayFailAnywhere(t *testing.T) {
	w := newWorld(t)
	w.publishBoth()
	for failAt, failed := 1, true; failed; failAt++ {
		for _, after := range []bool{false, true} {
			calls := 0
			p := w.Through(publishtest.CallFunc(func(_ string, do func() error) error {
				if calls++; calls != failAt {
					return do()
				}
				if after {
					if err := do(); err != nil {
						return err
					}
				}
				return publishtest.ErrFault
			}))
			to := publishtest.Deprecate("say it " + string(rune('a'+2*failAt)))
			if after {
				to.Message += " again"
			}
			_, _, err := p.SetStanding(t.Context(), registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}, to)
			if failed = calls >= failAt; failed != (err != nil) {
				t.Errorf("call %d, after its effect %v: %v", failAt, after, err)
			}
			if _, _, err := w.SetStanding(t.Context(), registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}, to); err != nil {
				t.Error(err)
			}
			if got := w.Provider("acme", "widget", "1.0.0").Standing; got != to {
				t.Errorf("call %d, after its effect %v: it stands as %+v, want %+v", failAt, after, got, to)
			}
		}
	}
	logged := w.KeysUnder(registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}.LogPrefix())
	if !slices.IsSorted(logged) || len(logged) < 6 {
		t.Errorf("the log is %q", logged)
	}
}
