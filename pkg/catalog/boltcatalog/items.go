package boltcatalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/registry"
)

func modulePartition(a registry.ModuleAddress) string     { return "M#" + a.String() }
func providerPartition(a registry.ProviderAddress) string { return "P#" + a.String() }

func listingKey(partition string) []byte { return []byte(partition + " LIST") }

func versionKey(partition string, v registry.Version) []byte {
	return []byte(partition + " V#" + v.Key())
}

// storedListing is a listing with each set of protocols and platforms once:
// most versions of a provider have the same.
type storedListing struct {
	Sets     []offered       `json:"sets"`
	Versions []storedVersion `json:"versions"`
}

// offered is what a version can be installed for.
type offered struct {
	Protocols []string            `json:"protocols,omitempty"`
	Platforms []registry.Platform `json:"platforms,omitempty"`
}

type storedVersion struct {
	Version  registry.Version `json:"version"`
	Revision int              `json:"revision"`
	Set      int              `json:"set"` // index of what it offers
}

func encodeListing(listing registry.Listing) ([]byte, error) {
	var stored storedListing
	for _, entry := range listing {
		set := slices.IndexFunc(stored.Sets, func(o offered) bool {
			return slices.Equal(o.Protocols, entry.Protocols) && slices.Equal(o.Platforms, entry.Platforms)
		})
		if set < 0 {
			set = len(stored.Sets)
			stored.Sets = append(stored.Sets, offered{entry.Protocols, entry.Platforms})
		}
		stored.Versions = append(stored.Versions, storedVersion{entry.Version, entry.Revision, set})
	}
	return json.Marshal(stored)
}

// decodeListing returns entries that share their slices, whose capacity is
// their length: to append to one copies it.
func decodeListing(value []byte) (registry.Listing, error) {
	var stored storedListing
	if err := json.Unmarshal(value, &stored); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	listing := make(registry.Listing, 0, len(stored.Versions))
	for _, v := range stored.Versions {
		if v.Set < 0 || v.Set >= len(stored.Sets) {
			return nil, fmt.Errorf("%w: version %s refers to set %d of %d", errDamaged, v.Version, v.Set, len(stored.Sets))
		}
		set := stored.Sets[v.Set]
		listing = append(listing, registry.Listed{
			Version:   v.Version,
			Revision:  v.Revision,
			Protocols: slices.Clip(set.Protocols),
			Platforms: slices.Clip(set.Platforms),
		})
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
