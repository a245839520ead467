package dynamocatalog

import (
	"context"
	"time"

	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

// MaxAttempts is how often a request is sent.
const MaxAttempts = wire.MaxAttempts

// Refusal is an error by an exception of DynamoDB, with the reasons of a cancelled
// transaction.
func Refusal(exception string, reasons ...string) error {
	return &wire.Error{Code: exception, Reasons: reasons}
}

// MaxReads is how often what was read in part is read again.
const MaxReads = maxReads

// Conflicted says whether a listing has changed since it was read.
var Conflicted = conflicted

// Fill makes a listing what it would be after many puts.
func (c *Catalog) Fill(ctx context.Context, a registry.Address, revision int, listing registry.Listing) error {
	return c.replaceListing(ctx, layout.Partition(a), revision, listing)
}

// SetClock replaces the clock.
func (a *Access) SetClock(now func() time.Time) { a.now = now }

// SetPage makes pages of tokens shorter.
func (a *Access) SetPage(size int) { a.page = size }
