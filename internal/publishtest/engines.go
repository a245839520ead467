package publishtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
)

// Storage is an empty bucket, as its users reach it and as the registry does:
// straight, or with every call through a caller.
type Storage struct {
	user    blobtest.User
	bucket  blob.Bucket
	through func(Caller) blob.Bucket
}

// EmptyCatalog is one, reached straight or through a caller.
type EmptyCatalog struct {
	Index   publishing.Index
	through func(Caller) publishing.Index
}

// Engine is something that storages or catalogs run on.
type Engine[T any] struct {
	Name string
	Open func(*testing.T) T
}

// The engines.
var (
	Storages = []Engine[Storage]{{"memory", InMemory}, {"S3", OnS3}}
	Catalogs = []Engine[EmptyCatalog]{{"bolt", OnBolt}, {"DynamoDB", OnDynamoDB}}
)

// OnS3 is a bucket on a real S3. Its calls are the requests to it.
func OnS3(t *testing.T) Storage {
	t.Helper()
	s := s3test.Start(t)
	bucket, err := OpenBucket(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Storage{s, bucket, func(c Caller) blob.Bucket {
		bucket, err := OpenBucket(s, requests{c, nameS3Request, http.StatusForbidden, "application/xml", s3Refusal})
		if err != nil {
			t.Fatal(err)
		}
		return bucket
	}}
}

// OpenBucket opens a server's bucket. A nil transport is that of s3blob.
func OpenBucket(s *s3test.Server, transport http.RoundTripper) (*s3blob.Bucket, error) {
	return s3blob.New(s3blob.Config{
		Bucket: s.Bucket, Region: s.Region, Endpoint: s.Endpoint, PathStyle: true, Transport: transport,
		Credentials: s3blob.StaticCredentials(s.AccessKey, s.SecretKey),
	})
}

// InMemory is a bucket that takes more requests in a second than a server does.
func InMemory(t *testing.T) Storage {
	b := blobtest.NewMemory()
	t.Cleanup(func() {
		if n := b.Unclosed(); n != 0 {
			t.Errorf("%d bodies that were read are still open", n)
		}
	})
	return Storage{b, b, func(c Caller) blob.Bucket { return FaultyBucket{c, b} }}
}

// OnBolt is a catalog on bbolt.
func OnBolt(t *testing.T) EmptyCatalog {
	t.Helper()
	c, err := boltcatalog.Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return EmptyCatalog{c, func(through Caller) publishing.Index { return FaultyIndex{through, c} }}
}

// OnDynamoDB is a catalog on a real DynamoDB. Its calls are the requests to it.
func OnDynamoDB(t *testing.T) EmptyCatalog {
	t.Helper()
	engine := dynamotest.Start(t)
	cfg := dynamocatalog.Config{
		Table: engine.CreateTable(t), Region: engine.Region, Credentials: engine.Credentials(), Endpoint: engine.Endpoint,
	}
	open := func(transport http.RoundTripper) publishing.Index {
		cfg := cfg
		cfg.Transport = transport
		c, err := dynamocatalog.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return EmptyCatalog{open(nil), func(c Caller) publishing.Index {
		return open(requests{c, nameDynamoDBRequest, http.StatusBadRequest, "application/x-amz-json-1.0", dynamoDBRefusal})
	}}
}

// requests is a transport that makes each request a call. What the caller fails
// is answered with a refusal, after which a client does not try again.
type requests struct {
	Caller
	name        func(*http.Request) string
	status      int
	contentType string
	refusal     string
}

const (
	s3Refusal       = `<Error><Code>AccessDenied</Code><Message>failed by the test</Message></Error>`
	dynamoDBRefusal = `{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException","message":"failed by the test"}`
)

// RoundTrip implements [http.RoundTripper].
func (r requests) RoundTrip(request *http.Request) (response *http.Response, err error) {
	served := false
	err = r.Call(r.name(request), func() error {
		served = true
		response, err = http.DefaultTransport.RoundTrip(request)
		return err
	})
	if !errors.Is(err, ErrFault) {
		return response, err
	}
	if response != nil {
		response.Body.Close()
	}
	if !served && request.Body != nil {
		request.Body.Close() // as a RoundTripper must
	}
	return &http.Response{
		StatusCode: r.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {r.contentType}},
		Body: io.NopCloser(strings.NewReader(r.refusal)), Request: request,
	}, nil
}

// nameS3Request tells what is done to which object: "PUT keys/acme/a.asc", or
// "PUT tagging of keys/acme/a.asc".
func nameS3Request(r *http.Request) string {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	for _, of := range []string{"tagging", "versions", "list-type"} {
		if query.Has(of) {
			return r.Method + " " + of + " of " + key + query.Get("prefix")
		}
	}
	return r.Method + " " + key
}

// shards are the partitions of the directory: another one for each address.
var shards = regexp.MustCompile(`D#\d+`)

// nameDynamoDBRequest tells the operation and the item: "PutItem P#acme/widget
// LIST".
func nameDynamoDBRequest(r *http.Request) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return operation
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	type value struct{ S string }
	type key struct{ PK, SK value }
	var body struct {
		Key, Item                 key
		ExpressionAttributeValues map[string]value
	}
	if json.Unmarshal(data, &body) != nil {
		return operation
	}
	of := body.ExpressionAttributeValues
	name := strings.Join(strings.Fields(strings.Join([]string{
		operation, body.Key.PK.S, body.Key.SK.S, body.Item.PK.S, body.Item.SK.S, of[":partition"].S, of[":list"].S,
	}, " ")), " ")
	return shards.ReplaceAllString(name, "D#…")
}
