package s3blob_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/s3test"
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

// TestPresignGet checks that a URL leads to the key with the headers of its kind.
func TestPresignGet(t *testing.T) {
	server := s3test.Start(t)
	cfg := configFor(server)
	transport := &s3test.Transport{}
	cfg.Transport = transport
	bucket := newBucket(t, cfg)
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
		before := transport.Count()
		address, err := bucket.PresignGet(t.Context(), c.key)
		if err != nil {
			t.Fatal(err)
		}
		if transport.Count() != before {
			t.Errorf("%s: presigning sent a request", c.key)
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

// TestPresignGetCopyAndCreate checks that objects get their headers however they
// are written, and not those of what was copied.
func TestPresignGetCopyAndCreate(t *testing.T) {
	server := s3test.Start(t)
	bucket := newBucket(t, configFor(server))
	const created, copied = registry.Prefix + "providers/a.zip", registry.Prefix + "modules/b.tar.gz"
	if err := bucket.Create(t.Context(), created, []byte("x")); err != nil {
		t.Fatal(err)
	}
	version := server.Upload(t, "inbox.tgz", []byte("x"), nil)
	if _, err := bucket.Copy(t.Context(), "inbox.tgz", version, copied); err != nil {
		t.Fatal(err)
	}
	for key, contentType := range map[string]string{created: "application/zip", copied: "application/gzip"} {
		address, err := bucket.PresignGet(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		_, header, _ := get(t, address)
		if header.Get("Content-Type") != contentType || header.Get("Cache-Control") == "" || header.Get("X-Amz-Meta-Origin") != "" {
			t.Errorf("%s: headers %v, want Content-Type %q, a Cache-Control and no metadata", key, header, contentType)
		}
	}
}

// TestPresignGetRefused checks that a URL opens one key and no other, and says
// what is missing when the object is.
func TestPresignGetRefused(t *testing.T) {
	bucket := newBucket(t, configFor(s3test.Start(t)))
	for _, key := range []string{"a/one", "a/two"} {
		if err := bucket.Create(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	address, err := bucket.PresignGet(t.Context(), "a/one")
	if err != nil {
		t.Fatal(err)
	}
	missing, err := bucket.PresignGet(t.Context(), "a/three")
	if err != nil {
		t.Fatal(err)
	}
	unsigned, _, _ := strings.Cut(address, "?")
	for name, c := range map[string]struct {
		address string
		want    int
	}{
		"as signed":   {address, http.StatusOK},
		"another key": {strings.Replace(address, "a/one", "a/two", 1), http.StatusForbidden},
		"longer":      {strings.Replace(address, "X-Amz-Expires=900", "X-Amz-Expires=9000", 1), http.StatusForbidden},
		"unsigned":    {unsigned, http.StatusForbidden},
		"missing":     {missing, http.StatusNotFound},
	} {
		if status, _, _ := get(t, c.address); status != c.want {
			t.Errorf("%s: status %d, want %d", name, status, c.want)
		}
	}
}

// TestPresignGetURL checks the parts of a URL: the address that clients reach,
// the lifetime, and no parameter that a client's URL library could write in
// another way.
func TestPresignGetURL(t *testing.T) {
	cfg := configAt("http://127.0.0.1:1")
	for _, c := range []struct {
		public    string
		pathStyle bool
		want      string
	}{
		{"", true, "http://127.0.0.1:1/larder/a%2Bb.zip"},
		{"https://s3.example.com:9443", true, "https://s3.example.com:9443/larder/a%2Bb.zip"},
		{"https://s3.example.com", false, "https://larder.s3.example.com/a%2Bb.zip"},
	} {
		cfg.PublicEndpoint, cfg.PathStyle = c.public, c.pathStyle
		address, err := newBucket(t, cfg).PresignGet(t.Context(), "a+b.zip")
		if err != nil {
			t.Fatal(err)
		}
		base, raw, _ := strings.Cut(address, "?")
		if base != c.want {
			t.Errorf("PresignGet = %s, want %s", base, c.want)
		}
		query, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := query.Get("X-Amz-Expires"); got != "900" {
			t.Errorf("X-Amz-Expires = %q, want 900", got)
		}
		if strings.ContainsAny(raw, "+ ") || strings.Contains(raw, "response-") {
			t.Errorf("the query %s has a space, a plus or a response parameter", raw)
		}
	}
}
