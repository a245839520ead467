package publish

import (
	"context"
	"iter"

	"github.com/larder-registry/larder/pkg/registry"
)

// Index is the catalog as its one writer sees it. A state is stored only where
// the catalog has none, or one of a lower revision; storing it also brings the
// listing up to it. So the order in which states arrive does not matter, nor
// how often they do.
type Index interface {
	registry.Catalog

	// PutModuleVersion stores a state and lists the version. When it
	// returns nil, both are durable, here or by a newer state's writer.
	PutModuleVersion(ctx context.Context, m registry.ModuleVersion) error

	// PutProviderVersion stores a state and lists the version, unless
	// nothing of it can be served yet. When it returns nil, both are
	// durable, here or by a newer state's writer.
	PutProviderVersion(ctx context.Context, p registry.ProviderVersion) error

	// Entries is every version that the catalog has a state of, or lists,
	// after the entry of a cursor: after the empty one come all. Their order
	// is the catalog's own, and stays the same: who goes on after a cursor
	// meets all that was there the whole time, once. What others write
	// meanwhile is met or not. The catalog can be written to while it is
	// walked through.
	//
	// With what cannot be read it yields an error and as much of the entry
	// as is known, and goes on: of a listing, its address, instead of all
	// its versions. With an error of the whole, it yields an entry without
	// a Cursor, and ends.
	Entries(ctx context.Context, after string) iter.Seq2[registry.Entry, error]

	// ReplaceModuleVersion stores a state whatever the revisions of the
	// catalog's are, and lists the version as it says, where both are still
	// those that were seen. Both change at once, or nothing does.
	//
	// Errors: [registry.ErrChanged].
	ReplaceModuleVersion(ctx context.Context, m registry.ModuleVersion, seen registry.Seen) error

	// ReplaceProviderVersion is ReplaceModuleVersion for providers. A
	// version of which nothing can be served is not listed any more.
	//
	// Errors: [registry.ErrChanged].
	ReplaceProviderVersion(ctx context.Context, p registry.ProviderVersion, seen registry.Seen) error

	// RemoveModuleVersion removes a version's state and its entry in the
	// listing, where both are still those that were seen. Both go at once,
	// or nothing does. What is not there can be removed.
	//
	// Errors: [registry.ErrChanged].
	RemoveModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version, seen registry.Seen) error

	// RemoveProviderVersion is RemoveModuleVersion for providers.
	//
	// Errors: [registry.ErrChanged].
	RemoveProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version, seen registry.Seen) error
}
