// Package catalog is the contract of the index from which everything is answered:
// [Catalog] for readers, and [Index] for the registry, which alone writes it. Requests reach it through a
// [Reader], which checks who asks. The drivers are in folders below this one, and
// package catalogtest has the suite that each of them passes.
//
// A catalog stores states and listings by revision, where a newer one always replaces an
// older one. It can be built again from the records in the bucket.
package catalog

import (
	"context"
	"iter"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// Catalog answers from an index over all records. Implementations are safe for
// concurrent use. Each call sends one request to the store, or two for
// a very long listing with a lookup. What it read is decoded by
// [Snapshot.Decode]; [Listing] and [Load] do both.
//
// A lookup, which may be nil, looks a token up in the same request. After the call it
// has the token, if the error is nil or [registry.ErrNotFound]. If
// [access.Lookup.Found] wants nothing else, the error is registry.ErrNotFound. A catalog
// without tokens finds no token.
type Catalog interface {
	// Listing is every version of a module or provider that is listed.
	//
	// Errors: [registry.ErrNotFound] when there is none. If a listing has become
	// empty, its Decode may return that error instead.
	Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (Snapshot[*registry.Listing], error)

	// State is the state of a version, which is found by [registry.Version.Key]. It
	// may have packages that cannot be served yet.
	//
	// Errors: [registry.ErrNotFound] when the version is not published.
	State(ctx context.Context, version registry.Subject, lookup *access.Lookup) (Snapshot[registry.State], error)
}

// Index is the catalog as its one writer sees it. A state is stored only if the catalog
// has no state of the version, or one of a lower revision. The listing is brought up to
// date with it. So states may arrive in any order, and more than once.
type Index interface {
	Catalog

	// Put stores a state, and lists the version if it is listable. When it returns
	// nil, both are durable, or those of a newer state are.
	Put(ctx context.Context, s registry.State) error

	// Replace stores a state of any revision, and lists the version, or removes it
	// from the listing, as the state says. It does so only if the catalog's state
	// and entry still have the revisions that were seen. Both change at once, or
	// nothing does.
	//
	// Errors: [ErrChanged].
	Replace(ctx context.Context, s registry.State, seen Seen) error

	// Remove removes a version's state and its entry in the listing, if both still
	// have the revisions that were seen. Both go at once, or nothing does. One of
	// them, or both, may be missing.
	//
	// Errors: [ErrChanged].
	Remove(ctx context.Context, version registry.Subject, seen Seen) error

	// Entries is every version that the catalog has a state of, or lists, after
	// the entry with a cursor; all of them after the empty cursor. The order is the
	// catalog's own, and stays the same. So a walk in parts yields everything that
	// was there the whole time, once. It may yield what others write meanwhile, or
	// not. The catalog can be written to during a walk.
	//
	// If an entry cannot be read, it is yielded with an error and as much of it as
	// is known, and the walk goes on. If a listing cannot be read, one entry with
	// its address is yielded, instead of all its versions. If the walk itself
	// fails, it yields an entry without a Cursor, and ends.
	Entries(ctx context.Context, after string) iter.Seq2[Entry, error]
}
