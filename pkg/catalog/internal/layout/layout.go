// Package layout is what the drivers of the catalog agree on: the names of
// partitions and of the items in them, the stored form of a listing, and the
// order in which versions are walked through.
package layout

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/registry"
)

// Listing is the name of the item that lists a module or provider.
const Listing = "LIST"

// The prefixes of the partitions of modules, of providers and of mirrored providers.
const (
	Modules   = "M#"
	Providers = "P#"
	Mirror    = "R#"
)

var prefixes = map[registry.Folder]string{registry.Modules: Modules, registry.Providers: Providers, registry.Mirror: Mirror}

// Partition is the name of the partition of a module or provider. No other address has it.
func Partition(a registry.Address) string { return prefixes[a.Folder()] + a.String() }

// Version is the name of the item with the state of a version.
func Version(v registry.Version) string { return versionPrefix + v.Key() }

const versionPrefix = "V#"

// storedListing is a listing with each set of protocols and platforms once, and each
// source once: most versions of one address have the same.
type storedListing struct {
	Sets     []offered       `json:"sets"`
	Sources  []string        `json:"sources,omitempty"`
	Versions []storedVersion `json:"versions"`
}

// offered is what a version can be installed for.
type offered struct {
	Protocols []string            `json:"protocols,omitempty"`
	Platforms []registry.Platform `json:"platforms,omitempty"`
}

type storedVersion struct {
	Version  registry.Version  `json:"version"`
	Revision int               `json:"revision"`
	Set      int               `json:"set"` // index in Sets
	Standing registry.Standing `json:"standing,omitzero"`
	Source   int               `json:"source,omitempty"` // number in Sources, counted from 1; 0 without one
}

// EncodeListing is the stored form of a listing, in JSON.
func EncodeListing(listing registry.Listing) ([]byte, error) {
	var stored storedListing
	numbers := map[string]int{} // of sources
	for _, entry := range listing {
		set := slices.IndexFunc(stored.Sets, func(o offered) bool {
			return slices.Equal(o.Protocols, entry.Protocols) && slices.Equal(o.Platforms, entry.Platforms)
		})
		if set < 0 {
			set = len(stored.Sets)
			stored.Sets = append(stored.Sets, offered{entry.Protocols, entry.Platforms})
		}
		version := storedVersion{entry.Version, entry.Revision, set, entry.Standing, 0}
		if entry.Source != "" {
			if numbers[entry.Source] == 0 {
				stored.Sources = append(stored.Sources, entry.Source)
				numbers[entry.Source] = len(stored.Sources)
			}
			version.Source = numbers[entry.Source]
		}
		stored.Versions = append(stored.Versions, version)
	}
	return json.Marshal(stored)
}

// DecodeListing reads the stored form. Entries share slices, but their capacity is
// their length, so that append copies them.
func DecodeListing(value []byte) (registry.Listing, error) {
	stored, ok := scanListing(value)
	if !ok {
		stored = storedListing{}
		if err := json.Unmarshal(value, &stored); err != nil {
			return nil, err
		}
	}
	listing := make(registry.Listing, 0, len(stored.Versions))
	for _, v := range stored.Versions {
		if v.Set < 0 || v.Set >= len(stored.Sets) {
			return nil, fmt.Errorf("version %s refers to set %d of %d", v.Version, v.Set, len(stored.Sets))
		}
		set := stored.Sets[v.Set]
		var source string
		if v.Source != 0 {
			if v.Source < 0 || v.Source > len(stored.Sources) {
				return nil, fmt.Errorf("version %s refers to source %d of %d", v.Version, v.Source, len(stored.Sources))
			}
			source = stored.Sources[v.Source-1]
		}
		listing = append(listing, registry.Listed{
			Version:   v.Version,
			Revision:  v.Revision,
			Protocols: slices.Clip(set.Protocols),
			Platforms: slices.Clip(set.Platforms),
			Standing:  v.Standing,
			Source:    source,
		})
	}
	return listing, nil
}
