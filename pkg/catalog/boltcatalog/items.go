package boltcatalog

import (
	"encoding/json"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
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
