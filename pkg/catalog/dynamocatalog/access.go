package dynamocatalog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
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
	page int // see pageSize
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
	i, err := a.client.GetItem(ctx, wire.Get{Table: a.name, Key: tokenKey(id), Consistent: true})
	if err == nil && i == nil {
		err = access.ErrNotFound
	}
	var token access.Token
	if err == nil {
		token, err = decodeToken(i)
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
	query := a.wholePartition(tokenPartition)
	query.Limit = a.page
	if after != "" {
		query.After = key(tokenPartition, after)
	}
	out, err := a.client.Query(ctx, query)
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
	return page, out.Last.Text(SortKey), nil
}

// RevokeToken implements [access.Tokens].
func (a *Access) RevokeToken(ctx context.Context, id access.ID) error {
	return a.failed(a.deleteExisting(ctx, tokenKey(id)), "revoke token "+id.Short())
}

// NoteUse implements [access.Tokens].
func (a *Access) NoteUse(ctx context.Context, id access.ID, day access.Day) error {
	err := a.client.UpdateItem(ctx, wire.Update{
		Table:     a.name,
		Key:       tokenKey(id),
		Update:    "SET " + usedAttribute + " = :day",
		Condition: "attribute_exists(" + PartitionKey + ") AND (attribute_not_exists(" + usedAttribute + ") OR " + usedAttribute + " < :day)",
		Values:    wire.Item{wire.Text(":day", string(day))},
	})
	if conditionFailed(err) {
		return nil
	}
	return a.failed(err, "note the use of token "+id.Short())
}

func tokenKey(id access.ID) wire.Item { return key(tokenPartition, id.String()) }

func tokenItem(t access.Token) (wire.Item, error) {
	i := tokenKey(t.ID)
	if t.Used != "" {
		i = append(i, wire.Text(usedAttribute, string(t.Used)))
		t.Used = ""
	}
	if until := t.ListedUntil(); !until.IsZero() {
		i = append(i, ttl(until))
	}
	return withJSON(i, t)
}

func decodeToken(i wire.Item) (access.Token, error) {
	token, err := decodeJSON[access.Token](i)
	if err == nil && i.Text(SortKey) != token.ID.String() {
		err = fmt.Errorf("%w: it has the ID of another", errNotOurs)
	}
	if err != nil {
		return access.Token{}, fmt.Errorf("token %s: %w", i.Text(SortKey), err)
	}
	token.Used = access.Day(i.Text(usedAttribute))
	return token, nil
}

// ttl is when an item may be deleted that nobody needs from a time on.
func ttl(t time.Time) wire.Attribute { return wire.Number(ExpiresAttribute, int(t.Unix())+1) }

func withJSON(i wire.Item, value any) (wire.Item, error) {
	document, err := json.Marshal(value)
	return append(i, wire.Text(dataAttribute, string(document))), err
}

func decodeJSON[T any](i wire.Item) (T, error) {
	var value T
	if err := json.Unmarshal([]byte(i.Text(dataAttribute)), &value); err != nil {
		return value, fmt.Errorf("%w: %w", errNotOurs, err)
	}
	return value, nil
}

// create puts an item if it does not exist. When an answer is lost, the put is sent again,
// although it may have succeeded: then the item has this request's text.
func (a *Access) create(ctx context.Context, i wire.Item) error {
	request := rand.Text()
	err := a.client.PutItem(ctx, wire.Put{
		Table:     a.name,
		Item:      append(i, wire.Text(requestAttribute, request)),
		Condition: "attribute_not_exists(" + PartitionKey + ")",
		ReturnOld: true,
	})
	exists, ok := refusedAs(err, "ConditionalCheckFailedException")
	switch {
	case !ok:
		return err
	case exists.Item.Text(requestAttribute) == request:
		return nil
	default:
		return access.ErrExists
	}
}

// deleteExisting deletes an item that must exist. It reads the item first: when an answer
// is lost, the delete is sent again, and then it finds nothing.
func (a *Access) deleteExisting(ctx context.Context, key wire.Item) error {
	i, err := a.client.GetItem(ctx, wire.Get{Table: a.name, Key: key, Consistent: true, Projection: PartitionKey})
	if err != nil {
		return err
	}
	if i == nil {
		return access.ErrNotFound
	}
	_, err = a.client.DeleteItem(ctx, wire.Delete{Table: a.name, Key: key})
	return err
}

// wholePartition asks for all items of a partition, in the order of SK.
func (a *Access) wholePartition(partition string) wire.Query {
	return wire.Query{
		Table:      a.name,
		Condition:  PartitionKey + " = :partition",
		Values:     wire.Item{wire.Text(":partition", partition)},
		Consistent: true,
	}
}

// failed adds to an error what was being done.
func (a *Access) failed(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, a.explain(err))
}
