package upkeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// comparison is how the catalog differs from a state.
type comparison struct {
	seen     catalog.Seen // the revisions that the catalog had then
	problems []string     // in full sentences

	// older says that an older release stored the state, without the time of its
	// publication. All that it has is right, so that is no problem, and nothing rewrites all
	// versions on the day of an upgrade. Reindex adds the time.
	older bool
}

// compare says how the catalog differs from a state.
func (w *Walks) compare(ctx context.Context, s registry.State, listings *listings) (comparison, error) {
	have, err := w.inCatalog(ctx, s.Subject())
	if err != nil {
		return comparison{}, err
	}
	c := compareStates(have, s)
	listing, err := listings.of(ctx, s.Subject().Address)
	if err != nil {
		return comparison{}, err
	}
	want := s.Listed()
	entry := listing.Find(want.Version)
	c.seen.Listed = entry.Revision
	switch {
	case !s.Listable() && entry.Revision > 0:
		c.problems = append(c.problems, "It is listed, and nothing of it can be served.")
	case s.Listable() && entry.Revision == 0:
		c.problems = append(c.problems, "It is not listed.")
	case s.Listable() && !same(entry, want):
		c.problems = append(c.problems, "It is listed with something else than its records say.")
	}
	return c, nil
}

// compareStates compares what the catalog has, which is nil if it has nothing, with what the
// records say.
func compareStates(have, want registry.State) (c comparison) {
	if have == nil {
		c.problems = append(c.problems, "The catalog does not have it.")
		return c
	}
	c.seen.State = have.Listed().Revision
	revision := want.Listed().Revision
	if c.seen.State != revision {
		c.problems = append(c.problems, fmt.Sprintf("The catalog has it at revision %d, and its records are at %d.", c.seen.State, revision))
		return c
	}
	if now, then := published(want), published(have); then.IsZero() && !now.IsZero() {
		*then, c.older = *now, true
	}
	if !same(have, want) {
		c.problems = append(c.problems, "The catalog has something else of it than its records say.")
	}
	return c
}

// published is where a state has the time of its publication.
func published(s registry.State) *time.Time {
	if s, ok := s.(*registry.ProviderVersion); ok {
		return &s.Published
	}
	return &s.(*registry.ModuleVersion).Published
}

// inCatalog returns the state of a version in the catalog, or nil.
func (w *Walks) inCatalog(ctx context.Context, version registry.Subject) (registry.State, error) {
	have := version.New()
	err := catalog.Load(ctx, w.index, have)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return have, nil
}

// replace puts a state into the catalog, if the catalog still is as it was seen.
func (w *Walks) replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	if err := w.index.Replace(ctx, s, seen); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return w.refresh(ctx, s.Subject().Address)
}

// same says whether two values would be stored as the same JSON.
func same(a, b any) bool {
	inA, errA := json.Marshal(a)
	inB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(inA, inB)
}

// listings keeps the last listing: the versions of a module or a provider follow one
// another in the records.
type listings struct {
	catalog catalog.Catalog
	address registry.Address // of the listing; nil if there is none
	listing registry.Listing
}

// forget makes the next call of of read the catalog.
func (l *listings) forget() { l.address = nil }

// of returns the listing of a module or a provider, which may be empty.
func (l *listings) of(ctx context.Context, a registry.Address) (registry.Listing, error) {
	if l.address == a {
		return l.listing, nil
	}
	var err error
	l.listing, err = catalog.Listing(ctx, l.catalog, a)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		l.forget()
		return nil, fmt.Errorf("catalog: %w", err)
	}
	l.address = a
	return l.listing, nil
}
