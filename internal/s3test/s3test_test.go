package s3test_test

import (
	"maps"
	"os"
	"testing"

	"github.com/larder-registry/larder/internal/s3test"
)

// TestStart starts one server after another, each with a bucket of its own.
func TestStart(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			s := s3test.Start(t)
			tags := map[string]string{"team": "a b+c"}
			version := s.Upload(t, "a/b.zip", []byte("1"), tags)
			if again := s.Upload(t, "a/b.zip", []byte("2"), nil); version == "" || again == version {
				t.Errorf("versions %q and %q, want two", version, again)
			}
			s.Delete(t, "a/b.zip")
			if got := s.Tags(t, "a/b.zip", version); !maps.Equal(got, tags) {
				t.Errorf("tags = %v, want %v", got, tags)
			}
		})
	}
	if after, err := os.Getwd(); err != nil || after != before {
		t.Errorf("working directory = %q, %v, want %q again", after, err, before)
	}
}
