package dynamocatalog

import (
	"context"

	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

// MaxAttempts is how often a request is sent.
const MaxAttempts = maxAttempts

// Lost says that a listing has changed since it was read.
var Lost = lost

// Fill makes a listing what it would be after many puts.
func (c *Catalog) Fill(ctx context.Context, a registry.ProviderAddress, revision int, listing registry.Listing) error {
	return c.replaceListing(ctx, layout.ProviderPartition(a), revision, listing)
}
