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
func (a *Access) KeepTicket(ctx context.Context, id access.ID, data []byte, expires time.Time) error {
	err := layout.CheckTicket(data)
	if err == nil {
		err = a.putTicket(ctx, id, data, expires)
	}
	return a.failed(err, "keep a ticket")
}

func (a *Access) putTicket(ctx context.Context, id access.ID, data []byte, expires time.Time) error {
	i := ticketKey(id)
	i[dataAttribute] = &types.AttributeValueMemberB{Value: append([]byte{}, data...)} // nil would be no value
	i[untilAttribute] = number(int(expires.UnixMilli()))
	i[ExpiresAttribute] = ttl(expires)
	_, err := a.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &a.name, Item: i})
	return err
}

// TakeTicket implements [access.Tickets]. Only one delete of an item finds it. If its
// answer is lost, and the SDK sends it again, it finds nothing: then nobody gets the
// ticket, and the login begins again. That is better than if two got it.
func (a *Access) TakeTicket(ctx context.Context, id access.ID) ([]byte, error) {
	out, err := a.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:           &a.name,
		Key:                 ticketKey(id),
		ConditionExpression: aws.String("attribute_exists(" + PartitionKey + ")"),
		ReturnValues:        types.ReturnValueAllOld,
	})
	if conditionFailed(err) || err == nil && a.now().UnixMilli() >= int64(numberOf(out.Attributes, untilAttribute)) {
		err = access.ErrNotFound
	}
	if err != nil {
		return nil, a.failed(err, "take a ticket")
	}
	return dataOf(out.Attributes), nil
}

func ticketKey(id access.ID) item { return key(ticketPrefix+id.String(), ticketName) }
