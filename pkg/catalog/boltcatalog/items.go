package boltcatalog

import (
	"encoding/json"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

func listingKey(a registry.Address) string {
	return layout.Partition(a) + " " + layout.Listing
}

func versionKey(version registry.Subject) string {
	return layout.Partition(version.Address) + " " + layout.Version(version.Version)
}

func decodeListing(value []byte) (registry.Listing, error) {
	listing, err := layout.DecodeListing(value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return listing, nil
}

func decodeState(value []byte, state any) error {
	if err := json.Unmarshal(value, state); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// revisionOf is the revision of a stored state, and 0 without one.
func revisionOf(value []byte) (int, error) {
	if value == nil {
		return 0, nil
	}
	var state struct{ Revision int }
	err := decodeState(value, &state)
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

// putListing removes an empty listing.
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
