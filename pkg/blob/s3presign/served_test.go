package s3presign_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
)

// get asks as a client does, which has nothing but the URL.
func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// TestServed checks with a server that a URL opens one key and no other, and says what is
// missing when the object is.
func TestServed(t *testing.T) {
	server := s3test.Start(t)
	presigner, err := s3presign.New(s3presign.Config{
		Bucket: server.Bucket, Region: server.Region, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
		Endpoint: server.Endpoint, PathStyle: true, Lifetime: 15 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	presign := func(key string) string {
		address, err := presigner.PresignGet(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	for _, key := range []string{"a/one", "a/two", "plus+ space%2Fpercent?q=1&#x'(ü)"} {
		server.Upload(t, key, []byte("the body of "+key), nil)
		if status, body := get(t, presign(key)); status != http.StatusOK || body != "the body of "+key {
			t.Errorf("%s: status %d, %q", key, status, body)
		}
	}
	address := presign("a/one")
	unsigned, _, _ := strings.Cut(address, "?")
	for name, c := range map[string]struct {
		address string
		want    int
	}{
		"another key": {strings.Replace(address, "a/one", "a/two", 1), http.StatusForbidden},
		"longer":      {strings.Replace(address, "X-Amz-Expires=900", "X-Amz-Expires=9000", 1), http.StatusForbidden},
		"unsigned":    {unsigned, http.StatusForbidden},
		"missing":     {presign("a/three"), http.StatusNotFound},
	} {
		if status, _ := get(t, c.address); status != c.want {
			t.Errorf("%s: status %d, want %d", name, status, c.want)
		}
	}
}
