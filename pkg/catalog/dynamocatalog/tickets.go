package dynamocatalog

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
)

// KeepTicket implements [access.Tickets]. There is no bound on how many there
// are; DynamoDB deletes those that have expired.
func (c *Catalog) KeepTicket(ctx context.Context, id access.ID, data []byte, expires time.Time) error {
	err := layout.CheckTicket(data)
	if err == nil {
		err = c.putTicket(ctx, id, data, expires)
	}
	return c.failed(err, "keep a ticket")
}

func (c *Catalog) putTicket(ctx context.Context, id access.ID, data []byte, expires time.Time) error {
	i := ticketKey(id)
	i[dataAttribute] = &types.AttributeValueMemberB{Value: append([]byte{}, data...)} // nil would be no value
	i[untilAttribute] = number(int(expires.UnixMilli()))
	i[ExpiresAttribute] = ttl(expires)
	_, err := c.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: i})
	return err
}

// TakeTicket implements [access.Tickets]. Only one delete of an item finds it. If its
// answer is lost, and the SDK sends it again, it finds nothing: then nobody gets the
// ticket, and the login begins again. That is better than if two got it.
func (c *Catalog) TakeTicket(ctx context.Context, id access.ID) ([]byte, error) {
	out, err := c.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:           &c.table,
		Key:                 ticketKey(id),
		ConditionExpression: aws.String("attribute_exists(" + PartitionKey + ")"),
		ReturnValues:        types.ReturnValueAllOld,
	})
	if conditionFailed(err) || err == nil && c.now().UnixMilli() >= int64(numberOf(out.Attributes, untilAttribute)) {
		err = access.ErrNotFound
	}
	if err != nil {
		return nil, c.failed(err, "take a ticket")
	}
	return dataOf(out.Attributes), nil
}

func ticketKey(id access.ID) item { return key(ticketPrefix+id.String(), ticketName) }
