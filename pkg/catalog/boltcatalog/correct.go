package boltcatalog

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

// Replace implements [catalog.Index].
func (c *Catalog) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	fix := correction{version: s.Subject(), seen: seen}
	var err error
	if fix.state, err = json.Marshal(s); err != nil {
		return fix.failed(err)
	}
	if s.Listable() {
		entry := s.Listed()
		fix.entry = &entry
	}
	return c.correct(ctx, fix)
}

// Remove implements [catalog.Index].
func (c *Catalog) Remove(ctx context.Context, version registry.Subject, seen catalog.Seen) error {
	return c.correct(ctx, correction{version: version, seen: seen})
}

// correction is what a version shall be, if it is still as it was seen.
type correction struct {
	version registry.Subject
	seen    catalog.Seen
	state   []byte           // nil for none
	entry   *registry.Listed // nil for none
}

func (fix correction) failed(err error) error {
	return fmt.Errorf("correct version %s of %s in the catalog: %w", fix.version.Version, layout.Partition(fix.version.Address), err)
}

func (c *Catalog) correct(ctx context.Context, fix correction) error {
	err := ctx.Err()
	if err == nil {
		err = update(c.db, func(tx *bbolt.Tx) error { return fix.apply(tx.Bucket(itemsBucket)) })
	}
	if err != nil {
		return fix.failed(err)
	}
	return nil
}

func (fix correction) apply(items *bbolt.Bucket) error {
	listingKey, key := []byte(listingKey(fix.version.Address)), []byte(versionKey(fix.version))
	revision, err := revisionOf(items.Get(key))
	if err != nil {
		return err
	}
	listing, err := getListing(items, listingKey)
	if err != nil {
		return err
	}
	if fix.seen != (catalog.Seen{State: revision, Listed: listing.Find(fix.version.Version).Revision}) {
		return catalog.ErrChanged
	}
	listing, _ = listing.Without(fix.version.Version)
	if fix.entry != nil {
		listing, _ = listing.With(*fix.entry)
	}
	if err := putListing(items, listingKey, listing); err != nil {
		return err
	}
	if fix.state == nil {
		return items.Delete(key)
	}
	return items.Put(key, fix.state)
}
