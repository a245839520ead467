package catalog

import (
	"context"

	"github.com/larder-registry/larder/pkg/registry"
)

// Snapshot is a listing or a state as a catalog had it at one moment. It is decoded only
// when somebody asks for that, into a T: a *[registry.Listing] or a [registry.State].
// What it holds never changes.
type Snapshot[T any] struct {
	stored []byte
	decode func(stored []byte, into T) error
}

// NewSnapshot is what a driver has read. Nobody may change the stored bytes any more. They
// may be kept for long: so they must not be a small part of something large.
func NewSnapshot[T any](stored []byte, decode func(stored []byte, into T) error) Snapshot[T] {
	return Snapshot[T]{stored, decode}
}

// Stored is the content as the driver stores it. If two snapshots of one address or
// version, from one catalog, have equal bytes, then they have the same content. The bytes
// mean nothing else to callers, who must not change them.
func (s Snapshot[T]) Stored() []byte { return s.stored }

// Decode fills an empty listing, or a state that has only its subject. It shares no memory
// with the snapshot. After an error the listing or state must not be used.
//
// Errors: [registry.ErrNotFound] for a listing that has become empty; [ErrOtherBuild] for
// a version that was read by a [Reader].
func (s Snapshot[T]) Decode(into T) error { return s.decode(s.stored, into) }

// Listing reads a listing, and decodes it at once.
//
// Errors: [registry.ErrNotFound] when there is none.
func Listing(ctx context.Context, c Catalog, a registry.Address) (registry.Listing, error) {
	snapshot, err := c.Listing(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	var listing registry.Listing
	if err := snapshot.Decode(&listing); err != nil {
		return nil, err
	}
	return listing, nil
}

// Load fills a state that has only its subject.
//
// Errors: [registry.ErrNotFound] when the version is not published; the state is as it was.
// After any other error the state must not be used.
func Load(ctx context.Context, c Catalog, s registry.State) error {
	snapshot, err := c.State(ctx, s.Subject(), nil)
	if err != nil {
		return err
	}
	return snapshot.Decode(s)
}

// onlyBuild is the snapshot of a version that was asked for with its build metadata.
func onlyBuild[S registry.State](v registry.Version, found Snapshot[registry.State]) Snapshot[S] {
	return NewSnapshot(found.stored, func(stored []byte, into S) error {
		if err := found.decode(stored, into); err != nil {
			return err
		}
		if into.Subject().Version != v {
			return ErrOtherBuild
		}
		return nil
	})
}
