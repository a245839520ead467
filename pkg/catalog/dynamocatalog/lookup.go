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
	rest := []wire.Item{key, tokenKey(lookup.ID)}
	var found []wire.Item
	for failures := range maxReads {
		if err := wire.Pause(ctx, failures); err != nil {
			return nil, err
		}
		var items []wire.Item
		var err error
		if items, rest, err = c.client.BatchGetItem(ctx, wire.Batch{Table: c.name, Keys: rest, Consistent: true}); err != nil {
			return nil, err
		}
		found = append(found, items...)
		if len(rest) == 0 {
			return takeToken(lookup, found)
		}
	}
	return nil, fmt.Errorf("%w (it was asked %d times)", errPartial, maxReads)
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
