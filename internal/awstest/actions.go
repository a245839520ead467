package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// operationOf returns the operation of a request in AWS JSON, without the protocol's name.
func operationOf(r *http.Request) string {
	target := r.Header.Get("X-Amz-Target")
	return target[strings.LastIndex(target, ".")+1:]
}

// kmsCalls returns the permissions that a request to KMS needs.
func kmsCalls(r *http.Request, body []byte) ([]Call, error) {
	var input struct {
		KeyID string `json:"KeyId"`
	}
	if err := json.Unmarshal(body, &input); err != nil {
		return nil, fmt.Errorf("a request to KMS: %w", err)
	}
	action := "kms:" + operationOf(r)
	return []Call{{Action: action, Resource: input.KeyID, Request: action}}, nil
}

// sqsCalls returns the permissions that a request to SQS needs. The request names the queue by
// its URL, whose path is its account and name.
func sqsCalls(r *http.Request, body []byte) ([]Call, error) {
	var input sqsInput
	if err := json.Unmarshal(body, &input); err != nil {
		return nil, fmt.Errorf("a request to SQS: %w", err)
	}
	at, err := url.Parse(input.QueueURL)
	if err != nil {
		return nil, fmt.Errorf("a request to SQS: %w", err)
	}
	action, name := "sqs:"+operationOf(r), strings.ReplaceAll(strings.TrimPrefix(at.Path, "/"), "/", ":")
	return []Call{{Action: action, Resource: "arn:aws:sqs:" + region + ":" + name, Request: action}}, nil
}

type item map[string]map[string]any

// dynamoInput is the part of a request to DynamoDB that names its items.
type dynamoInput struct {
	TableName                 string
	Key, Item                 item
	KeyConditionExpression    string
	ProjectionExpression      string
	UpdateExpression          string
	ConditionExpression       string
	Select                    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues item
	TransactItems             []map[string]dynamoInput
	RequestItems              map[string]struct{ Keys []item }
}

// dynamoCalls returns the permissions that a request to DynamoDB needs. Several items or tables
// are authorized one by one.
func dynamoCalls(tableARN func(name string) string) func(r *http.Request, body []byte) ([]Call, error) {
	return func(r *http.Request, body []byte) ([]Call, error) {
		var input dynamoInput
		if err := json.Unmarshal(body, &input); err != nil {
			return nil, fmt.Errorf("a request to DynamoDB: %w", err)
		}
		operation := operationOf(r)
		made := input.calls(operation, tableARN)
		if len(made) == 0 {
			return nil, fmt.Errorf("a request to DynamoDB for nothing: %s", operation)
		}
		made[0].Request = "dynamodb:" + operation
		return made, nil
	}
}

func (in dynamoInput) calls(operation string, tableARN func(string) string) []Call {
	var made []Call
	call := func(operation, table string, key any) {
		made = append(made, Call{
			Action: "dynamodb:" + operation, Resource: tableARN(table),
			Context: map[string]string{"dynamodb:LeadingKeys": fmt.Sprint(key)},
		})
	}
	for _, change := range in.TransactItems {
		for kind, part := range change { // Put, Update, Delete, ConditionCheck, Get
			call(kind+"Item", part.TableName, part.partition())
		}
	}
	for table, wanted := range in.RequestItems {
		for _, key := range wanted.Keys {
			call(operation, table, dynamoInput{Key: key}.partition())
		}
	}
	switch {
	case in.TableName == "":
	case operation == "Scan":
		made = append(made, in.scanCalls(tableARN(in.TableName))...)
	case operation == "UpdateItem":
		made = append(made, in.updateCalls(tableARN(in.TableName))...)
	default:
		call(operation, in.TableName, in.partition())
	}
	return made
}

// scanCalls returns one call for each requested attribute: a condition on all of them holds if
// it holds for each. A Scan has no leading keys.
func (in dynamoInput) scanCalls(table string) []Call {
	var made []Call
	for attribute := range strings.SplitSeq(in.ProjectionExpression, ",") {
		context := map[string]string{}
		if in.Select != "" {
			context["dynamodb:Select"] = in.Select
		}
		if attribute = strings.TrimSpace(attribute); attribute != "" {
			context["dynamodb:Attributes"] = cmp.Or(in.ExpressionAttributeNames[attribute], attribute)
		}
		made = append(made, Call{Action: "dynamodb:Scan", Resource: table, Context: context})
	}
	return made
}

// updateCalls returns one call for each attribute that an update uses, with those of the key.
func (in dynamoInput) updateCalls(table string) []Call {
	attributes := slices.Collect(maps.Keys(in.Key))
	for _, word := range named.FindAllString(in.UpdateExpression+" "+in.ConditionExpression, -1) {
		if word[0] != ':' && !slices.Contains(words, strings.ToLower(word)) {
			attributes = append(attributes, cmp.Or(in.ExpressionAttributeNames[word], word))
		}
	}
	slices.Sort(attributes)
	var made []Call
	for _, attribute := range slices.Compact(attributes) {
		made = append(made, Call{Action: "dynamodb:UpdateItem", Resource: table, Context: map[string]string{
			"dynamodb:LeadingKeys": fmt.Sprint(in.partition()), "dynamodb:Attributes": attribute,
		}})
	}
	return made
}

// named are the names and values in an expression, and words are the words of the language,
// which are not attributes here.
var (
	named = regexp.MustCompile(`[:#]?[A-Za-z_][A-Za-z0-9_]*`)
	words = []string{
		"set", "remove", "add", "delete", "and", "or", "not", "between", "in", "if_not_exists", "list_append",
		"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size",
	}
)

const partitionKey = "PK"

var equals = regexp.MustCompile(`([#\w]+)\s*=\s*(:\w+)`)

// partition is the value of the partition key.
func (in dynamoInput) partition() any {
	for _, from := range []item{in.Key, in.Item} {
		if value, ok := from[partitionKey]; ok {
			return value["S"]
		}
	}
	for _, match := range equals.FindAllStringSubmatch(in.KeyConditionExpression, -1) {
		if cmp.Or(in.ExpressionAttributeNames[match[1]], match[1]) == partitionKey {
			return in.ExpressionAttributeValues[match[2]]["S"]
		}
	}
	return nil
}

// s3Request is a request to S3 in path style, taken apart.
type s3Request struct {
	method      string
	bucket, key string // key is decoded
	query       url.Values
	header      http.Header
}

func readS3Request(r *http.Request) s3Request {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return s3Request{r.Method, bucket, key, r.URL.Query(), r.Header}
}

// operation returns the name of the requested operation.
// See https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html
func (r s3Request) operation() string {
	has := r.query.Has
	kind := "Object"
	if r.key == "" {
		kind = "Bucket"
	}
	switch verb := map[string]string{"GET": "Get", "HEAD": "Head", "PUT": "Put", "DELETE": "Delete", "POST": "Post"}[r.method]; {
	case has("tagging"):
		return verb + kind + "Tagging"
	case kind == "Bucket" && verb == "Get" && has("versions"):
		return "ListObjectVersions"
	case kind == "Bucket" && verb == "Get" && has("list-type"):
		return "ListObjectsV2"
	case kind == "Bucket":
		return verb + kind
	case has("uploads"):
		return "CreateMultipartUpload"
	case has("uploadId") && verb == "Put" && r.copySource() != "":
		return "UploadPartCopy"
	case has("uploadId"):
		return map[string]string{
			"Put": "UploadPart", "Post": "CompleteMultipartUpload", "Delete": "AbortMultipartUpload", "Get": "ListParts",
		}[verb]
	case verb == "Put" && r.copySource() != "":
		return "CopyObject"
	default:
		return verb + kind
	}
}

func (r s3Request) copySource() string { return r.header.Get("X-Amz-Copy-Source") }

// s3Actions are the permissions of operations whose one permission has another name.
// See https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
var s3Actions = map[string]string{
	"HeadObject":              "GetObject",
	"HeadBucket":              "ListBucket",
	"ListObjectsV2":           "ListBucket",
	"ListObjectVersions":      "ListBucketVersions",
	"CopyObject":              "PutObject",
	"CreateMultipartUpload":   "PutObject",
	"UploadPart":              "PutObject",
	"UploadPartCopy":          "PutObject",
	"CompleteMultipartUpload": "PutObject",
	"ListParts":               "ListMultipartUploadParts",
}

// versionActions are the permissions whose name differs if the request names a version.
var versionActions = map[string]string{
	"GetObject":           "GetObjectVersion",
	"DeleteObject":        "DeleteObjectVersion",
	"GetObjectTagging":    "GetObjectVersionTagging",
	"PutObjectTagging":    "PutObjectVersionTagging",
	"DeleteObjectTagging": "DeleteObjectVersionTagging",
}

// s3Calls returns the permissions that a request to S3 needs.
func s3Calls(r *http.Request, _ []byte) ([]Call, error) {
	request := readS3Request(r)
	operation := request.operation()
	action := cmp.Or(s3Actions[operation], operation)
	if request.query.Has("versionId") {
		action = cmp.Or(versionActions[action], action)
	}
	made := []Call{{Action: "s3:" + action, Resource: objectARN(request.bucket, request.key), Request: "s3:" + operation}}
	made[0].Context = request.context()
	more, err := copyCalls(request)
	if err != nil {
		return nil, err
	}
	made = append(made, more...)
	if action == "PutObject" && request.header.Get("X-Amz-Tagging") != "" {
		made = append(made, Call{Action: "s3:PutObjectTagging", Resource: made[0].Resource})
	}
	return made, nil
}

// context returns the condition keys of a request.
func (r s3Request) context() map[string]string {
	context := map[string]string{}
	if prefix := r.query.Get("prefix"); prefix != "" {
		context["s3:prefix"] = prefix
	}
	if condition := r.header.Get("If-None-Match"); condition != "" && r.method != http.MethodGet && r.method != http.MethodHead {
		context["s3:if-none-match"] = condition
	}
	return context
}

// source is the source of a copy.
type source struct{ bucket, key, version string }

// copied returns the object that a request copies, or a zero source.
func (r s3Request) copied() (source, error) {
	path, version, _ := strings.Cut(r.copySource(), "?versionId=")
	name, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		return source{}, fmt.Errorf("the source of a copy, %q: %w", r.copySource(), err)
	}
	bucket, key, _ := strings.Cut(name, "/")
	return source{bucket, key, version}, nil
}

// copyCalls are the permissions that reading a copy's source takes. Its tags
// are read too, unless they are to be replaced.
func copyCalls(r s3Request) ([]Call, error) {
	from, err := r.copied()
	if err != nil || from.key == "" {
		return nil, err
	}
	actions := []string{"GetObject"}
	if r.operation() == "CopyObject" && r.header.Get("X-Amz-Tagging-Directive") != "REPLACE" {
		actions = append(actions, "GetObjectTagging")
	}
	var made []Call
	for _, action := range actions {
		if from.version != "" {
			action = versionActions[action]
		}
		made = append(made, Call{Action: "s3:" + action, Resource: objectARN(from.bucket, from.key)})
	}
	return made, nil
}

// objectARN is the ARN of an object, or of a bucket where key is empty.
func objectARN(bucket, key string) string {
	arn := "arn:aws:s3:::" + bucket
	if key != "" {
		arn += "/" + key
	}
	return arn
}
