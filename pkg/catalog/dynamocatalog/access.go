package dynamocatalog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
)

// The names of partitions, and of the one item in a ticket's partition. No partition
// of a module or provider begins with them.
const (
	tokenPartition = "A"
	rulePartition  = "T"
	ticketPrefix   = "C#"
	ticketName     = "C"
)

const (
	usedAttribute    = "used"
	requestAttribute = "request"
	untilAttribute   = "until"

	// pageSize is how many tokens a page has, if they are not more than 1 MiB.
	pageSize = 1000
)

// Access is an [access.Store] in the table of a catalog.
type Access struct {
	table
	now  func() time.Time
	page int32 // see pageSize
}

var _ access.Store = (*Access)(nil)

// Access is the access to the registry that the same table keeps.
func (c *Catalog) Access() *Access { return &Access{c.table, time.Now, pageSize} }

// CreateToken implements [access.Tokens].
func (a *Access) CreateToken(ctx context.Context, t access.Token) error {
	i, err := tokenItem(t)
	if err == nil {
		err = a.create(ctx, i)
	}
	return a.failed(err, "keep token "+t.ID.Short())
}

// Token implements [access.Tokens].
func (a *Access) Token(ctx context.Context, id access.ID) (access.Token, error) {
	out, err := a.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &a.name, Key: tokenKey(id), ConsistentRead: aws.Bool(true)})
	if err == nil && out.Item == nil {
		err = access.ErrNotFound
	}
	var token access.Token
	if err == nil {
		token, err = decodeToken(out.Item)
	}
	return token, a.failed(err, "read token "+id.Short())
}

// Tokens implements [access.Tokens]. The last page may be empty.
func (a *Access) Tokens(ctx context.Context, after string) (page []access.Token, next string, err error) {
	if page, next, err = a.tokens(ctx, after); err != nil {
		return nil, "", a.failed(err, "list tokens")
	}
	return page, next, nil
}

func (a *Access) tokens(ctx context.Context, after string) (page []access.Token, next string, err error) {
	if err := layout.CheckAfter(after); err != nil {
		return nil, "", err
	}
	input := a.wholePartition(tokenPartition)
	input.Limit = &a.page
	if after != "" {
		input.ExclusiveStartKey = key(tokenPartition, after)
	}
	out, err := a.client.Query(ctx, input)
	if err != nil {
		return nil, "", err
	}
	for _, i := range out.Items {
		token, err := decodeToken(i)
		if err != nil {
			return nil, "", err
		}
		page = append(page, token)
	}
	return page, textOf(out.LastEvaluatedKey, SortKey), nil
}

// RevokeToken implements [access.Tokens].
func (a *Access) RevokeToken(ctx context.Context, id access.ID) error {
	return a.failed(a.deleteExisting(ctx, tokenKey(id)), "revoke token "+id.Short())
}

// NoteUse implements [access.Tokens].
func (a *Access) NoteUse(ctx context.Context, id access.ID, day access.Day) error {
	_, err := a.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &a.name,
		Key:                       tokenKey(id),
		UpdateExpression:          aws.String("SET " + usedAttribute + " = :day"),
		ConditionExpression:       aws.String("attribute_exists(" + PartitionKey + ") AND (attribute_not_exists(" + usedAttribute + ") OR " + usedAttribute + " < :day)"),
		ExpressionAttributeValues: item{":day": text(string(day))},
		ReturnValues:              types.ReturnValueNone,
	})
	if conditionFailed(err) {
		return nil
	}
	return a.failed(err, "note the use of token "+id.Short())
}

func tokenKey(id access.ID) item { return key(tokenPartition, id.String()) }

func tokenItem(t access.Token) (item, error) {
	i := tokenKey(t.ID)
	if t.Used != "" {
		i[usedAttribute] = text(string(t.Used))
		t.Used = ""
	}
	if until := t.ListedUntil(); !until.IsZero() {
		i[ExpiresAttribute] = ttl(until)
	}
	return i, setJSON(i, t)
}

func decodeToken(i item) (access.Token, error) {
	token, err := decodeJSON[access.Token](i)
	if err == nil && textOf(i, SortKey) != token.ID.String() {
		err = fmt.Errorf("%w: it has the ID of another", errNotOurs)
	}
	if err != nil {
		return access.Token{}, fmt.Errorf("token %s: %w", textOf(i, SortKey), err)
	}
	token.Used = access.Day(textOf(i, usedAttribute))
	return token, nil
}

// ttl is when an item may be deleted that nobody needs from a time on.
func ttl(t time.Time) types.AttributeValue { return number(int(t.Unix()) + 1) }

func setJSON(i item, value any) error {
	document, err := json.Marshal(value)
	i[dataAttribute] = text(string(document))
	return err
}

func decodeJSON[T any](i item) (T, error) {
	var value T
	if err := json.Unmarshal([]byte(textOf(i, dataAttribute)), &value); err != nil {
		return value, fmt.Errorf("%w: %w", errNotOurs, err)
	}
	return value, nil
}

// create puts an item if it does not exist. When an answer is lost, the SDK sends the
// put again, although it may have succeeded: then the item has this request's text.
func (a *Access) create(ctx context.Context, i item) error {
	request := rand.Text()
	i[requestAttribute] = text(request)
	_, err := a.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &a.name,
		Item:                                i,
		ConditionExpression:                 aws.String("attribute_not_exists(" + PartitionKey + ")"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var exists *types.ConditionalCheckFailedException
	switch {
	case !errors.As(err, &exists):
		return err
	case textOf(exists.Item, requestAttribute) == request:
		return nil
	default:
		return access.ErrExists
	}
}

// deleteExisting deletes an item that must exist. It reads the item first: when an answer
// is lost, the SDK sends the delete again, and that finds nothing.
func (a *Access) deleteExisting(ctx context.Context, key item) error {
	out, err := a.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &a.name, Key: key, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String(PartitionKey),
	})
	if err != nil {
		return err
	}
	if out.Item == nil {
		return access.ErrNotFound
	}
	_, err = a.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &a.name, Key: key})
	return err
}

// wholePartition asks for all items of a partition, in the order of SK.
func (a *Access) wholePartition(partition string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                 &a.name,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(PartitionKey + " = :partition"),
		ExpressionAttributeValues: item{":partition": text(partition)},
	}
}

// failed adds to an error what was being done.
func (a *Access) failed(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, a.explain(err))
}
