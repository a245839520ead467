package s3blob_test

import (
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/blob/s3blob"
)

func TestNew(t *testing.T) {
	whole := s3blob.Config{
		Bucket:      "larder",
		Region:      "eu-central-1",
		Credentials: s3blob.StaticCredentials("id", "secret"),
	}
	if _, err := s3blob.New(whole); err != nil {
		t.Errorf("New of a whole config = %v", err)
	}
	for name, c := range map[string]struct {
		change func(*s3blob.Config)
		want   string
	}{
		"no bucket":      {func(c *s3blob.Config) { c.Bucket = "" }, "no Bucket is set"},
		"no region":      {func(c *s3blob.Config) { c.Region = "" }, "no Region is set"},
		"no credentials": {func(c *s3blob.Config) { c.Credentials = nil }, "no Credentials are set"},
	} {
		cfg := whole
		c.change(&cfg)
		if _, err := s3blob.New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: New = %v, want an error with %q", name, err, c.want)
		}
	}
}
