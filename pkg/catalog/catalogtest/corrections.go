package catalogtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// replace checks that a state is stored whatever revision there is, and listed
// as it says.
func (s *suite) replace(t *testing.T) {
	m := moduleVersion("some/replace/aws", "1.0.0", 5)
	other := moduleVersion("some/replace/aws", "1.1.0", 1)
	s.putModule(t, m)
	s.putModule(t, other)
	seen := catalog.Seen{State: 5, Listed: 5}
	for _, revision := range []int{5, 2, 7} {
		m = moduleVersion("some/replace/aws", "1.0.0+other", revision)
		m.Archive.SHA256 = fmt.Sprint("corrected ", revision)
		s.done(t, Replace(t.Context(), s.index, m, seen))
		s.wantModule(t, m)
		s.wantListing(t, m.Address, registry.Listing{m.Listed(), other.Listed()})
		seen = catalog.Seen{State: revision, Listed: revision}
	}
	absent := moduleVersion("some/replace/gcp", "1.0.0", 2)
	s.done(t, Replace(t.Context(), s.index, absent, catalog.Seen{}))
	s.wantModule(t, absent)
	s.wantListing(t, absent.Address, registry.Listing{absent.Listed()})

	full := providerVersion("some/replace", "1.0.0", "linux_amd64", "release", "darwin_arm64", "release")
	partial := providerVersion("some/replace", "1.0.0", "linux_amd64", "release")
	unlisted := providerVersion("some/replace", "1.0.0", "linux_amd64", "manifest", "darwin_arm64")
	s.putProvider(t, full)
	s.done(t, Replace(t.Context(), s.index, partial, catalog.Seen{State: 4, Listed: 4}))
	s.wantProvider(t, partial)
	s.wantListing(t, partial.Address, registry.Listing{partial.Listed()})
	s.done(t, Replace(t.Context(), s.index, unlisted, catalog.Seen{State: 2, Listed: 2}))
	s.wantProvider(t, unlisted)
	s.wantNothingListed(t, unlisted.Address)
	s.done(t, Replace(t.Context(), s.index, partial, catalog.Seen{State: 3}))
	s.wantProvider(t, partial)
	s.wantListing(t, partial.Address, registry.Listing{partial.Listed()})
}

// remove checks that a version which is removed was never there, and can be
// published again.
func (s *suite) remove(t *testing.T) {
	ctx := t.Context()
	m := moduleVersion("some/remove/aws", "1.0.0", 3)
	other := moduleVersion("some/remove/aws", "1.1.0", 1)
	p := providerVersion("some/remove", "1.0.0", "linux_amd64", "release")
	unlisted := providerVersion("some/remove", "1.1.0", "linux_amd64")
	for range 2 {
		s.putModule(t, m)
		s.putModule(t, other)
		s.done(t, s.index.Remove(ctx, m.Subject(), catalog.Seen{State: 3, Listed: 3}))
		s.wantModuleNotFound(t, m)
		s.wantModule(t, other)
		s.wantListing(t, m.Address, registry.Listing{other.Listed()})
		s.done(t, s.index.Remove(ctx, registry.Subject{Address: other.Address, Version: version("1.1.0+other")}, catalog.Seen{State: 1, Listed: 1}))
		s.wantModuleNotFound(t, other)
		s.wantNothingListed(t, m.Address)
		s.done(t, s.index.Remove(ctx, other.Subject(), catalog.Seen{}))

		s.putProvider(t, p)
		s.putProvider(t, unlisted)
		s.done(t, s.index.Remove(ctx, registry.Subject{Address: p.Address, Version: unlisted.Version}, catalog.Seen{State: 1}))
		s.wantListing(t, p.Address, registry.Listing{p.Listed()})
		s.done(t, s.index.Remove(ctx, p.Subject(), catalog.Seen{State: 2, Listed: 2}))
		s.wantNothingListed(t, p.Address)
		for _, removed := range []registry.ProviderVersion{p, unlisted} {
			if got, err := ProviderVersion(ctx, s.index, p.Address, removed.Version); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("%s is %+v, %v, want ErrNotFound", removed.Version, got, err)
			}
		}
	}
	s.done(t, s.index.Remove(ctx, registry.Subject{Address: module("never/there/aws"), Version: m.Version}, catalog.Seen{}))
	s.wantNothingListed(t, module("never/there/aws"))
}

// changed checks that a version is not corrected if it is not as it was seen.
func (s *suite) changed(t *testing.T) {
	ctx := t.Context()
	m := moduleVersion("some/changed/aws", "1.0.0", 3)
	p := providerVersion("some/changed", "1.0.0", "linux_amd64", "release")
	s.putModule(t, m)
	s.putProvider(t, p)
	replacedModule, replacedProvider := m, p
	replacedModule.Revision, replacedProvider.Revision = 4, 4
	for _, seen := range []catalog.Seen{{}, {State: 3}, {Listed: 3}, {State: 2, Listed: 3}, {State: 3, Listed: 2}, {State: 4, Listed: 4}, {State: 4, Listed: 3}} {
		for call, err := range map[string]error{
			"Replace of a module":   Replace(ctx, s.index, replacedModule, seen),
			"Replace of a provider": Replace(ctx, s.index, replacedProvider, seen),
			"Remove of a module":    s.index.Remove(ctx, m.Subject(), seen),
			"Remove of a provider":  s.index.Remove(ctx, p.Subject(), seen),
		} {
			if !errors.Is(err, catalog.ErrChanged) {
				t.Errorf("%s with %+v seen = %v, want ErrChanged", call, seen, err)
			}
		}
	}
	if err := s.index.Remove(ctx, registry.Subject{Address: m.Address, Version: version("1.1.0")}, catalog.Seen{State: 1}); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a version that is not there: %v, want ErrChanged", err)
	}
	s.wantModule(t, m)
	s.wantListing(t, m.Address, registry.Listing{m.Listed()})
	s.wantProvider(t, p)
	s.wantListing(t, p.Address, registry.Listing{p.Listed()})
}

// correctionsAtOnce checks that only one of several writers who have seen the same corrects
// it, and that no other version is lost.
func (s *suite) correctionsAtOnce(t *testing.T) {
	const versions, rivals = 6, 3
	address := module("corrections/at-once/aws")
	numbered := func(v, revision int) registry.ModuleVersion {
		return moduleVersion(address.String(), fmt.Sprintf("1.%d.0", v), revision)
	}
	var corrected [versions]atomic.Int32
	for v := range versions {
		s.putModule(t, numbered(v, 9))
	}
	var want registry.Listing
	var wg sync.WaitGroup
	for v := range versions {
		removed := v%2 == 0
		for range rivals {
			wg.Go(func() {
				var err error
				if seen := (catalog.Seen{State: 9, Listed: 9}); removed {
					err = s.index.Remove(t.Context(), registry.Subject{Address: address, Version: numbered(v, 9).Version}, seen)
				} else {
					err = Replace(t.Context(), s.index, numbered(v, 1), seen)
				}
				if err == nil {
					corrected[v].Add(1)
				} else if !errors.Is(err, catalog.ErrChanged) {
					t.Error(err)
				}
			})
		}
		added := numbered(versions+v, 1)
		wg.Go(func() {
			if err := Put(t.Context(), s.index, added); err != nil {
				t.Error(err)
			}
		})
		want, _ = want.With(added.Listed())
		if !removed {
			m := numbered(v, 1)
			want, _ = want.With(m.Listed())
		}
	}
	wg.Wait()
	s.wantListing(t, address, want)
	for v := range versions {
		if n := corrected[v].Load(); n != 1 {
			t.Errorf("version %d was corrected %d times", v, n)
		}
		if m := numbered(v, 1); v%2 == 0 {
			s.wantModuleNotFound(t, m)
		} else {
			s.wantModule(t, m)
		}
	}
}

func (s *suite) done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *suite) wantModuleNotFound(t *testing.T, m registry.ModuleVersion) {
	t.Helper()
	if got, err := ModuleVersion(t.Context(), s.index, m.Address, m.Version); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("%s %s is %+v, %v, want ErrNotFound", m.Address, m.Version, got, err)
	}
}

func (s *suite) wantNothingListed(t *testing.T, address registry.Address) {
	t.Helper()
	if got, err := catalog.Listing(t.Context(), s.index, address); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("%T %s is listed as %+v, %v, want ErrNotFound", address, address, got, err)
	}
}
