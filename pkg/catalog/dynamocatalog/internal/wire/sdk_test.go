package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/larder-registry/larder/internal/dynamotest"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Run(m)) }

// Short names for what the AWS SDK's client takes.
type attributes = map[string]types.AttributeValue

func sdkText(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func sdkNumber(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func sdkBytes(b string) types.AttributeValue  { return &types.AttributeValueMemberB{Value: []byte(b)} }

// result is what both clients answer, with the errors that package dynamocatalog asks for.
type result struct {
	items   []attributes
	more    bool // whether there is a next page
	code    string
	reasons []string
	old     attributes // the item for which a condition failed
}

// operation is the same request to both clients.
type operation struct {
	name string
	wire func(context.Context, *Client) ([]Item, bool, error)
	sdk  func(context.Context, *dynamodb.Client) ([]attributes, bool, error)
}

// nasty is a text that JSON writes in another way.
const nasty = "a \"quoted\" \\ \x00\n <é😀>&\u2028"

// operations are all operations on a table, in an order in which they succeed and fail.
func operations(table string) []operation {
	key := func(name string) Item { return Item{Text("PK", "M#a"), Text("SK", name)} }
	sdkKey := func(name string) attributes { return attributes{"PK": sdkText("M#a"), "SK": sdkText(name)} }
	item := func(name string) Item {
		return append(key(name), Number("revision", 1), Bytes("data", []byte("\x00larder\xff")), Text("text", nasty))
	}
	sdkItem := func(name string) attributes {
		i := sdkKey(name)
		i["revision"], i["data"], i["text"] = sdkNumber("1"), sdkBytes("\x00larder\xff"), sdkText(nasty)
		return i
	}
	get := func(name string, wire Get, sdk dynamodb.GetItemInput) operation {
		return operation{name, func(ctx context.Context, c *Client) ([]Item, bool, error) {
			i, err := c.GetItem(ctx, wire)
			return one(i, i != nil), false, err
		}, func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
			out, err := c.GetItem(ctx, &sdk)
			if err != nil {
				return nil, false, err
			}
			return one(out.Item, out.Item != nil), false, nil
		}}
	}
	put := func(name string, wire Put, sdk dynamodb.PutItemInput) operation {
		return operation{name, func(ctx context.Context, c *Client) ([]Item, bool, error) { return nil, false, c.PutItem(ctx, wire) },
			func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
				_, err := c.PutItem(ctx, &sdk)
				return nil, false, err
			}}
	}
	query := func(name string, wire Query, sdk dynamodb.QueryInput) operation {
		return operation{name, func(ctx context.Context, c *Client) ([]Item, bool, error) {
			page, err := c.Query(ctx, wire)
			return page.Items, page.Last != nil, err
		}, func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
			out, err := c.Query(ctx, &sdk)
			if err != nil {
				return nil, false, err
			}
			return out.Items, out.LastEvaluatedKey != nil, nil
		}}
	}
	remove := func(name string, wire Delete, sdk dynamodb.DeleteItemInput) operation {
		return operation{name, func(ctx context.Context, c *Client) ([]Item, bool, error) {
			i, err := c.DeleteItem(ctx, wire)
			return one(i, i != nil), false, err
		}, func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
			out, err := c.DeleteItem(ctx, &sdk)
			if err != nil {
				return nil, false, err
			}
			return one(out.Attributes, out.Attributes != nil), false, nil
		}}
	}
	update := func(name string, wire Update, sdk dynamodb.UpdateItemInput) operation {
		return operation{name, func(ctx context.Context, c *Client) ([]Item, bool, error) { return nil, false, c.UpdateItem(ctx, wire) },
			func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
				_, err := c.UpdateItem(ctx, &sdk)
				return nil, false, err
			}}
	}
	transact := func(name string, wire []Write, sdk []types.TransactWriteItem) operation {
		return operation{name, func(ctx context.Context, c *Client) ([]Item, bool, error) {
			return nil, false, c.TransactWriteItems(ctx, wire)
		}, func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
			_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: sdk})
			return nil, false, err
		}}
	}
	const missing, listed = "attribute_not_exists(PK)", "PK = :partition AND begins_with(SK, :list)"
	values, sdkValues := Item{Text(":partition", "M#a"), Text(":list", "LIST")}, attributes{":partition": sdkText("M#a"), ":list": sdkText("LIST")}
	day, sdkDay := Item{Text(":day", "2026-11-22")}, attributes{":day": sdkText("2026-11-22")}
	other := "no-" + table
	return []operation{
		put("put", Put{Table: table, Item: item("LIST"), Condition: missing}, dynamodb.PutItemInput{TableName: &table, Item: sdkItem("LIST"), ConditionExpression: aws.String(missing)}),
		put("put what exists", Put{Table: table, Item: item("LIST"), Condition: missing}, dynamodb.PutItemInput{TableName: &table, Item: sdkItem("LIST"), ConditionExpression: aws.String(missing)}),
		put("put what exists, and ask for it", Put{Table: table, Item: item("LIST"), Condition: missing, ReturnOld: true}, dynamodb.PutItemInput{
			TableName: &table, Item: sdkItem("LIST"), ConditionExpression: aws.String(missing), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}),
		put("put with values", Put{Table: table, Item: item("LIST#1"), Condition: missing + " OR revision < :revision", Values: Item{Number(":revision", 2)}}, dynamodb.PutItemInput{
			TableName: &table, Item: sdkItem("LIST#1"), ConditionExpression: aws.String(missing + " OR revision < :revision"), ExpressionAttributeValues: attributes{":revision": sdkNumber("2")},
		}),
		put("put without a condition", Put{Table: table, Item: append(key("empty"), Bytes("data", nil))}, dynamodb.PutItemInput{
			TableName: &table, Item: attributes{"PK": sdkText("M#a"), "SK": sdkText("empty"), "data": sdkBytes("")},
		}),
		get("get", Get{Table: table, Key: key("LIST"), Consistent: true}, dynamodb.GetItemInput{TableName: &table, Key: sdkKey("LIST"), ConsistentRead: aws.Bool(true)}),
		get("get a part", Get{Table: table, Key: key("LIST"), Projection: "PK"}, dynamodb.GetItemInput{TableName: &table, Key: sdkKey("LIST"), ProjectionExpression: aws.String("PK")}),
		get("get nothing", Get{Table: table, Key: key(nasty)}, dynamodb.GetItemInput{TableName: &table, Key: sdkKey(nasty)}),
		get("get by no key", Get{Table: table, Key: Item{Text("PK", "M#a")}}, dynamodb.GetItemInput{TableName: &table, Key: attributes{"PK": sdkText("M#a")}}),
		get("get from no table", Get{Table: other, Key: key("LIST")}, dynamodb.GetItemInput{TableName: &other, Key: sdkKey("LIST")}),
		{"get a batch", func(ctx context.Context, c *Client) ([]Item, bool, error) {
			found, rest, err := c.BatchGetItem(ctx, Batch{Table: table, Keys: []Item{key("LIST"), key("nothing"), key("empty")}, Consistent: true})
			return found, rest != nil, err
		}, func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
			out, err := c.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: []attributes{sdkKey("LIST"), sdkKey("nothing"), sdkKey("empty")}, ConsistentRead: aws.Bool(true)},
			}})
			if err != nil {
				return nil, false, err
			}
			return out.Responses[table], len(out.UnprocessedKeys) > 0, nil
		}},
		query("query", Query{Table: table, Condition: listed, Values: values}, dynamodb.QueryInput{TableName: &table, KeyConditionExpression: aws.String(listed), ExpressionAttributeValues: sdkValues}),
		query("query a page", Query{Table: table, Condition: listed, Values: values, Projection: "SK", Consistent: true, Limit: 1}, dynamodb.QueryInput{
			TableName: &table, KeyConditionExpression: aws.String(listed), ExpressionAttributeValues: sdkValues, ProjectionExpression: aws.String("SK"), ConsistentRead: aws.Bool(true), Limit: aws.Int32(1),
		}),
		query("query the next page", Query{Table: table, Condition: listed, Values: values, After: key("LIST")}, dynamodb.QueryInput{
			TableName: &table, KeyConditionExpression: aws.String(listed), ExpressionAttributeValues: sdkValues, ExclusiveStartKey: sdkKey("LIST"),
		}),
		query("query nothing", Query{Table: table, Condition: "PK = :partition", Values: Item{Text(":partition", "T")}}, dynamodb.QueryInput{
			TableName: &table, KeyConditionExpression: aws.String("PK = :partition"), ExpressionAttributeValues: attributes{":partition": sdkText("T")},
		}),
		query("query no table", Query{Table: other, Condition: listed, Values: values}, dynamodb.QueryInput{TableName: &other, KeyConditionExpression: aws.String(listed), ExpressionAttributeValues: sdkValues}),
		put("put into no table", Put{Table: other, Item: item("LIST")}, dynamodb.PutItemInput{TableName: &other, Item: sdkItem("LIST")}),
		update("update in no table", Update{Table: other, Key: key("LIST"), Update: "SET used = :day", Values: day}, dynamodb.UpdateItemInput{
			TableName: &other, Key: sdkKey("LIST"), UpdateExpression: aws.String("SET used = :day"), ExpressionAttributeValues: sdkDay,
		}),
		remove("delete in no table", Delete{Table: other, Key: key("LIST")}, dynamodb.DeleteItemInput{TableName: &other, Key: sdkKey("LIST")}),
		{"scan", func(ctx context.Context, c *Client) ([]Item, bool, error) {
			page, err := c.Scan(ctx, Scan{Table: table, Projection: "PK, SK, revision", Filter: "begins_with(PK, :day) OR attribute_exists(PK)", Values: day, After: key("A")})
			return page.Items, page.Last != nil, err
		}, func(ctx context.Context, c *dynamodb.Client) ([]attributes, bool, error) {
			out, err := c.Scan(ctx, &dynamodb.ScanInput{
				TableName: &table, Select: types.SelectSpecificAttributes, ProjectionExpression: aws.String("PK, SK, revision"),
				FilterExpression: aws.String("begins_with(PK, :day) OR attribute_exists(PK)"), ExpressionAttributeValues: sdkDay, ExclusiveStartKey: sdkKey("A"),
			})
			if err != nil {
				return nil, false, err
			}
			return out.Items, out.LastEvaluatedKey != nil, nil
		}},
		update("update", Update{Table: table, Key: key("LIST"), Update: "SET used = :day", Condition: "attribute_not_exists(used) OR used < :day", Values: day}, dynamodb.UpdateItemInput{
			TableName: &table, Key: sdkKey("LIST"), UpdateExpression: aws.String("SET used = :day"), ConditionExpression: aws.String("attribute_not_exists(used) OR used < :day"), ExpressionAttributeValues: sdkDay,
		}),
		update("update what is newer", Update{Table: table, Key: key("LIST"), Update: "SET used = :day", Condition: "used < :day", Values: day}, dynamodb.UpdateItemInput{
			TableName: &table, Key: sdkKey("LIST"), UpdateExpression: aws.String("SET used = :day"), ConditionExpression: aws.String("used < :day"), ExpressionAttributeValues: sdkDay,
		}),
		transact("a transaction", []Write{
			{Put: &Put{Table: table, Item: item("V#1"), Condition: missing}}, {Delete: &Delete{Table: table, Key: key("LIST#1"), Condition: "revision = :read", Values: Item{Number(":read", 1)}}},
		}, []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: sdkItem("V#1"), ConditionExpression: aws.String(missing)}},
			{Delete: &types.Delete{TableName: &table, Key: sdkKey("LIST#1"), ConditionExpression: aws.String("revision = :read"), ExpressionAttributeValues: attributes{":read": sdkNumber("1")}}},
		}),
		transact("a transaction with an update", []Write{
			{Put: &Put{Table: table, Item: item("V#1")}}, {Update: &Update{Table: table, Key: key("head"), Update: "SET s7 = :next", Condition: "attribute_not_exists(s7)", Values: Item{Number(":next", 1)}}},
		}, []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: sdkItem("V#1")}},
			{Update: &types.Update{TableName: &table, Key: sdkKey("head"), UpdateExpression: aws.String("SET s7 = :next"), ConditionExpression: aws.String("attribute_not_exists(s7)"), ExpressionAttributeValues: attributes{":next": sdkNumber("1")}}},
		}),
		get("get what was updated", Get{Table: table, Key: key("head")}, dynamodb.GetItemInput{TableName: &table, Key: sdkKey("head")}),
		transact("a transaction that is cancelled", []Write{
			{Put: &Put{Table: table, Item: item("V#2")}}, {Put: &Put{Table: table, Item: item("V#1"), Condition: missing}},
		}, []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: sdkItem("V#2")}}, {Put: &types.Put{TableName: &table, Item: sdkItem("V#1"), ConditionExpression: aws.String(missing)}},
		}),
		remove("delete, and ask for it", Delete{Table: table, Key: key("LIST"), Condition: "attribute_exists(PK)", ReturnOld: true}, dynamodb.DeleteItemInput{
			TableName: &table, Key: sdkKey("LIST"), ConditionExpression: aws.String("attribute_exists(PK)"), ReturnValues: types.ReturnValueAllOld,
		}),
		remove("delete nothing, on a condition", Delete{Table: table, Key: key("LIST"), Condition: "attribute_exists(PK)", ReturnOld: true}, dynamodb.DeleteItemInput{
			TableName: &table, Key: sdkKey("LIST"), ConditionExpression: aws.String("attribute_exists(PK)"), ReturnValues: types.ReturnValueAllOld,
		}),
		remove("delete", Delete{Table: table, Key: key("V#1")}, dynamodb.DeleteItemInput{TableName: &table, Key: sdkKey("V#1")}),
	}
}

// one is the item, if there is an item.
func one[T any](i T, exists bool) []T {
	if !exists {
		return nil
	}
	return []T{i}
}

func (o operation) byWire(ctx context.Context, c *Client) result {
	items, more, err := o.wire(ctx, c)
	r := result{more: more}
	for _, i := range items {
		r.items = append(r.items, sdkAttributes(i))
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		r.code, r.reasons, r.old = refused.Code, refused.Reasons, sdkAttributes(refused.Item)
	} else if err != nil {
		r.code = err.Error()
	}
	return r.sorted()
}

func (o operation) bySDK(ctx context.Context, c *dynamodb.Client) result {
	items, more, err := o.sdk(ctx, c)
	r := result{items: items, more: more}
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		r.code = refused.ErrorCode()
	} else if err != nil {
		r.code = err.Error()
	}
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, reason := range cancelled.CancellationReasons {
			r.reasons = append(r.reasons, *reason.Code)
		}
	}
	if condition, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		r.old = condition.Item
	}
	return r.sorted()
}

// sorted sorts by SK, since a batch has no order. No items are nil.
func (r result) sorted() result {
	name := func(i attributes) string { return i["SK"].(*types.AttributeValueMemberS).Value }
	r.items = slices.SortedFunc(slices.Values(r.items), func(i, j attributes) int { return cmp.Compare(name(i), name(j)) })
	return r
}

func sdkAttributes(i Item) attributes {
	if i == nil {
		return nil
	}
	all := attributes{}
	for _, a := range i {
		switch a.kind {
		case stringKind:
			all[a.name] = sdkText(a.value)
		case numberKind:
			all[a.name] = sdkNumber(a.value)
		case bytesKind:
			data, err := base64.StdEncoding.DecodeString(a.value)
			if err != nil {
				panic(err)
			}
			all[a.name] = &types.AttributeValueMemberB{Value: data}
		}
	}
	return all
}

// TestSameResults asks DynamoDB Local, in a table for each client.
func TestSameResults(t *testing.T) {
	engine := dynamotest.Start(t)
	client, err := New(Config{Region: engine.Region, Credentials: engine.Credentials(), Endpoint: engine.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	client.timeout = time.Minute // DynamoDB Local is slow on a busy machine, and a write that is sent twice fails
	byWire, bySDK := operations(engine.CreateTable(t)), operations(engine.CreateTable(t))
	codes := map[string]int{}
	for n, o := range byWire {
		got, want := o.byWire(t.Context(), client), bySDK[n].bySDK(t.Context(), engine.Client())
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", o.name, got, want)
		}
		codes[want.code]++
	}
	want := map[string]int{"": len(byWire) - 11, "ConditionalCheckFailedException": 4, "TransactionCanceledException": 1, "ResourceNotFoundException": 5, "ValidationException": 1}
	if !reflect.DeepEqual(codes, want) {
		t.Errorf("the errors are %v, want %v", codes, want)
	}
}

// recorder notes the last request, and answers that nothing was found.
type recorder struct {
	request *http.Request
	body    []byte
}

func (r *recorder) RoundTrip(request *http.Request) (response *http.Response, err error) {
	r.request = request
	if r.body, err = io.ReadAll(request.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"Items":[],"Responses":{}}`))}, nil
}

// TestSameRequests compares what both clients send: where, with the same meaning, and with
// the same signature. For that, the SDK signs without the headers that this package does not
// send, and over the same JSON, since that may have its members in any order.
func TestSameRequests(t *testing.T) {
	key := credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")
	session := credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "a/session+token==")
	for name, cfg := range map[string]Config{
		"Amazon's":       {Region: "eu-central-1", Credentials: key},
		"with a session": {Region: "us-gov-west-1", Credentials: session},
		"in China":       {Region: "cn-north-1", Credentials: key},
		"another":        {Region: "us-east-1", Credentials: session, Endpoint: "http://127.0.0.1:8000"},
		"by its port":    {Region: "us-east-1", Credentials: key, Endpoint: "https://dynamodb.example.com:443/"},
		"below a path":   {Region: "us-east-1", Credentials: key, Endpoint: "https://example.com/dynamodb"},
		"below another":  {Region: "us-east-1", Credentials: key, Endpoint: "http://127.0.0.1:80/a%20b/~é+,"},
	} {
		for _, o := range operations("larder") {
			t.Run(name+", "+o.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { sameRequest(t, cfg, o) }) // where the time is the same
			})
		}
	}
}

func sameRequest(t *testing.T, cfg Config, o operation) {
	var wire, plain, signed recorder
	cfg.Transport = &wire
	client, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sdk := dynamodb.Options{Region: cfg.Region, Credentials: cfg.Credentials, HTTPClient: &http.Client{Transport: &plain}}
	if cfg.Endpoint != "" {
		sdk.BaseEndpoint = &cfg.Endpoint
	}
	got, want := o.byWire(t.Context(), client), o.bySDK(t.Context(), dynamodb.New(sdk))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := meaning(t, wire.body), meaning(t, plain.body); !reflect.DeepEqual(got, want) {
		t.Errorf("the request is %v, want %v", got, want)
	}
	sdk.HTTPClient = &http.Client{Transport: &signed}
	sdk.APIOptions = append(sdk.APIOptions, signBody(wire.body))
	if got := o.bySDK(t.Context(), dynamodb.New(sdk)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	type sent struct {
		method, url, host, body string
		length                  int64
		header                  http.Header
	}
	of := func(r recorder) sent {
		header := r.request.Header.Clone()
		header.Del("User-Agent")
		return sent{r.request.Method, r.request.URL.String(), cmp.Or(r.request.Host, r.request.URL.Host), string(r.body), r.request.ContentLength, header}
	}
	if got, want := of(wire), of(signed); !reflect.DeepEqual(got, want) {
		t.Errorf("sent is\n%+v, want\n%+v", got, want)
	}
	if len(wire.request.Header["Authorization"]) != 1 {
		t.Error("it is not signed")
	}
}

// signBody makes the SDK send another body, without its own headers.
func signBody(body []byte) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("body", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			r := in.Request.(*smithyhttp.Request)
			for name := range r.Header {
				if strings.HasPrefix(name, "Amz-Sdk-") {
					r.Header.Del(name)
				}
			}
			r, err := r.SetStream(bytes.NewReader(body))
			if err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, err
			}
			r.ContentLength = int64(len(body))
			in.Request = r
			return next.HandleFinalize(ctx, in)
		}), "ComputePayloadHash", middleware.Before)
	}
}

// meaning is what a request's JSON says. The token of a transaction is random.
func meaning(t *testing.T, body []byte) (members map[string]any) {
	t.Helper()
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if token, ok := members["ClientRequestToken"]; ok {
		if token, _ := token.(string); len(token) < 20 || len(token) > 36 {
			t.Errorf("the token is %q", token)
		}
		members["ClientRequestToken"] = "random"
	}
	return members
}

// TestEndpoints compares the endpoints of regions with those of the SDK.
func TestEndpoints(t *testing.T) {
	for _, region := range []string{
		"us-east-1", "eu-central-1", "ap-southeast-5", "sa-east-1", "ca-west-1", "me-central-1", "af-south-1", "il-central-1", "mx-central-1", "us-gov-east-1",
		"cn-north-1", "cn-northwest-1", "eusc-de-east-1", "us-iso-east-1", "us-isob-east-1", "us-isof-south-1", "eu-isoe-west-1",
	} {
		got, err := endpoint("", region)
		if err != nil {
			t.Fatal(err)
		}
		want, err := dynamodb.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), dynamodb.EndpointParameters{Region: &region}.WithDefaults())
		if err != nil || strings.TrimSuffix(got.String(), "/") != want.URI.String() {
			t.Errorf("%s is at %s, want %s, %v", region, got, want.URI.String(), err)
		}
	}
	for given, want := range map[string]string{
		"http://127.0.0.1:8000": "http://127.0.0.1:8000/", "https://example.com/a/b": "https://example.com/a/b", "http://[::1]:8000/": "http://[::1]:8000/",
		"http://example.com?a=b": "http://example.com/", "http://example.com/?": "http://example.com/", "http://example.com/#a": "http://example.com/",
	} {
		if got, err := endpoint(given, "us-east-1"); err != nil || got.String() != want {
			t.Errorf("%s is %v, %v, want %s", given, got, err, want)
		}
	}
	for _, bad := range []string{"", "a b", "eu.central", "-eu", "eu-", "a/b", "é", strings.Repeat("a", 64)} {
		for _, given := range []string{"", "http://127.0.0.1:8000"} {
			if _, err := New(Config{Region: bad, Credentials: aws.AnonymousCredentials{}, Endpoint: given}); err == nil || !strings.Contains(err.Error(), "is not a name such as") {
				t.Errorf("region %q, endpoint %q: %v", bad, given, err)
			}
		}
	}
	for _, good := range []string{"local", "garage", "US-EAST-1", "0", strings.Repeat("a", 63)} {
		if _, err := New(Config{Region: good, Credentials: aws.AnonymousCredentials{}}); err != nil {
			t.Errorf("region %q: %v", good, err)
		}
	}
	for _, bad := range []string{"example.com", "ftp://example.com", "http://", "http://a b", "://"} {
		if _, err := New(Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, Endpoint: bad}); err == nil || !strings.Contains(err.Error(), "is not a URL such as") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
