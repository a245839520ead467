package catalog

import (
	"context"
	"errors"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// WithListing is a version with the listing of its address. They are read one after the other,
// so the listing may be older or newer than the version by a change.
type WithListing[S registry.State] struct {
	Version Snapshot[S]
	Listing Snapshot[*registry.Listing] // empty if nothing is listed
}

// ModuleWithListing is a version of a module with the module's listing, and of the zero version
// the one that [registry.Listing.Shown] says. It is one decision, and two reads of the catalog.
// A caller who may not read costs one, whatever there is.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], [ErrDenied].
func (r *Reader) ModuleWithListing(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (WithListing[*registry.ModuleVersion], error) {
	return withListing[*registry.ModuleVersion](ctx, r, caller, a, v)
}

// ProviderWithListing is for a provider what [Reader.ModuleWithListing] is for a module.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], [ErrDenied].
func (r *Reader) ProviderWithListing(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (WithListing[*registry.ProviderVersion], error) {
	return withListing[*registry.ProviderVersion](ctx, r, caller, a, v)
}

func withListing[S registry.State](ctx context.Context, r *Reader, caller access.Caller, a registry.Address, v registry.Version) (WithListing[S], error) {
	var found WithListing[S]
	err := r.read(ctx, caller, a, func(lookup *access.Lookup) (err error) {
		if v == (registry.Version{}) {
			found, err = shown[S](ctx, r.catalog, a, lookup)
		} else {
			found, err = chosen[S](ctx, r.catalog, registry.Subject{Address: a, Version: v}, lookup)
		}
		return err
	})
	if err != nil {
		return WithListing[S]{}, err
	}
	return found, nil
}

// chosen reads the version that was asked for, and then the listing.
func chosen[S registry.State](ctx context.Context, c Catalog, asked registry.Subject, lookup *access.Lookup) (found WithListing[S], err error) {
	state, err := c.State(ctx, asked, lookup)
	if err != nil {
		return found, err
	}
	found.Version = onlyBuild[S](asked.Version, state)
	found.Listing, err = c.Listing(ctx, asked.Address, nil)
	if errors.Is(err, registry.ErrNotFound) {
		found.Listing, err = NewSnapshot(nil, func([]byte, *registry.Listing) error { return nil }), nil
	}
	return found, err
}

// shown reads the listing, and then the version that stands for all.
func shown[S registry.State](ctx context.Context, c Catalog, a registry.Address, lookup *access.Lookup) (found WithListing[S], err error) {
	if found.Listing, err = c.Listing(ctx, a, lookup); err != nil {
		return found, err
	}
	var listing registry.Listing
	if err := found.Listing.Decode(&listing); err != nil {
		return found, err
	}
	newest, ok := listing.Shown()
	if !ok {
		return found, registry.ErrNotFound
	}
	state, err := c.State(ctx, registry.Subject{Address: a, Version: newest.Version}, nil)
	if err != nil {
		return found, err
	}
	found.Version = onlyBuild[S](newest.Version, state)
	return found, nil
}
