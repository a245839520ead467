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

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// Catalog answers from an index over all records. Implementations are safe for
// concurrent use. Each question is one request to where the catalog is.
//
// A lookup, where there is one, is of a token that is looked up in the same request. It
// has its token when the question is answered, or answered by [registry.ErrNotFound];
// that is also the answer where [access.Lookup.Found] says that none is wanted. A
// catalog that has no tokens finds none.
type Catalog interface {
	// Listing is every version of a module or provider that is listed.
	//
	// Errors: [registry.ErrNotFound] when there is none.
	Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (registry.Listing, error)

	// Load fills the state of a version, of which nothing is known but its subject:
	// it is found by [registry.Version.Key]. It may have packages that cannot be
	// served yet. After an error the state is good for nothing, unless it is that
	// one.
	//
	// Errors: [registry.ErrNotFound] when the version is not published; the state
	// is as it was.
	Load(ctx context.Context, s registry.State, lookup *access.Lookup) error
}

// Index is the catalog as its one writer sees it. A state is stored only where
// the catalog has none, or one of a lower revision; storing it also brings the
// listing up to it. So the order in which states arrive does not matter, nor
// how often they do.
type Index interface {
	Catalog

	// Put stores a state and lists the version, if it is to be listed. When it
	// returns nil, both are durable, here or by a newer state's writer.
	Put(ctx context.Context, s registry.State) error

	// Replace stores a state whatever the revisions of the catalog's are, and
	// lists the version as it says, or not any more, where both are still those
	// that were seen. Both change at once, or nothing does.
	//
	// Errors: [ErrChanged].
	Replace(ctx context.Context, s registry.State, seen Seen) error

	// Remove removes a version's state and its entry in the listing, where both
	// are still those that were seen. Both go at once, or nothing does. What is
	// not there can be removed.
	//
	// Errors: [ErrChanged].
	Remove(ctx context.Context, version registry.Subject, seen Seen) error

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
}
