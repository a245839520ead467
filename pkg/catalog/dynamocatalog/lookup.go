package dynamocatalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/registry"
)

// listingWithToken reads a token, and with it the first chunk of a listing. That is most
// often the only one. If it is not, the whole listing is read without the token.
func (c *Catalog) listingWithToken(ctx context.Context, partition string, lookup *access.Lookup) (stored, error) {
	i, err := c.getWithToken(ctx, lookup, key(partition, chunkName(0)))
	if err != nil {
		return stored{}, err
	}
	if i == nil {
		return stored{}, registry.ErrNotFound
	}
	s, err := join([]wire.Item{i})
	if errors.Is(err, errMixed) {
		return c.readListing(ctx, partition, true)
	}
	return s, err
}

// getWithToken fills the lookup and, if it wants that, returns an item, which is nil if it
// does not exist. That takes one request, unless DynamoDB leaves a key unprocessed.
func (c *Catalog) getWithToken(ctx context.Context, lookup *access.Lookup, key wire.Item) (wire.Item, error) {
	lookup.Token = nil
	found, err := c.batch(ctx, []wire.Item{key, tokenKey(lookup.ID)})
	if err != nil {
		return nil, err
	}
	return takeToken(lookup, found)
}

// takeToken fills a lookup from items, and returns the other one if it wants that.
func takeToken(lookup *access.Lookup, items []wire.Item) (wire.Item, error) {
	var token *access.Token
	isToken := func(i wire.Item) bool { return i.Text(PartitionKey) == tokenPartition }
	if n := slices.IndexFunc(items, isToken); n >= 0 {
		found, err := decodeToken(items[n])
		if err != nil {
			return nil, err
		}
		token = &found
	}
	if !lookup.Found(token) {
		return nil, nil
	}
	if n := slices.IndexFunc(items, func(i wire.Item) bool { return !isToken(i) }); n >= 0 {
		return items[n], nil
	}
	return nil, nil
}

// maxBatch is how many keys a BatchGetItem has at most.
const maxBatch = 100

// batch is the items of up to maxBatch keys that exist, in any order. DynamoDB returns up to
// 16 MB at a time, and less if it has much to do. The rest is asked for again, at once if there
// was anything, and else after a pause.
func (c *Catalog) batch(ctx context.Context, keys []wire.Item) (found []wire.Item, err error) {
	for failures := 0; failures < maxReads; {
		if err := wire.Pause(ctx, failures); err != nil {
			return nil, err
		}
		items, rest, err := c.client.BatchGetItem(ctx, wire.Batch{Table: c.name, Keys: keys, Consistent: true})
		if err != nil {
			return nil, err
		}
		found = append(found, items...)
		if len(rest) == 0 {
			return found, nil
		}
		if len(rest) < len(keys) {
			failures = 0
		} else {
			failures++
		}
		keys = rest
	}
	return nil, fmt.Errorf("%w (it was asked %d times)", errPartial, maxReads)
}
