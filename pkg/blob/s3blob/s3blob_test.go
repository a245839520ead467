package s3blob_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// configFor is how the bucket of a test server is used.
func configFor(s *s3test.Server) s3blob.Config {
	return s3blob.Config{
		Bucket:      s.Bucket,
		Region:      s.Region,
		Credentials: s3blob.StaticCredentials(s.AccessKey, s.SecretKey),
		Endpoint:    s.Endpoint,
		PathStyle:   true,
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
	blobtest.Test(t, func(t *testing.T) (blob.Bucket, blobtest.User) {
		s := s3test.Start(t)
		return newBucket(t, configFor(s)), s
	})
}

// Delete markers are listed by themselves, and what is removed does not come back.
func TestMarkersAndRemove(t *testing.T) {
	s := s3test.Start(t)
	bucket := newBucket(t, configFor(s))
	const key = "inbox/b c+d"
	version := s.Upload(t, key, []byte("x"), nil)
	s.Upload(t, "inbox/a", []byte("x"), nil)
	s.Upload(t, "other/a", []byte("x"), nil)
	for _, deleted := range []string{key, key, "inbox/a", "other/a"} {
		s.Delete(t, deleted)
	}
	want := []string{"inbox/a", key, key}
	var markers []blob.Object
	note := func(marker blob.Object) error { markers = append(markers, marker); return nil }
	if err := bucket.Markers(t.Context(), "inbox/", note); err != nil || !slices.Equal(keys(markers), want) {
		t.Fatalf("there are %+v, %v, want %q", markers, err, want)
	}
	remove := func(marker blob.Object) error { return bucket.Remove(t.Context(), marker.Key, marker.Version) }
	if err := bucket.Markers(t.Context(), "inbox/", remove); err != nil {
		t.Fatal(err)
	}
	for _, marker := range markers { // a second time is not an error
		if err := remove(marker); err != nil {
			t.Error(err)
		}
	}
	if object, err := bucket.Head(t.Context(), key); err != nil || object.Version != version {
		t.Errorf("without its markers it is %+v, %v", object, err)
	}
	if err := bucket.Remove(t.Context(), key, version); err != nil {
		t.Error(err)
	}
	if _, err := bucket.Head(t.Context(), key); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("what is removed: %v", err)
	}
	markers = nil
	if err := bucket.Markers(t.Context(), "", note); err != nil || !slices.Equal(keys(markers), []string{"other/a"}) {
		t.Errorf("there are %+v, %v", markers, err)
	}
	errStop := errors.New("stop")
	if err := bucket.Markers(t.Context(), "", func(blob.Object) error { return errStop }); !errors.Is(err, errStop) {
		t.Errorf("what failed: %v", err)
	}
	broken, _ := scripted(t, answer{http.StatusForbidden, "AccessDenied"})
	if err := broken.Remove(t.Context(), key, version); err == nil || errors.Is(err, registry.ErrNotFound) {
		t.Errorf("what must not be removed: %v", err)
	}
	if err := broken.Markers(t.Context(), "", note); err == nil {
		t.Error("markers that must not be listed are none")
	}
}

func keys(objects []blob.Object) (keys []string) {
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}
