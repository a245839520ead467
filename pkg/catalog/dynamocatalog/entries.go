package dynamocatalog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
)

// Entries implements [catalog.Index]. See the package's description for the order, and
// for what it costs.
func (c *Catalog) Entries(ctx context.Context, after string) iter.Seq2[catalog.Entry, error] {
	return func(yield func(catalog.Entry, error) bool) {
		for contents, err := range c.partitions(ctx, after) {
			if err == nil {
				err = c.addListing(ctx, &contents)
			}
			if err != nil {
				yield(catalog.Entry{}, fmt.Errorf("walk through the catalog: %w", c.explain(err)))
				return
			}
			for entry, err := range contents.Entries() {
				if !yield(entry, err) {
					return
				}
			}
		}
	}
}

// addListing reads the listing of a partition, which may have none.
func (c *Catalog) addListing(ctx context.Context, contents *layout.Contents) error {
	listing, _, err := c.decodedListing(ctx, contents.Partition, false)
	if errors.Is(err, errForeign) {
		contents.Err = fmt.Errorf("read the listing of %s in the catalog: %w", contents.Partition, err)
		return nil
	}
	contents.Listing = listing
	return err
}

// partitions is the states of each partition, beginning with the rest of the cursor's. A
// Scan returns the items of a partition one after the other, in the order of SK.
func (c *Catalog) partitions(ctx context.Context, after string) iter.Seq2[layout.Contents, error] {
	return func(yield func(layout.Contents, error) bool) {
		at, err := layout.ParseCursor(after)
		if err != nil {
			yield(layout.Contents{}, err)
			return
		}
		current := newContents(at.Partition, at.Name)
		if at.AtEnd() {
			current = newContents("", "")
		}
		for i, err := range c.scan(ctx, at) {
			if err != nil {
				yield(layout.Contents{}, err)
				return
			}
			if partition := i.Text(PartitionKey); partition != current.Partition {
				if current.Partition != "" && !yield(current, nil) {
					return
				}
				current = newContents(partition, "")
			}
			current.States[i.Text(SortKey)] = stateOf(i)
		}
		if current.Partition != "" {
			yield(current, nil)
		}
	}
}

func newContents(partition, after string) layout.Contents {
	return layout.Contents{Partition: partition, After: after, States: map[string]layout.State{}}
}

func stateOf(i wire.Item) layout.State {
	revision := i.Number(revisionAttribute)
	if revision < 1 {
		return layout.State{Err: fmt.Errorf("read %s of %s in the catalog: %w", i.Text(SortKey), i.Text(PartitionKey), errForeign)}
	}
	return layout.State{Revision: revision}
}

// scan is the keys and revisions of all items of modules and providers. It asks for no
// other attributes, since the table also holds tokens.
func (c *Catalog) scan(ctx context.Context, after layout.Cursor) iter.Seq2[wire.Item, error] {
	scan := wire.Scan{
		Table:      c.name,
		Projection: PartitionKey + ", " + SortKey + ", " + revisionAttribute,
		Filter:     "begins_with(" + PartitionKey + ", :module) OR begins_with(" + PartitionKey + ", :provider) OR begins_with(" + PartitionKey + ", :mirror)",
		Values:     wire.Item{wire.Text(":module", layout.Modules), wire.Text(":provider", layout.Providers), wire.Text(":mirror", layout.Mirror)},
	}
	if after.Partition != "" {
		scan.After = key(after.Partition, after.Name)
	}
	return pages(scan.After, func(after wire.Item) (wire.Page, error) {
		scan.After = after
		return c.client.Scan(ctx, scan)
	})
}

// pages is the items of all pages, each of which begins after a key; the first one after
// the key that is given.
func pages(after wire.Item, read func(after wire.Item) (wire.Page, error)) iter.Seq2[wire.Item, error] {
	return func(yield func(wire.Item, error) bool) {
		for after, more := after, true; more; {
			page, err := read(after)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, i := range page.Items {
				if !yield(i, nil) {
					return
				}
			}
			after, more = page.Last, page.Last != nil
		}
	}
}
