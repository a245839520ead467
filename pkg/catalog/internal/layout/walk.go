package layout

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// end comes after the names of all items.
const end = "~"

// Cursor is where a walk is: at an item, or at the end of its partition. The
// zero Cursor is before all.
type Cursor struct{ Partition, Name string }

// ParseCursor reads the cursor of an entry. The empty text is the zero Cursor.
func ParseCursor(text string) (Cursor, error) {
	partition, name, ok := strings.Cut(text, " ")
	_, valid := parsePartition(partition)
	if text != "" && (!ok || !valid || name == "") {
		return Cursor{}, fmt.Errorf("%q is not a cursor of the catalog", text)
	}
	return Cursor{partition, name}, nil
}

// String is the cursor of an entry.
func (c Cursor) String() string { return c.Partition + " " + c.Name }

// AtEnd says whether the walk is through with the partition.
func (c Cursor) AtEnd() bool { return c.Name == end }

// Contents is what a walk reads of one partition.
type Contents struct {
	Partition string
	After     string           // the item after which the walk goes on; empty for all items
	States    map[string]State // by the item's name
	Listing   registry.Listing
	Err       error // why the listing cannot be read
}

// State is the part of a state that a walk reads.
type State struct {
	Revision int
	Err      error // why it cannot be read
}

// End is the cursor after all of the partition.
func (c Contents) End() Cursor { return Cursor{c.Partition, end} }

// Entries is the versions in the partition, in the order of their items' names. It skips
// partitions and items whose names are not the catalog's: nobody can ask for them.
func (c Contents) Entries() iter.Seq2[catalog.Entry, error] {
	return func(yield func(catalog.Entry, error) bool) {
		address, ok := parsePartition(c.Partition)
		entry := catalog.Entry{Subject: registry.Subject{Address: address}}
		if ok && c.Err != nil {
			entry.Cursor = c.End().String()
			yield(entry, c.Err)
			return
		}
		for _, name := range c.versionItems() {
			v, err := registry.ParseVersion(strings.TrimPrefix(name, versionPrefix))
			if !ok || err != nil || Version(v) != name {
				continue
			}
			state := c.States[name]
			entry.Cursor, entry.Subject.Version = Cursor{c.Partition, name}.String(), v
			entry.Seen = catalog.Seen{State: state.Revision, Listed: c.Listing.Find(v).Revision}
			if !yield(entry, state.Err) {
				return
			}
		}
	}
}

// versionItems has the names of the versions' items that come after After, of those that
// have a state and of those that are listed.
func (c Contents) versionItems() []string {
	names := slices.Collect(maps.Keys(c.States))
	for _, entry := range c.Listing {
		names = append(names, Version(entry.Version))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name <= c.After })
}

// parsePartition reads the name of a partition, and says whether it is one.
func parsePartition(partition string) (registry.Address, bool) {
	for folder, prefix := range prefixes {
		if name, ok := strings.CutPrefix(partition, prefix); ok {
			a, err := registry.ParseAddress(folder, name)
			return a, err == nil && Partition(a) == partition
		}
	}
	return nil, false
}
