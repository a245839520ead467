package dynamocatalog

import (
	"context"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
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
	i := append(ticketKey(id), wire.Bytes(dataAttribute, data), wire.Number(untilAttribute, int(expires.UnixMilli())), ttl(expires))
	return a.client.PutItem(ctx, wire.Put{Table: a.name, Item: i})
}

// TakeTicket implements [access.Tickets]. Only one delete of an item finds it. If its
// answer is lost, and it is sent again, it finds nothing: then nobody gets the
// ticket, and the login begins again. That is better than if two got it.
func (a *Access) TakeTicket(ctx context.Context, id access.ID) ([]byte, error) {
	i, err := a.client.DeleteItem(ctx, wire.Delete{
		Table:     a.name,
		Key:       ticketKey(id),
		Condition: "attribute_exists(" + PartitionKey + ")",
		ReturnOld: true,
	})
	if conditionFailed(err) || err == nil && a.now().UnixMilli() >= int64(i.Number(untilAttribute)) {
		err = access.ErrNotFound
	}
	if err != nil {
		return nil, a.failed(err, "take a ticket")
	}
	return i.Bytes(dataAttribute), nil
}

func ticketKey(id access.ID) wire.Item { return key(ticketPrefix+id.String(), ticketName) }
