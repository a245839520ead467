package dynamocatalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/catalog"
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
	data     []byte // of all chunks
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
		if err := pause(ctx, failures); err != nil {
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

func (c *Catalog) queryListing(ctx context.Context, partition string, consistent bool) ([]item, error) {
	out, err := c.client.Query(ctx, &dynamodb.QueryInput{
		TableName:              &c.name,
		ConsistentRead:         &consistent,
		KeyConditionExpression: aws.String(PartitionKey + " = :partition AND begins_with(" + SortKey + ", :list)"),
		ExpressionAttributeValues: item{
			":partition": text(partition),
			":list":      text(layout.Listing),
		},
	})
	if err != nil {
		return nil, err
	}
	return out.Items, nil
}

// errMixed says that a listing was read while it was being replaced.
var errMixed = errors.New("the chunks of the listing are of different revisions")

// join puts the chunks of a listing together, in the order of SK, or returns errMixed.
// There may be more items than chunks, from when the listing was longer.
func join(items []item) (stored, error) {
	if len(items) == 0 {
		return stored{}, registry.ErrNotFound
	}
	count, revision := numberOf(items[0], chunksAttribute), numberOf(items[0], revisionAttribute)
	if textOf(items[0], SortKey) != chunkName(0) || count < 1 || revision < 1 {
		return stored{}, errForeign
	}
	if count > len(items) {
		return stored{}, errMixed
	}
	var chunks [][]byte
	for n, i := range items[:count] {
		if textOf(i, SortKey) != chunkName(n) || numberOf(i, revisionAttribute) != revision {
			return stored{}, errMixed
		}
		chunks = append(chunks, dataOf(i))
	}
	return stored{bytes.Join(chunks, nil), revision}, nil
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
		if err := pause(ctx, failures); err != nil {
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
func (c *Catalog) listingPuts(partition string, revision int, listing registry.Listing) ([]types.Put, error) {
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
	puts := make([]types.Put, len(chunks))
	for n, chunk := range chunks {
		puts[n] = types.Put{TableName: &c.name, Item: newItem(partition, chunkName(n), revision+1, chunk)}
	}
	first := &puts[0]
	first.Item[chunksAttribute] = number(len(chunks))
	first.ConditionExpression, first.ExpressionAttributeValues = revisionIs(revision)
	return puts, nil
}

// putAll sends one put as a plain request, since a transaction costs twice as much.
func (c *Catalog) putAll(ctx context.Context, puts []types.Put) error {
	if len(puts) == 1 {
		_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                 puts[0].TableName,
			Item:                      puts[0].Item,
			ConditionExpression:       puts[0].ConditionExpression,
			ExpressionAttributeValues: puts[0].ExpressionAttributeValues,
		})
		return err
	}
	return c.transact(ctx, nil, puts)
}

// transact makes all of some writes and puts, or nothing.
func (c *Catalog) transact(ctx context.Context, writes []types.TransactWriteItem, puts []types.Put) error {
	for _, put := range puts {
		writes = append(writes, types.TransactWriteItem{Put: &put})
	}
	_, err := c.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
	return err
}
