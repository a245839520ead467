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

// ReplaceModuleVersion implements [catalog.Index].
func (c *Catalog) ReplaceModuleVersion(ctx context.Context, m registry.ModuleVersion, seen catalog.Seen) error {
	return c.replace(ctx, change{layout.Partition(m.Address), m, m.Listed(), true}, seen)
}

// ReplaceProviderVersion implements [catalog.Index].
func (c *Catalog) ReplaceProviderVersion(ctx context.Context, p registry.ProviderVersion, seen catalog.Seen) error {
	entry := p.Listed()
	return c.replace(ctx, change{layout.Partition(p.Address), p, entry, len(entry.Platforms) > 0}, seen)
}

// RemoveModuleVersion implements [catalog.Index].
func (c *Catalog) RemoveModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version, seen catalog.Seen) error {
	return c.correct(ctx, correction{partition: layout.Partition(a), version: v, seen: seen})
}

// RemoveProviderVersion implements [catalog.Index].
func (c *Catalog) RemoveProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version, seen catalog.Seen) error {
	return c.correct(ctx, correction{partition: layout.Partition(a), version: v, seen: seen})
}

// correction is what a version is to be, where it is still as it was seen.
type correction struct {
	partition string
	version   registry.Version
	seen      catalog.Seen
	state     []byte           // nil for none
	entry     *registry.Listed // nil for none
}

func (c *Catalog) replace(ctx context.Context, ch change, seen catalog.Seen) error {
	state, err := json.Marshal(ch.state)
	if err != nil {
		return fmt.Errorf("correct version %s of %s in the catalog: %w", ch.entry.Version, ch.partition, err)
	}
	fix := correction{partition: ch.partition, version: ch.entry.Version, seen: seen, state: state}
	if ch.list {
		fix.entry = &ch.entry
	}
	return c.correct(ctx, fix)
}

func (c *Catalog) correct(ctx context.Context, fix correction) error {
	err := ctx.Err()
	if err == nil {
		err = c.db.Update(func(tx *bbolt.Tx) error { return fix.apply(tx.Bucket(itemsBucket)) })
	}
	if err != nil {
		return fmt.Errorf("correct version %s of %s in the catalog: %w", fix.version, fix.partition, err)
	}
	return nil
}

func (fix correction) apply(items *bbolt.Bucket) error {
	listingKey, key := listingKey(fix.partition), versionKey(fix.partition, fix.version)
	revision, err := revisionOf(items.Get(key))
	if err != nil {
		return err
	}
	listing, err := getListing(items, listingKey)
	if err != nil {
		return err
	}
	if fix.seen != (catalog.Seen{State: revision, Listed: listing.Entry(fix.version).Revision}) {
		return catalog.ErrChanged
	}
	listing, _ = listing.Without(fix.version)
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
