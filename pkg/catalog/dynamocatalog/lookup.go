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
)

// listingWithToken reads a token, and with it all the chunks that a listing can have. If
// the listing is being replaced at that moment, it is read again without the token.
func (c *Catalog) listingWithToken(ctx context.Context, partition string, lookup *access.Lookup) (stored, error) {
	var keys []item
	for n := range maxChunks {
		keys = append(keys, key(partition, chunkName(n)))
	}
	items, err := c.getWithToken(ctx, lookup, keys...)
	if err != nil {
		return stored{}, err
	}
	slices.SortFunc(items, func(i, j item) int { return cmp.Compare(textOf(i, SortKey), textOf(j, SortKey)) })
	s, err := join(items)
	if errors.Is(err, errMixed) {
		return c.readListing(ctx, partition, true)
	}
	return s, err
}

// getWithToken fills the lookup and, if it wants them, returns the items that exist, in
// any order. That takes one request, unless DynamoDB leaves some keys unprocessed.
func (c *Catalog) getWithToken(ctx context.Context, lookup *access.Lookup, keys ...item) ([]item, error) {
	lookup.Token = nil
	rest := map[string]types.KeysAndAttributes{
		c.name: {Keys: append(keys, tokenKey(lookup.ID)), ConsistentRead: aws.Bool(true)},
	}
	var found []item
	for failures := range maxReads {
		if err := pause(ctx, failures); err != nil {
			return nil, err
		}
		out, err := c.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: rest})
		if err != nil {
			return nil, err
		}
		for _, items := range out.Responses {
			found = append(found, items...)
		}
		if rest = out.UnprocessedKeys; len(rest) == 0 {
			return takeToken(lookup, found)
		}
	}
	return nil, fmt.Errorf("%w (it was asked %d times)", errPartial, maxReads)
}

// takeToken fills a lookup from items, and returns the others if it wants them.
func takeToken(lookup *access.Lookup, items []item) ([]item, error) {
	var token *access.Token
	isToken := func(i item) bool { return textOf(i, PartitionKey) == tokenPartition }
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
	return slices.DeleteFunc(items, isToken), nil
}
