package wire

import (
	"strconv"

	"github.com/larder-registry/larder/internal/jsonstring"
)

// Get asks for one item.
type Get struct {
	Table      string
	Key        Item
	Consistent bool
	Projection string // empty: the whole item
}

// Batch asks for several items.
type Batch struct {
	Table      string
	Keys       []Item
	Consistent bool
}

// Query asks for a page of a partition.
type Query struct {
	Table      string
	Condition  string // of the key
	Values     Item
	Projection string
	Consistent bool
	Limit      int  // 0: as many as there are in 1 MiB
	After      Item // the key that [Page.Last] had; nil for the first page
}

// Scan asks for a page of a table, and for no attributes but those of the projection.
type Scan struct {
	Table      string
	Projection string
	Filter     string
	Values     Item
	After      Item // the key that [Page.Last] had; nil for the first page
}

// Put writes an item.
type Put struct {
	Table     string
	Item      Item
	Condition string // empty: always
	Values    Item

	// ReturnOld makes [Error.Item] the item for which the condition failed.
	ReturnOld bool
}

// Update changes an item.
type Update struct {
	Table     string
	Key       Item
	Update    string
	Condition string
	Values    Item
}

// Delete deletes an item.
type Delete struct {
	Table     string
	Key       Item
	Condition string
	Values    Item

	// ReturnOld makes the answer the item that was deleted.
	ReturnOld bool
}

// Write is a part of a transaction: one of its fields is set.
type Write struct {
	Put    *Put
	Update *Update
	Delete *Delete
}

// transaction is the writes that are made all at once, under a token that makes the second
// of two requests do nothing.
type transaction struct {
	writes []Write
	token  string
}

// request is what an operation asks for.
type request interface {
	// members adds the request's members to the object of its JSON.
	members(o *object)
}

func (r Get) members(o *object) {
	o.text("TableName", r.Table)
	o.item("Key", r.Key)
	o.flag("ConsistentRead", r.Consistent)
	o.text("ProjectionExpression", r.Projection)
}

func (r Batch) members(o *object) {
	o.begin("RequestItems")
	o.begin(r.Table)
	o.name("Keys")
	o.open('[')
	for _, key := range r.Keys {
		o.element()
		o.attributes(key)
	}
	o.close(']')
	o.flag("ConsistentRead", r.Consistent)
	o.close('}')
	o.close('}')
}

func (r Query) members(o *object) {
	o.text("TableName", r.Table)
	o.text("KeyConditionExpression", r.Condition)
	o.item("ExpressionAttributeValues", r.Values)
	o.text("ProjectionExpression", r.Projection)
	o.flag("ConsistentRead", r.Consistent)
	o.number("Limit", r.Limit)
	o.item("ExclusiveStartKey", r.After)
}

func (r Scan) members(o *object) {
	o.text("TableName", r.Table)
	o.text("Select", "SPECIFIC_ATTRIBUTES")
	o.text("ProjectionExpression", r.Projection)
	o.text("FilterExpression", r.Filter)
	o.item("ExpressionAttributeValues", r.Values)
	o.item("ExclusiveStartKey", r.After)
}

func (r Put) members(o *object) {
	o.text("TableName", r.Table)
	o.item("Item", r.Item)
	o.text("ConditionExpression", r.Condition)
	o.item("ExpressionAttributeValues", r.Values)
	if r.ReturnOld {
		o.text("ReturnValuesOnConditionCheckFailure", "ALL_OLD")
	}
}

func (r Update) members(o *object) {
	o.text("TableName", r.Table)
	o.item("Key", r.Key)
	o.text("UpdateExpression", r.Update)
	o.text("ConditionExpression", r.Condition)
	o.item("ExpressionAttributeValues", r.Values)
}

func (r Delete) members(o *object) {
	o.text("TableName", r.Table)
	o.item("Key", r.Key)
	o.text("ConditionExpression", r.Condition)
	o.item("ExpressionAttributeValues", r.Values)
	if r.ReturnOld {
		o.text("ReturnValues", "ALL_OLD")
	}
}

func (r transaction) members(o *object) {
	o.name("TransactItems")
	o.open('[')
	for _, write := range r.writes {
		o.element()
		o.open('{')
		if write.Put != nil {
			o.begin("Put")
			write.Put.members(o)
			o.close('}')
		}
		if write.Update != nil {
			o.begin("Update")
			write.Update.members(o)
			o.close('}')
		}
		if write.Delete != nil {
			o.begin("Delete")
			write.Delete.members(o)
			o.close('}')
		}
		o.close('}')
	}
	o.close(']')
	o.text("ClientRequestToken", r.token)
}

// encode makes the JSON of a request.
func encode(r request) []byte {
	o := object{make([]byte, 0, 512)}
	o.open('{')
	r.members(&o)
	o.close('}')
	return o.json
}

// object is JSON that is being written. What is empty is left out.
type object struct {
	json []byte
}

func (o *object) open(brace byte)  { o.json = append(o.json, brace) }
func (o *object) close(brace byte) { o.json = append(o.json, brace) }

// element begins an element of an array, or a member of an object.
func (o *object) element() {
	if last := o.json[len(o.json)-1]; last != '{' && last != '[' {
		o.json = append(o.json, ',')
	}
}

func (o *object) name(name string) {
	o.element()
	o.json = append(jsonstring.Append(o.json, name), ':')
}

// begin begins an object under a name.
func (o *object) begin(name string) {
	o.name(name)
	o.open('{')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.json = jsonstring.Append(o.json, value)
	}
}

func (o *object) flag(name string, value bool) {
	if value {
		o.name(name)
		o.json = append(o.json, "true"...)
	}
}

func (o *object) number(name string, value int) {
	if value != 0 {
		o.name(name)
		o.json = strconv.AppendInt(o.json, int64(value), 10)
	}
}

func (o *object) item(name string, value Item) {
	if value != nil {
		o.name(name)
		o.attributes(value)
	}
}

func (o *object) attributes(i Item) {
	o.open('{')
	for _, attribute := range i {
		o.begin(attribute.name)
		o.name(string(attribute.kind))
		o.json = jsonstring.Append(o.json, attribute.value)
		o.close('}')
	}
	o.close('}')
}
