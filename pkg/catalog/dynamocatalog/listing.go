package dynamocatalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// chunkSize is the most data that one item has of a listing, in bytes.
	chunkSize = 300 << 10

	// maxChunks is how many chunks one Query reads: up to 1 MiB.
	maxChunks = 3

	// maxMerges is how often a writer tries to merge an entry into a listing that
	// others change. The last of a hundred writers at once needs some twenty.
	maxMerges = 60

	// maxReads is how often a read is tried that finds a listing mixed or keys unprocessed.
	maxReads = 6
)

// stored is a listing as it is stored, with its revision, which counts from 1.
type stored struct {
	data     []byte // of all chunks, see decompress
	revision int
}

// decodedListing reads a listing, with its revision. Both are zero if there is none.
func (c *Catalog) decodedListing(ctx context.Context, partition string, consistent bool) (listing registry.Listing, revision int, err error) {
	s, err := c.readListing(ctx, partition, consistent)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	listing, err = decodeListing(s.data)
	return listing, s.revision, err
}

// readListing reads a listing. That takes one request, unless the listing has several
// chunks and is being replaced at that moment.
func (c *Catalog) readListing(ctx context.Context, partition string, consistent bool) (stored, error) {
	for failures := range maxReads {
		if err := wire.Pause(ctx, failures); err != nil {
			return stored{}, err
		}
		items, err := c.queryListing(ctx, partition, consistent || failures > 0)
		if err != nil {
			return stored{}, err
		}
		if s, err := join(items); !errors.Is(err, errMixed) {
			return s, err
		}
	}
	return stored{}, fmt.Errorf("%w, %d times: %w", errMixed, maxReads, errForeign)
}

func (c *Catalog) queryListing(ctx context.Context, partition string, consistent bool) ([]wire.Item, error) {
	page, err := c.client.Query(ctx, wire.Query{
		Table:      c.name,
		Condition:  PartitionKey + " = :partition AND begins_with(" + SortKey + ", :list)",
		Values:     wire.Item{wire.Text(":partition", partition), wire.Text(":list", layout.Listing)},
		Consistent: consistent,
	})
	return page.Items, err
}

// errMixed says that a listing was read while it was being replaced.
var errMixed = errors.New("the chunks of the listing are of different revisions")

// join puts the chunks of a listing together, in the order of SK, or returns errMixed.
// There may be more items than chunks, from when the listing was longer.
func join(items []wire.Item) (stored, error) {
	if len(items) == 0 {
		return stored{}, registry.ErrNotFound
	}
	count, revision := items[0].Number(chunksAttribute), items[0].Number(revisionAttribute)
	if items[0].Text(SortKey) != chunkName(0) || count < 1 || revision < 1 {
		return stored{}, errForeign
	}
	if count > len(items) {
		return stored{}, errMixed
	}
	var data []byte
	for n, i := range items[:count] {
		if i.Text(SortKey) != chunkName(n) || i.Number(revisionAttribute) != revision {
			return stored{}, errMixed
		}
		if n > 0 {
			data = append(data, newline...)
		}
		data = append(data, i.Base64(dataAttribute)...)
	}
	return stored{data, revision}, nil
}

// chunkName names the item of a chunk. Names sort as their numbers do.
func chunkName(n int) string {
	if n == 0 {
		return layout.Listing
	}
	return fmt.Sprintf("%s#%d", layout.Listing, n)
}

func decodeListing(data []byte) (registry.Listing, error) {
	document, err := decompress(data)
	if err != nil {
		return nil, err
	}
	listing, err := layout.DecodeListing(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	return listing, nil
}

// addEntry adds an entry to a listing, which may not exist yet.
func (c *Catalog) addEntry(ctx context.Context, partition string, entry registry.Listed) error {
	for failures := range maxMerges {
		if err := wire.Pause(ctx, failures); err != nil {
			return err
		}
		listing, revision, err := c.decodedListing(ctx, partition, true)
		if err != nil {
			return err
		}
		listing, changed := listing.With(entry)
		if !changed {
			return nil
		}
		if err := c.replaceListing(ctx, partition, revision, listing); !conflicted(err) {
			return err
		}
	}
	return errBusy
}

// replaceListing replaces the listing of a revision, or creates it if that is 0. The
// error is a conflict if the listing has another revision by now.
func (c *Catalog) replaceListing(ctx context.Context, partition string, revision int, listing registry.Listing) error {
	puts, err := c.listingPuts(partition, revision, listing)
	if err != nil {
		return err
	}
	return c.putAll(ctx, puts)
}

// listingPuts are the puts of a listing's chunks that replace the listing of a revision,
// or create it if that is 0.
func (c *Catalog) listingPuts(partition string, revision int, listing registry.Listing) ([]wire.Put, error) {
	document, err := layout.EncodeListing(listing)
	if err != nil {
		return nil, err
	}
	data, err := compress(document)
	if err != nil {
		return nil, fmt.Errorf("%w: the listing of %d versions is too long: %w", catalog.ErrNoRoom, len(listing), err)
	}
	if len(data) > maxChunks*chunkSize {
		return nil, fmt.Errorf("%w: the listing of %d versions is too long: it has %d bytes, and there is room for %d", catalog.ErrNoRoom, len(listing), len(data), maxChunks*chunkSize)
	}
	chunks := slices.Collect(slices.Chunk(data, chunkSize))
	puts := make([]wire.Put, len(chunks))
	for n, chunk := range chunks {
		puts[n] = wire.Put{Table: c.name, Item: newItem(partition, chunkName(n), revision+1, chunk)}
	}
	first := &puts[0]
	first.Item = append(first.Item, wire.Number(chunksAttribute, len(chunks)))
	first.Condition, first.Values = revisionIs(revision)
	return puts, nil
}

// putAll sends one put as a plain request, since a transaction costs twice as much.
func (c *Catalog) putAll(ctx context.Context, puts []wire.Put) error {
	if len(puts) == 1 {
		return c.client.PutItem(ctx, puts[0])
	}
	return c.transact(ctx, nil, puts)
}

// transact makes all of some writes and puts, or nothing.
func (c *Catalog) transact(ctx context.Context, writes []wire.Write, puts []wire.Put) error {
	for _, put := range puts {
		writes = append(writes, wire.Write{Put: &put})
	}
	return c.client.TransactWriteItems(ctx, writes)
}
