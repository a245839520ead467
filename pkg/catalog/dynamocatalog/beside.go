package dynamocatalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

var _ catalog.Tokens = (*Catalog)(nil)

// Beside implements [catalog.Tokens].
func (c *Catalog) Beside(lookup *access.Lookup) catalog.Catalog { return beside{c, lookup} }

// beside is the catalog for one question, in whose request a token is looked up.
type beside struct {
	catalog *Catalog
	lookup  *access.Lookup
}

func (b beside) ModuleVersions(ctx context.Context, a registry.ModuleAddress) (registry.Listing, error) {
	return b.listing(ctx, layout.Partition(a))
}

func (b beside) ModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error) {
	return state[registry.ModuleVersion](ctx, b.catalog, b.getItem, layout.Partition(a), v)
}

func (b beside) ProviderVersions(ctx context.Context, a registry.ProviderAddress) (registry.Listing, error) {
	return b.listing(ctx, layout.Partition(a))
}

func (b beside) ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	return state[registry.ProviderVersion](ctx, b.catalog, b.getItem, layout.Partition(a), v)
}

// listing reads the token with all the chunks that there can be. A listing that
// is being replaced just now is then read again without it.
func (b beside) listing(ctx context.Context, partition string) (registry.Listing, error) {
	var keys []item
	for n := range maxChunks {
		keys = append(keys, key(partition, chunkName(n)))
	}
	var s stored
	items, err := b.get(ctx, keys...)
	if err == nil {
		slices.SortFunc(items, func(i, j item) int { return cmp.Compare(textOf(i, SortKey), textOf(j, SortKey)) })
		s, err = assemble(items)
	}
	if errors.Is(err, errMixed) {
		s, err = b.catalog.readListing(ctx, partition, true)
	}
	return b.catalog.told(partition, s, err)
}

// getItem is nil where there is no such item.
func (b beside) getItem(ctx context.Context, key item) (item, error) {
	items, err := b.get(ctx, key)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return items[0], nil
}

// get is those of some items that are there, in any order, if they are wanted, and
// fills the lookup.
// It is one request, unless DynamoDB leaves some of it undone.
func (b beside) get(ctx context.Context, keys ...item) ([]item, error) {
	b.lookup.Token = nil
	rest := map[string]types.KeysAndAttributes{
		b.catalog.table: {Keys: append(keys, tokenKey(b.lookup.ID)), ConsistentRead: aws.Bool(true)},
	}
	var found []item
	for failures := range maxReads {
		if err := pause(ctx, failures); err != nil {
			return nil, err
		}
		out, err := b.catalog.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: rest})
		if err != nil {
			return nil, err
		}
		for _, items := range out.Responses {
			found = append(found, items...)
		}
		if rest = out.UnprocessedKeys; len(rest) == 0 {
			return b.takeToken(found)
		}
	}
	return nil, fmt.Errorf("%w (it was asked %d times)", errPartial, maxReads)
}

// takeToken fills the lookup from items, and returns the others, if they are
// wanted.
func (b beside) takeToken(items []item) ([]item, error) {
	var token *access.Token
	isToken := func(i item) bool { return textOf(i, PartitionKey) == tokenPartition }
	if n := slices.IndexFunc(items, isToken); n >= 0 {
		found, err := decodeToken(items[n])
		if err != nil {
			return nil, err
		}
		token = &found
	}
	if !b.lookup.Found(token) {
		return nil, nil
	}
	return slices.DeleteFunc(items, isToken), nil
}
