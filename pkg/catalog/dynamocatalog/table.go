package dynamocatalog

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
)

// table is what the catalog and the access have in common.
type table struct {
	client *wire.Client
	name   string
	region string
}

// The attributes of every item's key: strings, by which the table is made.
const (
	PartitionKey = "PK"
	SortKey      = "SK"
)

// ExpiresAttribute is the time, in seconds since 1970, after which DynamoDB may
// delete an item. It is the table's TTL attribute. Tokens and tickets may have
// it, and no item of the catalog does.
const ExpiresAttribute = "expires"

// explain adds to an error what DynamoDB does not say.
func (t table) explain(err error) error {
	if _, missing := refusedAs(err, "ResourceNotFoundException"); missing {
		return fmt.Errorf("there is no table %q in region %s, or it is just being created: check the table's name and the region: %w", t.name, t.region, err)
	}
	return err
}
