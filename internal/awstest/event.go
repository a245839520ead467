package awstest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// created is an object version in an event of S3.
type created struct {
	event   string // Put, Copy or CompleteMultipartUpload
	key     string
	version string
	etag    string // without quotes
	size    int64
}

// notification returns the message that S3 sends about a created object. See
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
func (s *Stack) notification(c created) string {
	now := time.Now().UTC()
	return encode(map[string]any{"Records": []any{map[string]any{
		"eventVersion": "2.1",
		"eventSource":  "aws:s3",
		"awsRegion":    region,
		"eventTime":    now.Format("2006-01-02T15:04:05.000Z"),
		"eventName":    "ObjectCreated:" + c.event,
		"userIdentity": map[string]string{"principalId": "AWS:AIDACKCEVSQ6C2EXAMPLE"},
		"requestParameters": map[string]string{
			"sourceIPAddress": "127.0.0.1",
		},
		"responseElements": map[string]string{
			"x-amz-request-id": "C3D13FE58DE4C810",
			"x-amz-id-2":       "FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S/JRWeUWerMUE5JgHvANOjpD",
		},
		"s3": map[string]any{
			"s3SchemaVersion": "1.0",
			"configurationId": "2f1b6d3e-5a0b-4c57-9f0e-0c9c1f1c2d3e",
			"bucket": map[string]any{
				"name":          s.Bucket,
				"ownerIdentity": map[string]string{"principalId": "A3NL1KOZZKExample"},
				"arn":           objectARN(s.Bucket, ""),
			},
			"object": map[string]any{
				"key":       formEncoded(c.key),
				"size":      c.size,
				"eTag":      c.etag,
				"versionId": c.version,
				"sequencer": fmt.Sprintf("%018X", now.UnixNano()),
			},
		},
	}}})
}

// testNotification returns the message with which S3 tests a queue when the bucket's
// notification is set.
func (s *Stack) testNotification() string {
	return encode(map[string]string{
		"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"Bucket": s.Bucket, "RequestId": "5582815E1AEA5ADF", "HostId": rand.Text(),
	})
}

// formEncoded writes a key as in S3's events: a space becomes a plus sign, a slash stays.
func formEncoded(key string) string {
	return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
}

// encode writes a document that can always be written.
func encode(document any) string {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	return string(text)
}
