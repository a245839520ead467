package dynamocatalog

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// table is what the catalog and the access have in common.
type table struct {
	client *dynamodb.Client
	name   string
}

// The attributes of every item's key.
const (
	PartitionKey = "PK"
	SortKey      = "SK"
)

// ExpiresAttribute is the time, in seconds since 1970, after which DynamoDB may
// delete an item. It is the table's TTL attribute. Tokens and tickets may have
// it, and no item of the catalog does.
const ExpiresAttribute = "expires"

// TableSchema is the table under a name: its keys, and that requests are paid
// for on demand. Deployments add a TTL by [ExpiresAttribute], point-in-time
// recovery and deletion protection; no code depends on these.
func TableSchema(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(PartitionKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(SortKey), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(PartitionKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(SortKey), AttributeType: types.ScalarAttributeTypeS},
		},
	}
}

// explain adds to an error what the SDK does not say.
func (t table) explain(err error) error {
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return fmt.Errorf("there is no table %q in region %s, or it is just being created: check the table's name and the region: %w", t.name, t.client.Options().Region, err)
	}
	return err
}
