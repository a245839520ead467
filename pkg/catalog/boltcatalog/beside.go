package boltcatalog

import (
	"context"
	"errors"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// WithTokens is where a [catalog.Reader] of the catalog finds the tokens that
// are in another file.
func (c *Catalog) WithTokens(a *Access) catalog.Tokens { return tokens{a, c} }

type tokens struct {
	*Access
	catalog *Catalog
}

// Beside implements [catalog.Tokens].
func (t tokens) Beside(lookup *access.Lookup) catalog.Catalog { return beside{t, lookup} }

// beside is the catalog for one question.
type beside struct {
	tokens tokens
	lookup *access.Lookup
}

func (b beside) ModuleVersions(ctx context.Context, a registry.ModuleAddress) (registry.Listing, error) {
	return with(ctx, b, func(c *Catalog) (registry.Listing, error) { return c.ModuleVersions(ctx, a) })
}

func (b beside) ModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error) {
	return with(ctx, b, func(c *Catalog) (registry.ModuleVersion, error) { return c.ModuleVersion(ctx, a, v) })
}

func (b beside) ProviderVersions(ctx context.Context, a registry.ProviderAddress) (registry.Listing, error) {
	return with(ctx, b, func(c *Catalog) (registry.Listing, error) { return c.ProviderVersions(ctx, a) })
}

func (b beside) ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	return with(ctx, b, func(c *Catalog) (registry.ProviderVersion, error) { return c.ProviderVersion(ctx, a, v) })
}

// with looks the token up, and then asks the catalog if that is wanted.
func with[T any](ctx context.Context, b beside, ask func(*Catalog) (T, error)) (T, error) {
	var nothing T
	found, err := b.tokens.Token(ctx, b.lookup.ID)
	token := &found
	switch {
	case errors.Is(err, access.ErrNotFound):
		token = nil
	case err != nil:
		return nothing, err
	}
	if !b.lookup.Found(token) {
		return nothing, registry.ErrNotFound
	}
	return ask(b.tokens.catalog)
}
