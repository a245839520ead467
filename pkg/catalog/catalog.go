// Package catalog is the contract of the index from which everything is answered: a
// catalog as readers see it, and as its one writer does. [Reader] stands between it and
// whoever asks. The drivers stand beside this package, and package catalogtest has the
// suite that each of them passes.
//
// A catalog stores states and listings by revision, a newer one always replacing an
// older one, and can be built again from the records in the bucket.
package catalog

import (
	"context"
	"iter"

	"github.com/larder-registry/larder/pkg/registry"
)

// Catalog answers from an index over all records. Implementations are safe for
// concurrent use.
type Catalog interface {
	// ModuleVersions lists a module.
	//
	// Errors: [registry.ErrNotFound] when nothing of it is published.
	ModuleVersions(ctx context.Context, a registry.ModuleAddress) (registry.Listing, error)

	// ModuleVersion is one version of a module, found by [registry.Version.Key].
	//
	// Errors: [registry.ErrNotFound] when it is not published.
	ModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error)

	// ProviderVersions lists a provider.
	//
	// Errors: [registry.ErrNotFound] when nothing of it is published.
	ProviderVersions(ctx context.Context, a registry.ProviderAddress) (registry.Listing, error)

	// ProviderVersion is one version of a provider, found by [registry.Version.Key].
	// It may have packages that cannot be served yet.
	//
	// Errors: [registry.ErrNotFound] when it is not published.
	ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error)
}

// Index is the catalog as its one writer sees it. A state is stored only where
// the catalog has none, or one of a lower revision; storing it also brings the
// listing up to it. So the order in which states arrive does not matter, nor
// how often they do.
type Index interface {
	Catalog

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
	Entries(ctx context.Context, after string) iter.Seq2[Entry, error]

	// ReplaceModuleVersion stores a state whatever the revisions of the
	// catalog's are, and lists the version as it says, where both are still
	// those that were seen. Both change at once, or nothing does.
	//
	// Errors: [ErrChanged].
	ReplaceModuleVersion(ctx context.Context, m registry.ModuleVersion, seen Seen) error

	// ReplaceProviderVersion is ReplaceModuleVersion for providers. A
	// version of which nothing can be served is not listed any more.
	//
	// Errors: [ErrChanged].
	ReplaceProviderVersion(ctx context.Context, p registry.ProviderVersion, seen Seen) error

	// RemoveModuleVersion removes a version's state and its entry in the
	// listing, where both are still those that were seen. Both go at once,
	// or nothing does. What is not there can be removed.
	//
	// Errors: [ErrChanged].
	RemoveModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version, seen Seen) error

	// RemoveProviderVersion is RemoveModuleVersion for providers.
	//
	// Errors: [ErrChanged].
	RemoveProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version, seen Seen) error
}
