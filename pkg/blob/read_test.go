package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestRead(t *testing.T) {
	b := blobtest.NewMemory()
	first := b.Upload(t, "a", []byte("first"), nil)
	second := b.UploadFrom(t, "a", []byte("the second"), "https://example.com")
	for _, test := range []struct {
		key, version string
		limit        int64
		want         string
		object       blob.Object // without its time
		err          error
	}{
		{"a", first, 5, "first", blob.Object{Key: "a", Version: first, Size: 5}, nil},
		{"a", "", 10, "the second", blob.Object{Key: "a", Version: second, Size: 10, Source: "https://example.com"}, nil},
		{"a", "", 9, "", blob.Object{}, &blob.TooLargeError{Size: 10, Limit: 9}},
		{"b", "", 10, "", blob.Object{}, registry.ErrNotFound},
	} {
		data, object, err := blob.Read(t.Context(), b, test.key, test.version, test.limit)
		object.Modified = test.object.Modified
		var tooLarge, want *blob.TooLargeError
		if errors.As(test.err, &want) {
			if !errors.As(err, &tooLarge) || *tooLarge != *want {
				t.Errorf("%+v: %v", test, err)
			}
		} else if !errors.Is(err, test.err) {
			t.Errorf("%+v: %v", test, err)
		}
		if string(data) != test.want || object != test.object {
			t.Errorf("%+v: %q of %+v", test, data, object)
		}
	}
	if n := b.Unclosed(); n != 0 {
		t.Errorf("%d bodies are open", n)
	}
}

func TestTooLarge(t *testing.T) {
	for limit, want := range map[int64]string{5 << 30: "5 GiB", 256 << 20: "256 MiB", 10 << 10: "10 KiB", 1 << 10: "1 KiB", 1023: "1023 bytes", 1025: "1025 bytes", 0: "0 bytes"} {
		if err := blob.CheckSize(limit, limit); err != nil {
			t.Errorf("%d bytes of %d: %v", limit, limit, err)
		}
		err := blob.CheckSize(limit+1, limit)
		if err == nil || !strings.HasSuffix(err.Error(), " bytes, and such a file has "+want+" at most") {
			t.Errorf("%d bytes of %d: %v", limit+1, limit, err)
		}
	}
}

func TestKeepAndIsAny(t *testing.T) {
	b := blobtest.NewMemory()
	isAny := func(want bool) {
		t.Helper()
		if found, err := blob.IsAny(t.Context(), b, "keys/"); found != want || err != nil {
			t.Errorf("it says %v, %v", found, err)
		}
	}
	isAny(false)
	for _, body := range []string{"kept", "not kept"} {
		if err := blob.Keep(t.Context(), b, "keys/a", []byte(body)); err != nil {
			t.Error(err)
		}
	}
	isAny(true)
	data, _, err := blob.Read(t.Context(), b, "keys/a", "", 100)
	versions := 0
	for range b.Versions(t.Context(), "", "") {
		versions++
	}
	if string(data) != "kept" || err != nil || versions != 1 || blob.SHA256(data) != "79f076abdd19a752db7267bfff2f9022161d120dea919fdaca2ffdfc24ca8c96" {
		t.Errorf("%q, %v, %d versions, %s", data, err, versions, blob.SHA256(data))
	}
}

// readerAt is a bucket whose bodies can be read at any place, as files can.
type readerAt struct{ blob.Bucket }

func (r readerAt) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	body, described, err := r.Bucket.Open(ctx, key, version)
	if err != nil {
		return nil, described, err
	}
	defer body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(body)
	return file{bytes.NewReader(data)}, described, err
}

type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func TestReadRange(t *testing.T) {
	memory := blobtest.NewMemory()
	memory.Upload(t, "a", []byte("0123456789"), nil)
	for _, test := range []struct {
		offset, length int64
		want           string
	}{
		{0, 10, "0123456789"}, {0, 100, "0123456789"}, {0, 3, "012"}, {3, 4, "3456"}, {9, 1, "9"}, {9, 5, "9"},
		{10, 1, ""}, {1 << 60, 1, ""}, {-1, 5, ""}, {0, 0, ""}, {0, -1, ""}, {5, math.MaxInt64, "56789"},
	} {
		for name, b := range map[string]blob.Bucket{"stream": memory, "file": readerAt{memory}} {
			if got, err := blob.ReadRange(t.Context(), b, "a", test.offset, test.length); err != nil || string(got) != test.want {
				t.Errorf("%s: %d bytes at %d: %q, %v, want %q", name, test.length, test.offset, got, err, test.want)
			}
		}
	}
	if _, err := blob.ReadRange(t.Context(), memory, "b", 0, 1); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("what is not there: %v", err)
	}
	if open := memory.Unclosed(); open != 0 {
		t.Errorf("%d bodies are still open", open)
	}
}
