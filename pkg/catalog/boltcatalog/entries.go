package boltcatalog

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"go.etcd.io/bbolt"
)

// Entries implements [catalog.Index]. A partition is read in a transaction of its own,
// which ends before its entries are yielded: a caller that writes to the catalog
// within one could wait for itself.
func (c *Catalog) Entries(ctx context.Context, after string) iter.Seq2[catalog.Entry, error] {
	return func(yield func(catalog.Entry, error) bool) {
		at, err := layout.ParseCursor(after)
		for err == nil {
			var contents layout.Contents
			if contents, err = c.contents(ctx, at); err != nil || contents.Partition == "" {
				break
			}
			for entry, err := range contents.Entries() {
				if !yield(entry, err) {
					return
				}
			}
			at = contents.End()
		}
		if err != nil {
			yield(catalog.Entry{}, fmt.Errorf("walk through the catalog: %w", err))
		}
	}
}

// contents is the rest of a cursor's partition, or else the next partition. Its name is
// empty after the last one.
func (c *Catalog) contents(ctx context.Context, at layout.Cursor) (contents layout.Contents, err error) {
	if err := ctx.Err(); err != nil {
		return contents, err
	}
	err = view(c.db, func(tx *bbolt.Tx) error {
		contents = collect(tx.Bucket(itemsBucket).Cursor(), at)
		return nil
	})
	return contents, err
}

func collect(items *bbolt.Cursor, at layout.Cursor) layout.Contents {
	start := at.Partition + " "
	if at.AtEnd() {
		start = at.Partition + "!" // comes right after the space
	}
	key, value := items.Seek([]byte(start))
	partition, _, _ := strings.Cut(string(key), " ")
	contents := layout.Contents{Partition: partition, States: map[string]layout.State{}}
	if partition == at.Partition {
		contents.After = at.Name
	}
	for ; key != nil; key, value = items.Next() {
		name, ok := strings.CutPrefix(string(key), partition+" ")
		if !ok {
			break
		}
		if name == layout.Listing {
			contents.Listing, contents.Err = decodeListing(value)
			continue
		}
		revision, err := revisionOf(value)
		contents.States[name] = layout.State{Revision: revision, Err: err}
	}
	return contents
}
