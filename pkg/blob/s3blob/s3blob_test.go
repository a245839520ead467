package s3blob_test

import (
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/publish"
)

// configFor is how the bucket of a test server is used.
func configFor(s *s3test.Server) s3blob.Config {
	return s3blob.Config{
		Bucket:      s.Bucket,
		Region:      s.Region,
		Credentials: s3blob.StaticCredentials(s.AccessKey, s.SecretKey),
		Endpoint:    s.Endpoint,
		PathStyle:   true,
		URLLifetime: 15 * time.Minute,
	}
}

// configAt is how the bucket of a made-up server is used.
func configAt(endpoint string) s3blob.Config {
	return configFor(&s3test.Server{
		Endpoint: endpoint, Region: "us-east-1", AccessKey: "id", SecretKey: "secret", Bucket: "larder",
	})
}

func newBucket(t *testing.T, cfg s3blob.Config) *s3blob.Bucket {
	t.Helper()
	b, err := s3blob.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBucket(t *testing.T) {
	blobtest.Test(t, func(t *testing.T) (publish.Bucket, blobtest.User) {
		s := s3test.Start(t)
		return newBucket(t, configFor(s)), s
	})
}
