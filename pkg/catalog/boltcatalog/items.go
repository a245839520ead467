package boltcatalog

import (
	"encoding/json"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

func listingKey(partition string) []byte { return []byte(partition + " " + layout.Listing) }

func versionKey(partition string, v registry.Version) []byte {
	return []byte(partition + " " + layout.Version(v))
}

func decodeListing(value []byte) (registry.Listing, error) {
	listing, err := layout.DecodeListing(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return listing, nil
}

func decodeState[T any](value []byte) (T, error) {
	var state T
	if err := json.Unmarshal(value, &state); err != nil {
		return state, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return state, nil
}

// revisionOf is that of a stored state, and 0 where there is none.
func revisionOf(value []byte) (int, error) {
	if value == nil {
		return 0, nil
	}
	state, err := decodeState[struct{ Revision int }](value)
	return state.Revision, err
}

// getListing is empty where nothing is listed.
func getListing(items *bbolt.Bucket, key []byte) (registry.Listing, error) {
	value := items.Get(key)
	if value == nil {
		return nil, nil
	}
	return decodeListing(value)
}

// putListing removes a listing that is empty: nothing is published any more.
func putListing(items *bbolt.Bucket, key []byte, listing registry.Listing) error {
	if len(listing) == 0 {
		return items.Delete(key)
	}
	value, err := layout.EncodeListing(listing)
	if err != nil {
		return err
	}
	return items.Put(key, value)
}
