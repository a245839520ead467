package s3blob_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
	"github.com/larder-registry/larder/pkg/registry"
)

// get asks as a client does, which has nothing but the URL.
func get(t *testing.T, address string) (status int, header http.Header, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	response, err := client.Get(address)
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
	return response.StatusCode, response.Header, string(content)
}

// presignerFor makes URLs of the bucket of a test server.
func presignerFor(t *testing.T, s *s3test.Server) *s3presign.Presigner {
	t.Helper()
	p, err := s3presign.New(s3presign.Config{
		Bucket: s.Bucket, Region: s.Region, Credentials: s3blob.StaticCredentials(s.AccessKey, s.SecretKey),
		Endpoint: s.Endpoint, PathStyle: true, Lifetime: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHeaders checks that a client gets an object with the headers of its kind.
func TestHeaders(t *testing.T) {
	server := s3test.Start(t)
	bucket, presigner := newBucket(t, configFor(server)), presignerFor(t, server)
	const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const immutable = "private, max-age=31536000, immutable"
	for _, c := range []struct{ key, contentType, cacheControl string }{
		{registry.Prefix + "modules/acme/vpc/aws/1.2.3/" + hash + ".zip", "application/zip", immutable},
		{registry.Prefix + "modules/acme/vpc/aws/1.2.3/" + hash + ".tar.gz", "application/gzip", immutable},
		{registry.Prefix + "providers/acme/w/1.0.0/" + hash + "/terraform-provider-w_1.0.0+a.b_linux_amd64.zip", "application/zip", immutable},
		{registry.Prefix + "providers/acme/w/1.0.0/" + hash + "/terraform-provider-w_1.0.0_SHA256SUMS", "text/plain; charset=utf-8", immutable},
		{registry.Prefix + "providers/acme/w/1.0.0/" + hash + "/terraform-provider-w_1.0.0_SHA256SUMS.sig", "application/octet-stream", immutable},
		{registry.Prefix + "keys/authors/acme/F/" + hash + ".asc", "application/pgp-keys", immutable},
		{registry.OwnKeyKey("F"), "application/pgp-keys", ""},
		{registry.RecordsPrefix + "modules/acme/vpc/aws/1.2.3/00000001.json", "application/json", ""},
		{registry.OutcomeKey("modules/" + hash), "application/json", ""},
		{registry.Prefix + "plus+ space%2Fpercent?q=1&#x'(ü)", "application/octet-stream", ""},
	} {
		body := "the body of " + c.key
		if err := bucket.Put(t.Context(), c.key, strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
		address, err := presigner.PresignGet(t.Context(), c.key)
		if err != nil {
			t.Fatal(err)
		}
		status, header, got := get(t, address)
		if status != http.StatusOK || got != body {
			t.Errorf("%s: GET = %d, %q, want the body", c.key, status, got)
		}
		if header.Get("Content-Type") != c.contentType || header.Get("Cache-Control") != c.cacheControl || header.Get("Content-Encoding") != "" {
			t.Errorf("%s: headers %v, want Content-Type %q and Cache-Control %q alone", c.key, header, c.contentType, c.cacheControl)
		}
	}
}

// TestHeadersOfCopyAndCreate checks that objects get their headers however they
// are written, and not those of what was copied.
func TestHeadersOfCopyAndCreate(t *testing.T) {
	server := s3test.Start(t)
	bucket, presigner := newBucket(t, configFor(server)), presignerFor(t, server)
	const created, copied = registry.Prefix + "providers/a.zip", registry.Prefix + "modules/b.tar.gz"
	if err := bucket.Create(t.Context(), created, []byte("x")); err != nil {
		t.Fatal(err)
	}
	version := server.Upload(t, "inbox.tgz", []byte("x"), nil)
	if _, err := bucket.Copy(t.Context(), "inbox.tgz", version, copied); err != nil {
		t.Fatal(err)
	}
	for key, contentType := range map[string]string{created: "application/zip", copied: "application/gzip"} {
		address, err := presigner.PresignGet(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		_, header, _ := get(t, address)
		if header.Get("Content-Type") != contentType || header.Get("Cache-Control") == "" || header.Get("X-Amz-Meta-Origin") != "" {
			t.Errorf("%s: headers %v, want Content-Type %q, a Cache-Control and no metadata", key, header, contentType)
		}
	}
}
