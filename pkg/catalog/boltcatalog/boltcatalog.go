// Package boltcatalog keeps what a single node knows beside its bucket, in two
// files. That of the [Catalog] is an index and nothing else: removed while nobody
// uses it, it is built again from the records in the bucket. That of [Access] is
// the only place of the node's tokens and rules.
//
// # Layout of the catalog
//
// The bolt bucket "items" has one item for a module's or provider's listing and
// one for each of its versions, under keys that no other address can have:
//
//	M#<namespace>/<name>/<system> LIST            M#acme/vpc/aws LIST
//	M#<namespace>/<name>/<system> V#<version>     M#acme/vpc/aws V#1.2.3
//	P#<namespace>/<type> LIST                     P#acme/widget LIST
//	P#<namespace>/<type> V#<version>              P#acme/widget V#1.0.0-rc.1
//
// The version is without build metadata. Every question is answered from one
// item, and a version and its listing change in one transaction. All items are
// JSON; a listing has each set of platforms once, which makes 400 versions for
// 12 platforms 17 kB instead of 96 kB.
//
// # Layout of tokens, rules and tickets
//
// Each has a bolt bucket of its own:
//
//	tokens     <id in hex>    JSON
//	rules      <name>         JSON
//	tickets    <id in hex>    when it expires (milliseconds since 1970, 8 bytes, big-endian), and its data
//
// In both files the bolt bucket "meta" has the item "format", which names the
// layout.
package boltcatalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

var itemsBucket = []byte("items")

// advice is what to do about a catalog that cannot be used, whatever the reason.
const advice = "stop larder, remove the file and start larder again, which builds it anew from the bucket; nothing is lost"

var (
	errDamaged = errors.New("the catalog is damaged; " + advice)

	catalogFile = kind{
		name:    "catalog",
		format:  "larder catalog 1",
		buckets: []bucket{{itemsBucket, json.Valid}},
		damaged: errDamaged,
		foreign: errors.New("the file is no catalog of this version of larder; " + advice),
	}
)

// Catalog is a [catalog.Index] in a file.
type Catalog struct{ db *bbolt.DB }

var _ catalog.Index = (*Catalog)(nil)

// ModuleVersions implements [catalog.Catalog].
func (c *Catalog) ModuleVersions(ctx context.Context, a registry.ModuleAddress) (registry.Listing, error) {
	return get(ctx, c, listingKey(layout.Partition(a)), decodeListing)
}

// ModuleVersion implements [catalog.Catalog].
func (c *Catalog) ModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error) {
	return get(ctx, c, versionKey(layout.Partition(a), v), decodeState[registry.ModuleVersion])
}

// ProviderVersions implements [catalog.Catalog].
func (c *Catalog) ProviderVersions(ctx context.Context, a registry.ProviderAddress) (registry.Listing, error) {
	return get(ctx, c, listingKey(layout.Partition(a)), decodeListing)
}

// ProviderVersion implements [catalog.Catalog].
func (c *Catalog) ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	return get(ctx, c, versionKey(layout.Partition(a), v), decodeState[registry.ProviderVersion])
}

// PutModuleVersion implements [catalog.Index].
func (c *Catalog) PutModuleVersion(ctx context.Context, m registry.ModuleVersion) error {
	return c.put(ctx, change{layout.Partition(m.Address), m, m.Listed(), true})
}

// PutProviderVersion implements [catalog.Index].
func (c *Catalog) PutProviderVersion(ctx context.Context, p registry.ProviderVersion) error {
	entry := p.Listed()
	return c.put(ctx, change{layout.Partition(p.Address), p, entry, len(entry.Platforms) > 0})
}

// get reads one item. What decode returns may not refer to the value.
func get[T any](ctx context.Context, c *Catalog, key []byte, decode func(value []byte) (T, error)) (T, error) {
	var item T
	if err := ctx.Err(); err != nil {
		return item, fmt.Errorf("read %q in the catalog: %w", key, err)
	}
	err := c.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(itemsBucket).Get(key)
		if value == nil {
			return registry.ErrNotFound
		}
		var err error
		item, err = decode(value)
		return err
	})
	if err != nil {
		return item, fmt.Errorf("read %q in the catalog: %w", key, err)
	}
	return item, nil
}

// change is a state to store, and its entry in the listing.
type change struct {
	partition string
	state     any
	entry     registry.Listed
	list      bool
}

// errKnown rolls a transaction back that would change nothing.
var errKnown = errors.New("a state of this revision or a higher one is stored")

func (c *Catalog) put(ctx context.Context, ch change) error {
	err := ctx.Err()
	if err == nil {
		err = c.db.Update(func(tx *bbolt.Tx) error { return store(tx.Bucket(itemsBucket), ch) })
	}
	if err != nil && !errors.Is(err, errKnown) {
		return fmt.Errorf("write version %s of %s to the catalog: %w", ch.entry.Version, ch.partition, err)
	}
	return nil
}

// store puts a state and its entry in the listing, or returns errKnown: then
// the listing is up to the state, too.
func store(items *bbolt.Bucket, ch change) error {
	key := versionKey(ch.partition, ch.entry.Version)
	known, err := revisionOf(items.Get(key))
	if err != nil {
		return err
	}
	if known >= ch.entry.Revision {
		return errKnown
	}
	state, err := json.Marshal(ch.state)
	if err != nil {
		return err
	}
	if err := items.Put(key, state); err != nil || !ch.list {
		return err
	}
	return enter(items, listingKey(ch.partition), ch.entry)
}

// enter brings an entry into a listing, which may not exist yet.
func enter(items *bbolt.Bucket, key []byte, entry registry.Listed) error {
	listing, err := getListing(items, key)
	if err != nil {
		return err
	}
	listing, _ = listing.With(entry)
	return putListing(items, key, listing)
}
