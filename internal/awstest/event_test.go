package awstest

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/larder-registry/larder/internal/templatetest"
)

func TestFormEncoded(t *testing.T) {
	for key, want := range map[string]string{
		"modules/acme/net/aws/1.0.0.zip":      "modules/acme/net/aws/1.0.0.zip",
		"modules/acme/net/aws/1.0.0+b.tar.gz": "modules/acme/net/aws/1.0.0%2Bb.tar.gz",
		"keys/acme/my key.asc":                "keys/acme/my+key.asc",
		"keys/acme/schlüssel.asc":             "keys/acme/schl%C3%BCssel.asc",
		"keys/acme/100%.asc":                  "keys/acme/100%25.asc",
	} {
		got := formEncoded(key)
		if got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
		if back, err := url.QueryUnescape(got); err != nil || back != key {
			t.Errorf("%s comes back as %q, %v", key, back, err)
		}
	}
}

func TestNotification(t *testing.T) {
	s := &Stack{Bucket: "larder", Deployment: &templatetest.Deployment{}}
	var event struct {
		Records []struct {
			EventName    string
			UserIdentity map[string]string
			S3           struct {
				Bucket struct{ Name, Arn string }
				Object struct {
					Key, ETag, VersionID string
					Size                 int64
				}
			}
		}
	}
	text := s.notification(created{event: "Copy", key: "keys/a b.asc", version: "v1", etag: "e", size: 7})
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	record := event.Records[0]
	object := record.S3.Object
	if record.EventName != "ObjectCreated:Copy" || record.UserIdentity["principalId"] == "" || record.S3.Bucket.Arn != "arn:aws:s3:::larder" ||
		object.Key != "keys/a+b.asc" || object.ETag != "e" || object.VersionID != "v1" || object.Size != 7 {
		t.Errorf("%s", text)
	}
}
