package registry

import (
	"context"
	"fmt"
)

// Catalog answers from an index over all records. Implementations are safe for
// concurrent use.
type Catalog interface {
	// ModuleVersions lists a module.
	//
	// Errors: [ErrNotFound] when nothing of it is published.
	ModuleVersions(ctx context.Context, a ModuleAddress) (Listing, error)

	// ModuleVersion is one version of a module, found by [Version.Key].
	//
	// Errors: [ErrNotFound] when it is not published.
	ModuleVersion(ctx context.Context, a ModuleAddress, v Version) (ModuleVersion, error)

	// ProviderVersions lists a provider.
	//
	// Errors: [ErrNotFound] when nothing of it is published.
	ProviderVersions(ctx context.Context, a ProviderAddress) (Listing, error)

	// ProviderVersion is one version of a provider, found by [Version.Key].
	// It may have packages that cannot be served yet.
	//
	// Errors: [ErrNotFound] when it is not published.
	ProviderVersion(ctx context.Context, a ProviderAddress, v Version) (ProviderVersion, error)
}

// Caller is who asks. The zero Caller is nobody and may read nothing.
type Caller struct{ mayRead bool }

// Anyone is the caller of a registry that is open for reading.
var Anyone = Caller{mayRead: true}

// ErrOtherBuild is the [ErrNotFound] of a version that is published with other
// build metadata than was asked for, and never will be with that.
var ErrOtherBuild = fmt.Errorf("%w: it has other build metadata", ErrNotFound)

// Reader is the only way from a request to a catalog: it takes no question
// without a caller.
type Reader struct{ catalog Catalog }

// NewReader reads from a catalog.
func NewReader(catalog Catalog) *Reader { return &Reader{catalog} }

// ModuleVersions lists a module.
//
// Errors: [ErrUnauthorized], [ErrNotFound].
func (r *Reader) ModuleVersions(ctx context.Context, caller Caller, a ModuleAddress) (Listing, error) {
	if err := caller.authorize(); err != nil {
		return nil, err
	}
	return r.catalog.ModuleVersions(ctx, a)
}

// ModuleVersion is one version of a module.
//
// Errors: [ErrUnauthorized], [ErrNotFound], as which [ErrOtherBuild] counts.
func (r *Reader) ModuleVersion(ctx context.Context, caller Caller, a ModuleAddress, v Version) (ModuleVersion, error) {
	if err := caller.authorize(); err != nil {
		return ModuleVersion{}, err
	}
	m, err := r.catalog.ModuleVersion(ctx, a, v)
	if err != nil {
		return ModuleVersion{}, err
	}
	if m.Version != v {
		return ModuleVersion{}, ErrOtherBuild
	}
	return m, nil
}

// ProviderVersions lists a provider.
//
// Errors: [ErrUnauthorized], [ErrNotFound].
func (r *Reader) ProviderVersions(ctx context.Context, caller Caller, a ProviderAddress) (Listing, error) {
	if err := caller.authorize(); err != nil {
		return nil, err
	}
	return r.catalog.ProviderVersions(ctx, a)
}

// ProviderVersion is one version of a provider.
//
// Errors: [ErrUnauthorized], [ErrNotFound], as which [ErrOtherBuild] counts.
func (r *Reader) ProviderVersion(ctx context.Context, caller Caller, a ProviderAddress, v Version) (ProviderVersion, error) {
	if err := caller.authorize(); err != nil {
		return ProviderVersion{}, err
	}
	p, err := r.catalog.ProviderVersion(ctx, a, v)
	if err != nil {
		return ProviderVersion{}, err
	}
	if p.Version != v {
		return ProviderVersion{}, ErrOtherBuild
	}
	return p, nil
}

func (c Caller) authorize() error {
	if !c.mayRead {
		return ErrUnauthorized
	}
	return nil
}
