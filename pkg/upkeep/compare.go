package upkeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// compare says how the catalog differs from a state, and the revisions that the catalog had
// then.
func (w *Walks) compare(ctx context.Context, s registry.State, listings *listings) (seen catalog.Seen, problems []string, err error) {
	have, err := w.inCatalog(ctx, s.Subject())
	if err != nil {
		return seen, nil, err
	}
	want := s.Listed()
	if have == nil {
		problems = append(problems, "The catalog does not have it.")
	} else if seen.State = have.Listed().Revision; seen.State != want.Revision {
		problems = append(problems, fmt.Sprintf("The catalog has it at revision %d, and its records are at %d.", seen.State, want.Revision))
	} else if !same(have, s) {
		problems = append(problems, "The catalog has something else of it than its records say.")
	}
	listing, err := listings.of(ctx, s.Subject().Address)
	if err != nil {
		return seen, nil, err
	}
	entry := listing.Find(want.Version)
	seen.Listed = entry.Revision
	switch {
	case !s.Listable() && entry.Revision > 0:
		problems = append(problems, "It is listed, and nothing of it can be served.")
	case s.Listable() && entry.Revision == 0:
		problems = append(problems, "It is not listed.")
	case s.Listable() && !same(entry, want):
		problems = append(problems, "It is listed with something else than its records say.")
	}
	return seen, problems, nil
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
	return nil
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
