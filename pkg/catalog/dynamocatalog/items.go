package dynamocatalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	revisionAttribute = "revision"
	chunksAttribute   = "chunks"
	dataAttribute     = "data"

	// maxData is the most data in an item, in bytes: DynamoDB's 400 KiB without
	// 4 KiB for the other attributes, which have limits of their own.
	maxData = 396 << 10

	// maxDocument is the longest JSON that is written or read, in bytes.
	maxDocument = 64 << 20
)

type item = map[string]types.AttributeValue

func key(partition, name string) item {
	return item{
		PartitionKey: text(partition),
		SortKey:      text(name),
	}
}

func number(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

func newItem(partition, name string, revision int, data []byte) item {
	i := key(partition, name)
	i[revisionAttribute] = number(revision)
	i[dataAttribute] = &types.AttributeValueMemberB{Value: data}
	return i
}

// revisionIs is the condition that an item has a revision; for 0, that it does not exist.
func revisionIs(revision int) (condition *string, values item) {
	if revision == 0 {
		return aws.String("attribute_not_exists(" + PartitionKey + ")"), nil
	}
	return aws.String(revisionAttribute + " = :read"), item{":read": number(revision)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func textOf(i item, attribute string) string {
	s, _ := i[attribute].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// numberOf is 0 where an item has no such number.
func numberOf(i item, attribute string) int {
	n, _ := i[attribute].(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	value, _ := strconv.Atoi(n.Value)
	return value
}

func dataOf(i item) []byte {
	b, _ := i[dataAttribute].(*types.AttributeValueMemberB)
	if b == nil {
		return nil
	}
	return b.Value
}

func compress(document []byte) ([]byte, error) {
	if len(document) > maxDocument {
		return nil, fmt.Errorf("it has %d bytes before compression, and %d are allowed", len(document), maxDocument)
	}
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	if _, err := w.Write(document); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

func decompress(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	document, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	if len(document) > maxDocument {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errForeign, maxDocument)
	}
	return document, nil
}

// getItem is nil if there is no such item, or if the lookup does not want it.
func (c *Catalog) getItem(ctx context.Context, key item, lookup *access.Lookup) (item, error) {
	if lookup != nil {
		items, err := c.getWithToken(ctx, lookup, key)
		if err != nil || len(items) == 0 {
			return nil, err
		}
		return items[0], nil
	}
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.name, Key: key})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

func decodeState(data []byte, s registry.State) error {
	document, err := decompress(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(document, s); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return nil
}

// stateItem is the item of a state, or an error if the state does not fit.
func stateItem(s registry.State) (item, error) {
	document, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	data, err := compress(document)
	if err != nil {
		return nil, err
	}
	if len(data) > maxData {
		return nil, fmt.Errorf("%w: it has %d bytes, and an item of DynamoDB has room for %d: only its public signing keys can be so large, so export them without other people's signatures (gpg --export-options export-minimal)", catalog.ErrNoRoom, len(data), maxData)
	}
	return newItem(layout.Partition(s.Subject().Address), layout.Version(s.Subject().Version), s.Listed().Revision, data), nil
}

// putState stores a state unless the stored one has its revision or a higher one.
func (c *Catalog) putState(ctx context.Context, s registry.State) error {
	i, err := stateItem(s)
	if err != nil {
		return err
	}
	_, err = c.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &c.name,
		Item:                      i,
		ConditionExpression:       aws.String("attribute_not_exists(" + PartitionKey + ") OR " + revisionAttribute + " < :revision"),
		ExpressionAttributeValues: item{":revision": number(s.Listed().Revision)},
	})
	if conditionFailed(err) {
		return nil
	}
	return err
}
