package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/registry"
)

func newReader(t *testing.T, bucket, endpoint, id, secret string) *Reader {
	t.Helper()
	r, err := New(variables.Values{
		Bucket: bucket, Region: "us-east-1", S3Endpoint: endpoint, Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.wait = time.Millisecond
	return r
}

// TestGet reads from a real S3.
func TestGet(t *testing.T) {
	server := s3test.Start(t)
	r := newReader(t, server.Bucket, server.Endpoint, server.AccessKey, server.SecretKey)
	server.Upload(t, "registry/contents/1/aa.json", []byte("0123456789"), nil)
	server.Upload(t, "registry/contents/1/empty.json", nil, nil)
	for _, tt := range []struct {
		key            string
		offset, length int64
		want           string
	}{
		{"aa.json", 0, 10, "0123456789"}, {"aa.json", 0, 1 << 20, "0123456789"}, {"aa.json", 0, 3, "012"}, {"aa.json", 4, 2, "45"},
		{"aa.json", 9, 5, "9"}, {"aa.json", 10, 5, ""}, {"empty.json", 0, 10, ""},
	} {
		if got, err := r.Get(t.Context(), "registry/contents/1/"+tt.key, tt.offset, tt.length); err != nil || string(got) != tt.want {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
	if got, err := r.Get(t.Context(), "registry/contents/1/bb.json", 0, 10); !errors.Is(err, registry.ErrNotFound) || got != nil {
		t.Errorf("what is not there: %q, %v", got, err)
	}
	for _, wrong := range [][2]int64{{-1, 10}, {0, 0}, {0, -1}} {
		if _, err := r.Get(t.Context(), "registry/contents/1/aa.json", wrong[0], wrong[1]); err == nil {
			t.Errorf("%d bytes at %d can be read", wrong[1], wrong[0])
		}
	}
	other := newReader(t, server.Bucket, server.Endpoint, server.AccessKey, "another secret")
	if _, err := other.Get(t.Context(), "registry/contents/1/aa.json", 0, 10); err == nil || errors.Is(err, registry.ErrNotFound) {
		t.Errorf("with a wrong secret: %v", err)
	}
}

// TestAnswers holds what each answer of S3 means, and when it is asked again. No error has the
// URL or what is in it.
func TestAnswers(t *testing.T) {
	code := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>secret</Message></Error>", code)
		}
	}
	for name, tt := range map[string]struct {
		answer   http.HandlerFunc
		offset   int64
		want     string
		notFound bool
		err      string // of another error
		requests int32
	}{
		"no such key":       {code(404, "NoSuchKey"), 0, "", true, "", 1},
		"may not list":      {code(403, "AccessDenied"), 0, "", true, "", 1},
		"no such bucket":    {code(404, "NoSuchBucket"), 0, "", false, "S3 answers 404 NoSuchBucket", 1},
		"an expired token":  {code(403, "ExpiredToken"), 0, "", false, "S3 answers 403 ExpiredToken", 1},
		"a wrong signature": {code(403, "SignatureDoesNotMatch"), 0, "", false, "S3 answers 403 SignatureDoesNotMatch", 1},
		"no reason":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, 0, "", false, "S3 answers 403", 1},
		"a redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(307)
		}, 0, "", false, "S3 answers 307", 1},
		"slow down": {code(503, "SlowDown"), 0, "", false, "S3 answers 503 SlowDown", 2},
		"broken":    {code(500, strings.Repeat("x", 1<<20)), 0, "", false, "S3 answers 500", 2},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(206)
			_, _ = w.Write([]byte("01"))
		}, 0, "", false, "unexpected EOF", 2},
		"no answer":            {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "", false, "EOF", 2},
		"more than asked for":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206); _, _ = w.Write([]byte("0123456789")) }, 0, "01234", false, "", 1},
		"all of it":            {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0123456789")) }, 0, "01234", false, "", 1},
		"all and not the part": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0123456789")) }, 3, "", false, "S3 answers 200", 1},
	} {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			tt.answer(w, r)
		}))
		got, err := newReader(t, "larder", server.URL, "AKID", "secret").Get(t.Context(), "registry/contents/1/aa.json", tt.offset, 5)
		server.Close()
		if string(got) != tt.want || errors.Is(err, registry.ErrNotFound) != tt.notFound || (err != nil) != (tt.notFound || tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && (strings.Contains(err.Error(), "Signature=") || strings.Contains(err.Error(), "AKID") || len(err.Error()) > 200) {
			t.Errorf("%s: %v", name, err)
		}
		if requests.Load() != tt.requests {
			t.Errorf("%s: %d requests, want %d", name, requests.Load(), tt.requests)
		}
	}
}

// TestSlow checks that a bucket that does not answer is no longer waited for than the caller
// waits.
func TestSlow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := newReader(t, "larder", server.URL, "AKID", "secret").Get(ctx, "registry/contents/1/aa.json", 0, 5); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > attemptTimeout {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
}

func TestNew(t *testing.T) {
	if _, err := New(variables.Values{}); err == nil {
		t.Error("a reader of no bucket")
	}
}
