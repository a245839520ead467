// Package catalogtest is the suites that every driver passes: of [catalog.Index],
// of [access.Store], and of both in one question.
package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// Test runs the suite. open is called for every catalog that it takes, which
// are empty.
func Test(t *testing.T, open func(t *testing.T) catalog.Index) {
	s := &suite{open(t)}
	t.Run("not found", s.notFound)
	t.Run("round trip", s.roundTrip)
	t.Run("build metadata", s.buildMetadata)
	t.Run("revisions", s.revisions)
	t.Run("unsettled", s.unsettled)
	t.Run("standing", s.standing)
	t.Run("snapshots", s.snapshots)
	t.Run("any order", s.anyOrder)
	t.Run("at once", s.atOnce)
	t.Run("similar names", s.similarNames)
	t.Run("cancelled", s.cancelled)
	t.Run("large", s.large)
	t.Run("replace", s.replace)
	t.Run("remove", s.remove)
	t.Run("changed", s.changed)
	t.Run("corrections at once", s.correctionsAtOnce)
	t.Run("entries", func(t *testing.T) { (&suite{open(t)}).entries(t) })
	t.Run("entries of a changing catalog", func(t *testing.T) { (&suite{open(t)}).changingEntries(t) })
}

type suite struct{ index catalog.Index }

func (s *suite) notFound(t *testing.T) {
	s.putModule(t, moduleVersion("acme/known/aws", "1.0.0", 1))
	s.putProvider(t, providerVersion("acme/known", "1.0.0", "linux_amd64", "release"))
	ctx := t.Context()
	_, unknownModule := catalog.Listing(ctx, s.index, module("acme/known/gcp"))
	_, unknownModuleVersion := ModuleVersion(ctx, s.index, module("acme/known/aws"), version("1.0.1"))
	_, versionOfUnknownModule := ModuleVersion(ctx, s.index, module("acme/unknown/aws"), version("1.0.0"))
	_, unknownProvider := catalog.Listing(ctx, s.index, provider("acme/unknown"))
	_, unknownProviderVersion := ProviderVersion(ctx, s.index, provider("acme/known"), version("1.0.0-rc.1"))
	_, versionOfUnknownProvider := ProviderVersion(ctx, s.index, provider("other/known"), version("1.0.0"))
	for name, err := range map[string]error{
		"module": unknownModule, "module version": unknownModuleVersion, "version of an unknown module": versionOfUnknownModule,
		"provider": unknownProvider, "provider version": unknownProviderVersion, "version of an unknown provider": versionOfUnknownProvider,
	} {
		if !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
}

// roundTrip checks that a state comes back with all that is in it.
func (s *suite) roundTrip(t *testing.T) {
	m := moduleVersion("round/trip/aws", "1.2.3-beta.4+build.5", 1)
	m.Archive = registry.ModuleArchive{Format: "tar.gz", SHA256: "aa", H1: "h1:b+/=", Size: 1 << 40, UploadSHA256: "cc", Source: "https://example.com/round/trip"}
	s.putModule(t, m)
	s.wantModule(t, m)
	s.wantListing(t, m.Address, registry.Listing{{Version: m.Version, Revision: 1, Source: m.Archive.Source}})

	p := providerVersion("round/trip", "2.0.0-rc.1+build.6", "linux_arm64", "manifest", "docs", "darwin_amd64", "release", "windows_386")
	p.Packages[0].Protocols, p.Packages[0].Source = []string{"5.0", "6.1"}, "https://example.com/round/trip"
	s.putProvider(t, p)
	s.wantProvider(t, p)
	s.wantListing(t, p.Address, registry.Listing{p.Listed()})
}

// buildMetadata checks that a version is found by its key alone, and returned as it was
// published.
func (s *suite) buildMetadata(t *testing.T) {
	m := moduleVersion("build/metadata/aws", "1.0.0+published", 1)
	p := providerVersion("build/metadata", "1.0.0+published", "linux_amd64", "release")
	s.putModule(t, m)
	s.putProvider(t, p)
	for _, asked := range []string{"1.0.0", "1.0.0+other", "1.0.0+published"} {
		if got, err := ModuleVersion(t.Context(), s.index, m.Address, version(asked)); err != nil || got.Version != m.Version {
			t.Errorf("ModuleVersion(%s) = %v, %v, want %v", asked, got.Version, err, m.Version)
		}
		if got, err := ProviderVersion(t.Context(), s.index, p.Address, version(asked)); err != nil || got.Version != p.Version {
			t.Errorf("ProviderVersion(%s) = %v, %v, want %v", asked, got.Version, err, p.Version)
		}
	}
}

// revisions checks that the state of the higher revision stays, and of two with the same
// revision the first.
func (s *suite) revisions(t *testing.T) {
	state := func(revision int, hash string) registry.ModuleVersion {
		m := moduleVersion("some/revisions/aws", "1.0.0", revision)
		m.Archive.SHA256 = hash
		return m
	}
	want := state(3, "first")
	for _, m := range []registry.ModuleVersion{state(2, "older"), want, state(3, "second"), state(1, "oldest"), state(2, "late")} {
		s.putModule(t, m)
	}
	s.wantModule(t, want)
	s.wantListing(t, want.Address, registry.Listing{want.Listed()})

	full := providerVersion("some/revisions", "1.0.0", "linux_amd64", "linux_arm64", "release")
	s.putProvider(t, full)
	s.putProvider(t, providerVersion("some/revisions", "1.0.0", "linux_amd64", "release"))
	s.putProvider(t, full)
	s.wantProvider(t, full)
	s.wantListing(t, full.Address, registry.Listing{full.Listed()})
}

// unsettled checks that a version is listed once something of it can be served,
// and stays so while more of it comes.
func (s *suite) unsettled(t *testing.T) {
	states := []struct {
		steps []string
		want  []string // the listed platforms
	}{
		{[]string{"linux_amd64"}, nil},
		{[]string{"linux_amd64", "release"}, []string{"linux_amd64"}},
		{[]string{"linux_amd64", "release", "darwin_arm64"}, []string{"linux_amd64"}},
		{[]string{"linux_amd64", "release", "darwin_arm64", "release"}, []string{"darwin_arm64", "linux_amd64"}},
	}
	for _, state := range states {
		p := providerVersion("some/unsettled", "1.0.0", state.steps...)
		s.putProvider(t, p)
		s.wantProvider(t, p)
		listing, err := catalog.Listing(t.Context(), s.index, p.Address)
		if state.want == nil {
			if !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("after %v: %v, %v, want ErrNotFound", state.steps, listing, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, platform := range listing[0].Platforms {
			got = append(got, platform.String())
		}
		if !slices.Equal(got, state.want) || listing[0].Revision != p.Revision {
			t.Errorf("after %v: listed as %+v, want %v", state.steps, listing[0], state.want)
		}
	}
}

// standing checks that a version is listed with its last standing, and that an older
// state which comes late does not change it.
func (s *suite) standing(t *testing.T) {
	module := moduleVersion("some/standing/aws", "1.0.0", 1)
	provider := providerVersion("some/standing", "1.0.0", "linux_amd64", "release")
	s.putModule(t, module)
	s.putProvider(t, provider)
	for _, said := range []registry.Standing{
		{State: registry.Deprecated, Message: "use 2.0.0 — it is <faster>"}, {State: registry.Withdrawn}, {}, {State: registry.Withdrawn, Message: "it leaks"},
	} {
		lateModule, lateProvider := module, provider
		module.Standing, provider.Standing = said, said
		module.Revision++
		provider.Revision++
		s.putModule(t, module)
		s.putProvider(t, provider)
		s.putModule(t, lateModule)
		s.putProvider(t, lateProvider)
		s.wantModule(t, module)
		s.wantProvider(t, provider)
		s.wantListing(t, module.Address, registry.Listing{{Version: module.Version, Revision: module.Revision, Standing: said}})
		s.wantListing(t, provider.Address, registry.Listing{provider.Listed()})
	}
}

// anyOrder checks that the same states end in the same catalog, in whatever
// order they arrive and however often.
func (s *suite) anyOrder(t *testing.T) {
	arrivals := func(address string) []registry.ProviderVersion {
		return []registry.ProviderVersion{
			providerVersion(address, "1.10.0", "linux_amd64"),
			providerVersion(address, "1.10.0", "linux_amd64", "release", "linux_arm64"),
			providerVersion(address, "1.10.0", "linux_amd64", "release", "linux_arm64", "release"),
			providerVersion(address, "1.9.0", "linux_amd64", "release"),
			providerVersion(address, "2.0.0-rc.1", "windows_amd64"),
		}
	}
	number := 0
	permute(5, func(order []int) {
		states := arrivals(fmt.Sprintf("any/order%d", number))
		number++
		for _, i := range order {
			s.putProvider(t, states[i])
		}
		s.putProvider(t, states[order[0]])
		for _, last := range states[2:] {
			s.wantProvider(t, last)
		}
		s.wantListing(t, states[0].Address, registry.Listing{states[3].Listed(), states[2].Listed()})
	})
}

// permute calls with every order of n numbers.
func permute(n int, call func(order []int)) {
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == n {
			call(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				extend(append(slices.Clone(order), i))
			}
		}
	}
	extend(nil)
}

// atOnce checks that writers at the same time lose nothing: every version is listed, at
// its highest revision. Readers meanwhile see whole listings.
func (s *suite) atOnce(t *testing.T) {
	const versions, revisions = 8, 8
	address := module("at/once/aws")
	var states []registry.ModuleVersion
	var want registry.Listing
	for v := range versions {
		for r := range revisions {
			states = append(states, moduleVersion(address.String(), fmt.Sprintf("1.%d.0", v), r+1))
		}
		want = append(want, states[len(states)-1].Listed())
	}
	rand.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
	var wg sync.WaitGroup
	for _, m := range states {
		wg.Go(func() {
			if err := Put(t.Context(), s.index, m); err != nil {
				t.Error(err)
			}
			listing, err := catalog.Listing(t.Context(), s.index, address)
			listed := slices.ContainsFunc(listing, func(e registry.Listed) bool { return e.Version == m.Version && e.Revision >= m.Revision })
			if err != nil || !listed {
				t.Errorf("after %s, revision %d: listing %v, %v", m.Version, m.Revision, listing, err)
			}
		})
	}
	wg.Wait()
	s.wantListing(t, address, want)
	for v := range versions {
		s.wantModule(t, moduleVersion(address.String(), fmt.Sprintf("1.%d.0", v), revisions))
	}
}

// similarNames checks that nothing is found under another address.
func (s *suite) similarNames(t *testing.T) {
	modules := []string{"similar/a/b", "similar/a/bb", "similar/aa/b", "similar/a/list", "similar-a/b/c", "similar/a-b/c", "v/1/0"}
	providers := []string{"similar/a", "similar/aa", "similar/list", "similar-a/b", "similara/b"}
	for i, address := range modules {
		s.putModule(t, moduleVersion(address, fmt.Sprintf("1.0.%d", i), 1))
	}
	for i, address := range providers {
		s.putProvider(t, providerVersion(address, fmt.Sprintf("2.0.%d", i), "linux_amd64", "release"))
	}
	for i, address := range modules {
		s.wantListing(t, module(address), registry.Listing{{Version: version(fmt.Sprintf("1.0.%d", i)), Revision: 1}})
	}
	for i, address := range providers {
		p := providerVersion(address, fmt.Sprintf("2.0.%d", i), "linux_amd64", "release")
		s.wantListing(t, p.Address, registry.Listing{p.Listed()})
	}
}

// cancelled checks that nothing is done for a cancelled context.
func (s *suite) cancelled(t *testing.T) {
	m := moduleVersion("some/cancelled/aws", "1.0.0", 1)
	p := providerVersion("some/cancelled", "1.0.0", "linux_amd64", "release")
	s.putModule(t, m)
	s.putProvider(t, p)
	newerModule := moduleVersion("some/cancelled/aws", "1.0.0", 2)
	newerProvider := providerVersion("some/cancelled", "1.0.0", "linux_amd64", "release", "linux_arm64", "release")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, moduleVersions := catalog.Listing(ctx, s.index, m.Address)
	_, moduleVersionErr := ModuleVersion(ctx, s.index, m.Address, m.Version)
	_, providerVersions := catalog.Listing(ctx, s.index, p.Address)
	_, providerVersionErr := ProviderVersion(ctx, s.index, p.Address, p.Version)
	for call, err := range map[string]error{
		"Listing of a module":   moduleVersions,
		"Load of a module":      moduleVersionErr,
		"Listing of a provider": providerVersions,
		"Load of a provider":    providerVersionErr,
		"Put of a module":       Put(ctx, s.index, newerModule),
		"Put of a provider":     Put(ctx, s.index, newerProvider),

		"Replace of a module":   Replace(ctx, s.index, newerModule, catalog.Seen{State: 1, Listed: 1}),
		"Replace of a provider": Replace(ctx, s.index, newerProvider, catalog.Seen{State: 2, Listed: 2}),
		"Remove of a module":    s.index.Remove(ctx, m.Subject(), catalog.Seen{State: 1, Listed: 1}),
		"Remove of a provider":  s.index.Remove(ctx, p.Subject(), catalog.Seen{State: 2, Listed: 2}),
		"Entries":               entriesErr(s.index.Entries(ctx, "")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", call, err)
		}
	}
	s.wantModule(t, m)
	s.wantProvider(t, p)
}

// large stores a listing larger than that of any known provider.
func (s *suite) large(t *testing.T) {
	versions := 1000
	if testing.Short() {
		versions = 100
	}
	var want registry.Listing
	for _, p := range Provider(provider("some/large"), versions, 14) {
		s.putProvider(t, p)
		want = append(want, p.Listed())
	}
	s.wantListing(t, provider("some/large"), want)
}

func (s *suite) putModule(t *testing.T, m registry.ModuleVersion) {
	t.Helper()
	if err := Put(t.Context(), s.index, m); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) putProvider(t *testing.T, p registry.ProviderVersion) {
	t.Helper()
	if err := Put(t.Context(), s.index, p); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) wantModule(t *testing.T, want registry.ModuleVersion) {
	t.Helper()
	got, err := ModuleVersion(t.Context(), s.index, want.Address, want.Version)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s %s is %+v, %v, want %+v", want.Address, want.Version, got, err, want)
	}
}

func (s *suite) wantProvider(t *testing.T, want registry.ProviderVersion) {
	t.Helper()
	got, err := ProviderVersion(t.Context(), s.index, want.Address, want.Version)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s %s is %+v, %v, want %+v", want.Address, want.Version, got, err, want)
	}
}

func (s *suite) wantListing(t *testing.T, address registry.Address, want registry.Listing) {
	t.Helper()
	got, err := catalog.Listing(t.Context(), s.index, address)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%T %s is listed as %+v, %v, want %+v", address, address, got, err, want)
	}
}
