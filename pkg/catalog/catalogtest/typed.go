package catalogtest

import (
	"context"
	"encoding/json"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// stateOf is a pointer to T that is a state, which can be filled.
type stateOf[T any] interface {
	*T
	registry.State
}

// ModuleVersion is a version of a module as a catalog has it.
func ModuleVersion(ctx context.Context, c catalog.Catalog, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error) {
	return Load(ctx, c, registry.ModuleVersion{Address: a, Version: v}, nil)
}

// ProviderVersion is a version of a provider as a catalog has it.
func ProviderVersion(ctx context.Context, c catalog.Catalog, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	return Load(ctx, c, registry.ProviderVersion{Address: a, Version: v}, nil)
}

// Load is a version as a catalog has it, with a token that may be looked up in the same
// request.
func Load[T any, S stateOf[T]](ctx context.Context, c catalog.Catalog, state T, lookup *access.Lookup) (T, error) {
	snapshot, err := c.State(ctx, S(&state).Subject(), lookup)
	if err == nil {
		err = snapshot.Decode(S(&state))
	}
	if err != nil {
		return *new(T), err
	}
	return state, nil
}

// Listing is a listing as a catalog has it, with a token that may be looked up in the same
// request.
func Listing(ctx context.Context, c catalog.Catalog, a registry.Address, lookup *access.Lookup) (listing registry.Listing, err error) {
	snapshot, err := c.Listing(ctx, a, lookup)
	if err == nil {
		err = snapshot.Decode(&listing)
	}
	if err != nil {
		return nil, err
	}
	return listing, nil
}

// Snapshot has a value, for a catalog that a test makes up.
func Snapshot[T any](value any) (catalog.Snapshot[T], error) {
	stored, err := json.Marshal(value)
	return catalog.NewSnapshot(stored, func(stored []byte, into T) error { return json.Unmarshal(stored, into) }), err
}

// Put puts a state into a catalog.
func Put[T any, S stateOf[T]](ctx context.Context, index catalog.Index, state T) error {
	return index.Put(ctx, S(&state))
}

// Replace replaces a state in a catalog.
func Replace[T any, S stateOf[T]](ctx context.Context, index catalog.Index, state T, seen catalog.Seen) error {
	return index.Replace(ctx, S(&state), seen)
}
