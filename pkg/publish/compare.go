package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// emptyState is a version of which nothing is known yet.
func emptyState(version registry.ParsedRecordKey) state {
	if version.Module != nil {
		return &registry.ModuleVersion{Address: *version.Module, Version: version.Version}
	}
	return &registry.ProviderVersion{Address: *version.Provider, Version: version.Version}
}

// fromLog is a version as its records alone say it is.
func (p *Publisher) fromLog(ctx context.Context, last registry.ParsedRecordKey) (state, error) {
	s := emptyState(last)
	if err := p.catchUp(ctx, s); err != nil {
		return nil, err
	}
	if have := s.Listed().Revision; have < last.Sequence {
		return nil, faulty{fmt.Errorf("record %d of %d is missing: put it back from a backup, for no later one counts without it", have+1, last.Sequence)}
	}
	return s, nil
}

// compare says how the catalog differs from a state, if it does, and at which
// revisions it was seen to.
func (p *Publisher) compare(ctx context.Context, s state, listings *listings) (seen catalog.Seen, problems []string, err error) {
	have, err := p.inCatalog(ctx, s)
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
	listing, err := listings.of(ctx, s)
	if err != nil {
		return seen, nil, err
	}
	entry := listing.Entry(want.Version)
	seen.Listed = entry.Revision
	switch {
	case !listable(s) && entry.Revision > 0:
		problems = append(problems, "It is listed, and nothing of it can be served.")
	case listable(s) && entry.Revision == 0:
		problems = append(problems, "It is not listed.")
	case listable(s) && !same(entry, want):
		problems = append(problems, "It is listed with something else than its records say.")
	}
	return seen, problems, nil
}

// inCatalog is a state's version as the catalog has it, or nil.
func (p *Publisher) inCatalog(ctx context.Context, s state) (have state, err error) {
	switch s := s.(type) {
	case *registry.ModuleVersion:
		var m registry.ModuleVersion
		m, err = p.index.ModuleVersion(ctx, s.Address, s.Version)
		have = &m
	case *registry.ProviderVersion:
		var v registry.ProviderVersion
		v, err = p.index.ProviderVersion(ctx, s.Address, s.Version)
		have = &v
	}
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return have, nil
}

// replace makes the catalog have a state, as long as it is as it was seen.
func (p *Publisher) replace(ctx context.Context, s state, seen catalog.Seen) (err error) {
	switch s := s.(type) {
	case *registry.ModuleVersion:
		err = p.index.ReplaceModuleVersion(ctx, *s, seen)
	case *registry.ProviderVersion:
		err = p.index.ReplaceProviderVersion(ctx, *s, seen)
	}
	if err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// listable says whether a version stands in a listing: a module's always does.
func listable(s state) bool {
	_, module := s.(*registry.ModuleVersion)
	return module || len(s.Listed().Platforms) > 0
}

// same compares what would be stored.
func same(a, b any) bool {
	inA, errA := json.Marshal(a)
	inB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(inA, inB)
}

// listings has the listing that was asked for last: the versions of a module or
// provider follow one another in the records.
type listings struct {
	catalog catalog.Catalog
	logs    string // the folder of all logs of what the listing is of; empty for none
	listing registry.Listing
}

// forget makes the next question be asked of the catalog.
func (l *listings) forget() { l.logs = "" }

// of is the listing that a version belongs to, which may be empty.
func (l *listings) of(ctx context.Context, s state) (registry.Listing, error) {
	logs := path.Dir(path.Dir(s.NextRecordKey()))
	if l.logs == logs {
		return l.listing, nil
	}
	var err error
	switch s := s.(type) {
	case *registry.ModuleVersion:
		l.listing, err = l.catalog.ModuleVersions(ctx, s.Address)
	case *registry.ProviderVersion:
		l.listing, err = l.catalog.ProviderVersions(ctx, s.Address)
	}
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		l.forget()
		return nil, fmt.Errorf("catalog: %w", err)
	}
	l.logs = logs
	return l.listing, nil
}
