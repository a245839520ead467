// Package boltcatalog keeps what a single node stores beside its bucket, in two
// files. The file of the [Catalog] is an index and nothing else: if it is removed
// while the node is stopped, it is built again from the records in the bucket. The
// file of [Access] is the only place of the node's tokens and rules.
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
// The bolt bucket "directory" has the directory of [catalog.Directory]. It is made with
// the first shard, since older files do not have it:
//
//	head           the revisions of all shards (8 bytes each, big-endian)
//	000 … 255      the revision of a shard (8 bytes, big-endian), and its data
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
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

var itemsBucket = []byte("items")

// advice is what to do about a catalog that cannot be used.
const advice = "stop larder, remove the file and start larder again, which builds it anew from the bucket; nothing is lost"

var (
	errDamaged = errors.New("the catalog is damaged; " + advice)

	catalogFile = kind{
		name:    "catalog",
		format:  "larder catalog 1",
		buckets: []bucket{{name: itemsBucket, valid: json.Valid}, {name: directoryBucket, valid: isDirectoryItem, later: true}},
		damaged: errDamaged,
		foreign: errors.New("the file is no catalog of this version of larder; " + advice),
	}
)

// Catalog is a [catalog.Index] in a file.
type Catalog struct {
	db     *bbolt.DB
	tokens *Access // or nil
	recent recent[[]byte]
	puts   *puts
}

var _ catalog.Index = (*Catalog)(nil)

// WithTokens is the same catalog, where lookups find the tokens of a.
func (c *Catalog) WithTokens(a *Access) *Catalog { return &Catalog{c.db, a, c.recent, c.puts} }

// Listing implements [catalog.Catalog].
func (c *Catalog) Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (catalog.Snapshot[*registry.Listing], error) {
	return read(ctx, c, listingKey(a), lookup, func(value []byte, into *registry.Listing) (err error) {
		*into, err = decodeListing(value)
		return err
	})
}

// State implements [catalog.Catalog].
func (c *Catalog) State(ctx context.Context, version registry.Subject, lookup *access.Lookup) (catalog.Snapshot[registry.State], error) {
	return read(ctx, c, versionKey(version), lookup, func(value []byte, into registry.State) error { return decodeState(value, into) })
}

// read looks a token up, if there is a lookup, and reads one item if the lookup wants
// that.
func read[T any](ctx context.Context, c *Catalog, key string, lookup *access.Lookup, decode func(value []byte, into T) error) (catalog.Snapshot[T], error) {
	var none catalog.Snapshot[T]
	if wanted, err := c.lookUp(ctx, lookup); err != nil || !wanted {
		return none, cmp.Or(err, registry.ErrNotFound)
	}
	value, err := c.value(ctx, key)
	if err != nil {
		return none, readFailed(key, err)
	}
	return catalog.NewSnapshot(value, func(value []byte, into T) error {
		if err := decode(value, into); err != nil {
			return readFailed(key, err)
		}
		return nil
	}), nil
}

func readFailed(key string, err error) error {
	return fmt.Errorf("read %q in the catalog: %w", key, err)
}

// value is a copy of an item's value, which may be kept for longer than the transaction.
func (c *Catalog) value(ctx context.Context, key string) (value []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = view(c.db, func(tx *bbolt.Tx) (err error) {
		value, err = c.recent.get(tx, itemsBucket, key, copied, registry.ErrNotFound)
		return err
	})
	return value, err
}

func copied(stored []byte) ([]byte, error) { return bytes.Clone(stored), nil }

// lookUp fills a lookup, if there is one, and says whether it wants anything else.
func (c *Catalog) lookUp(ctx context.Context, lookup *access.Lookup) (wanted bool, err error) {
	switch {
	case lookup == nil:
		return true, nil
	case c.tokens == nil:
		return lookup.Found(nil), nil
	}
	token, err := c.tokens.Token(ctx, lookup.ID)
	switch {
	case errors.Is(err, access.ErrNotFound):
		return lookup.Found(nil), nil
	case err != nil:
		return false, err
	}
	return lookup.Found(&token), nil
}

// errUpToDate rolls a transaction back that would change nothing.
var errUpToDate = errors.New("a state of this revision or a higher one is stored")

// Put implements [catalog.Index].
func (c *Catalog) Put(ctx context.Context, s registry.State) error {
	err := ctx.Err()
	if err == nil {
		err = c.puts.store(s)
	}
	if err != nil && !errors.Is(err, errUpToDate) {
		return fmt.Errorf("write version %s of %s to the catalog: %w", s.Subject().Version, layout.Partition(s.Subject().Address), err)
	}
	return nil
}

// store puts a state and its entry in the listing, or returns errUpToDate: then the
// listing is up to date, too.
func store(items *bbolt.Bucket, s registry.State) error {
	key, entry := []byte(versionKey(s.Subject())), s.Listed()
	stored, err := revisionOf(items.Get(key))
	if err != nil {
		return err
	}
	if stored >= entry.Revision {
		return errUpToDate
	}
	state, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := items.Put(key, state); err != nil || !s.Listable() {
		return err
	}
	return addEntry(items, []byte(listingKey(s.Subject().Address)), entry)
}

// addEntry adds an entry to a listing, which may not exist yet.
func addEntry(items *bbolt.Bucket, key []byte, entry registry.Listed) error {
	listing, err := getListing(items, key)
	if err != nil {
		return err
	}
	listing, _ = listing.With(entry)
	return putListing(items, key, listing)
}
