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

// ParseCursor reads the cursor of an entry. The empty one is the zero Cursor.
func ParseCursor(text string) (Cursor, error) {
	partition, name, ok := strings.Cut(text, " ")
	_, known := parsePartition(partition)
	if text != "" && (!ok || !known || name == "") {
		return Cursor{}, fmt.Errorf("%q is not a cursor of the catalog", text)
	}
	return Cursor{partition, name}, nil
}

// String is the cursor of an entry.
func (c Cursor) String() string { return c.Partition + " " + c.Name }

// AtEnd says that nothing more of the partition is to come.
func (c Cursor) AtEnd() bool { return c.Name == end }

// Contents is what a walk finds of one partition.
type Contents struct {
	Partition string
	After     string           // the item after which the walk goes on; empty for all of them
	States    map[string]State // by the item's name
	Listing   registry.Listing
	Err       error // why the listing cannot be read
}

// State is as much of a state as a walk reads.
type State struct {
	Revision int
	Err      error // why it cannot be read
}

// End is the cursor after all of the partition.
func (c Contents) End() Cursor { return Cursor{c.Partition, end} }

// Entries is the versions in the partition, in the order of their items' names.
// Partitions and items that are named as none of the catalog are passed over:
// nobody can ask for them.
func (c Contents) Entries() iter.Seq2[catalog.Entry, error] {
	return func(yield func(catalog.Entry, error) bool) {
		address, ok := parsePartition(c.Partition)
		entry := catalog.Entry{Subject: registry.Subject{Address: address}}
		if ok && c.Err != nil {
			entry.Cursor = c.End().String()
			yield(entry, c.Err)
			return
		}
		for _, name := range c.names() {
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

// names are those of the items that are still to come: of states, and of such
// as the listing says there are.
func (c Contents) names() []string {
	names := slices.Collect(maps.Keys(c.States))
	for _, entry := range c.Listing {
		names = append(names, Version(entry.Version))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name <= c.After })
}

// parsePartition reads the name of a partition. It reports whether a module or
// provider has it.
func parsePartition(partition string) (registry.Address, bool) {
	for folder, prefix := range prefixes {
		if name, ok := strings.CutPrefix(partition, prefix); ok {
			a, err := registry.ParseAddress(folder, name)
			return a, err == nil && Partition(a) == partition
		}
	}
	return nil, false
}
