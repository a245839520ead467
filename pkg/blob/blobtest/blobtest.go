// Package blobtest is the suite that every driver of [blob.Bucket] passes.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// User does to the bucket what users do, without the registry.
type User interface {
	// Upload writes an object with metadata and tags, and returns its
	// version.
	Upload(t testing.TB, key string, body []byte, tags map[string]string) (version string)

	// UploadFrom writes an object with a source in its metadata, and returns its
	// version.
	UploadFrom(t testing.TB, key string, body []byte, source string) (version string)

	// Delete leaves a delete marker in front of the key's versions.
	Delete(t testing.TB, key string)

	// Tags are the tags of an object version, or of the current one if version is
	// empty.
	Tags(t testing.TB, key, version string) map[string]string
}

// Test runs the suite. open is called once, for a versioned bucket that is
// empty and accepts everything.
func Test(t *testing.T, open func(t *testing.T) (blob.Bucket, User)) {
	bucket, user := open(t)
	s := &suite{bucket, user}
	t.Run("missing", s.missing)
	t.Run("put and open", s.putAndOpen)
	t.Run("file", s.file)
	t.Run("keys", s.keys)
	t.Run("in the way", s.inTheWay)
	t.Run("create", s.create)
	t.Run("create at once", s.createAtOnce)
	t.Run("versions", s.versions)
	t.Run("source", s.source)
	t.Run("copy", s.copy)
	t.Run("tag", s.tag)
	t.Run("tags full", s.tagsFull)
	t.Run("order", s.order)
	t.Run("after", s.after)
	t.Run("pages", s.pages)
	t.Run("cancelled", s.cancelled)
}

type suite struct {
	bucket blob.Bucket
	user   User
}

// missing checks that every call says that an object is not there.
func (s *suite) missing(t *testing.T) {
	ctx := t.Context()
	s.put(t, "missing/other", "other")
	version := s.head(t, "missing/other").Version
	s.user.Upload(t, "missing/deleted", []byte("1"), nil)
	s.user.Delete(t, "missing/deleted")
	for _, key := range []string{"missing/never", "missing/deleted", "missing", "missing/"} {
		if body, _, err := s.bucket.Open(ctx, key, ""); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("Open(%q) = %v, %v, want ErrNotFound", key, body, err)
		}
		if _, err := s.bucket.Head(ctx, key); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("Head(%q) = %v, want ErrNotFound", key, err)
		}
	}
	if _, _, err := s.bucket.Open(ctx, "missing/never", version); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("Open of another key's version = %v, want ErrNotFound", err)
	}
	if _, err := s.bucket.Copy(ctx, "missing/never", version, "missing/copy"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("Copy = %v, want ErrNotFound", err)
	}
	if err := s.bucket.Tag(ctx, "missing/never", version, map[string]string{"a": "b"}); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("Tag = %v, want ErrNotFound", err)
	}
	for o, err := range s.bucket.List(ctx, "missing/never", "") {
		t.Errorf("List has %v, %v, want nothing", o, err)
	}
	for o, err := range s.bucket.Versions(ctx, "missing/never", "") {
		t.Errorf("Versions has %v, %v, want nothing", o, err)
	}
}

// putAndOpen checks that bodies come back unchanged, with the right size, version and time.
func (s *suite) putAndOpen(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "small": "body", "large": strings.Repeat("0123456789abcdef", 1<<18),
	} {
		key := "put/" + name
		s.put(t, key, "before")
		s.put(t, key, body)
		got, object := s.open(t, key, "")
		if got != body {
			t.Errorf("%s: the body has %d other bytes, want %d", key, len(got), len(body))
		}
		if object.Key != key || object.Size != int64(len(body)) || object.Version == "" || object.Modified.IsZero() {
			t.Errorf("Open(%q) describes it as %+v", key, object)
		}
		head := s.head(t, key)
		if !head.Modified.Equal(object.Modified) || head.Version != object.Version || head.Size != object.Size || head.Key != key {
			t.Errorf("Head(%q) = %+v, want %+v", key, head, object)
		}
		if again, _ := s.open(t, key, object.Version); again != body {
			t.Errorf("%s: the body by its version is another one", key)
		}
	}
}

// file checks that a body that is a [blob.File] keeps its bytes, whatever happens to the
// object, and that it can be read at any place.
func (s *suite) file(t *testing.T) {
	for name, change := range map[string]func(key string){
		"nothing":     func(string) {},
		"overwritten": func(key string) { s.put(t, key, "after") },
		"deleted":     func(key string) { s.user.Delete(t, key) },
		"deleted and overwritten": func(key string) {
			s.user.Delete(t, key)
			s.put(t, key, "after")
		},
		"deleted twice": func(key string) {
			s.user.Delete(t, key)
			s.user.Delete(t, key)
		},
	} {
		const before = "the bytes before"
		key := "file/" + name
		s.put(t, key, before)
		body, object, err := s.bucket.Open(t.Context(), key, "")
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		file, ok := body.(blob.File)
		if !ok {
			t.Skip("the bodies are not files")
		}
		change(key)
		part := make([]byte, len("bytes"))
		if n, err := file.ReadAt(part, int64(len("the "))); string(part[:n]) != "bytes" || err != nil {
			t.Errorf("%s: in the middle it has %q, %v", name, part[:n], err)
		}
		if n, err := file.ReadAt(part, object.Size); n != 0 || err != io.EOF {
			t.Errorf("%s: after its end it has %d bytes, %v", name, n, err)
		}
		if got, err := io.ReadAll(file); string(got) != before || err != nil {
			t.Errorf("%s: it is %q, %v, want %q", name, got, err, before)
		}
	}
}

// trickyKeys have characters that URLs, headers and XML treat specially.
var trickyKeys = []string{
	"plus+sign", "blank space", "percent%2Fcode", "question?mark=1&x", "hash#tag", "quote\"'<>&", "umlaut-ü-☃", "tilde~(paren)*!$,;:@=",
}

// keys checks that a key is never taken for another one.
func (s *suite) keys(t *testing.T) {
	for i, name := range trickyKeys {
		key := "keys/" + name
		body := fmt.Sprint(i)
		s.put(t, key, body)
		if got, _ := s.open(t, key, ""); got != body {
			t.Errorf("Open(%q) = %q, want %q", key, got, body)
		}
		if _, err := s.bucket.Copy(t.Context(), key, s.head(t, key).Version, "copies/"+name); err != nil {
			t.Errorf("Copy(%q): %v", key, err)
		} else if got, _ := s.open(t, "copies/"+name, ""); got != body {
			t.Errorf("the copy of %q = %q, want %q", key, got, body)
		}
		if err := s.bucket.Tag(t.Context(), key, "", map[string]string{"a": "b"}); err != nil {
			t.Errorf("Tag(%q): %v", key, err)
		}
	}
	want := slices.Sorted(slices.Values(trickyKeys))
	for i := range want {
		want[i] = "keys/" + want[i]
	}
	if got := keysOf(t, s.bucket.List(t.Context(), "keys/", "")); !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
	if got := keysOf(t, s.bucket.Versions(t.Context(), "keys/", "")); !slices.Equal(got, want) {
		t.Errorf("Versions = %q, want %q", got, want)
	}
}

// inTheWay writes two objects, where the key of one would be a folder in the path of the
// other. The second must be written, or return [blob.ErrInTheWay].
func (s *suite) inTheWay(t *testing.T) {
	for first, second := range map[string]string{"way/a": "way/a/b", "way/c/d/e": "way/c"} {
		s.put(t, first, "first")
		err := s.bucket.Put(t.Context(), second, strings.NewReader("second"), 6)
		switch {
		case errors.Is(err, blob.ErrInTheWay):
			if _, _, err := s.bucket.Open(t.Context(), second, ""); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("%s, which was not written, is read: %v", second, err)
			}
		case err != nil:
			t.Errorf("%s beside %s: %v", second, first, err)
		default:
			if body, _ := s.open(t, second, ""); body != "second" {
				t.Errorf("%s beside %s is %q", second, first, body)
			}
		}
		if body, _ := s.open(t, first, ""); body != "first" {
			t.Errorf("%s beside %s is %q", first, second, body)
		}
	}
}

// create checks that a creation replaces nothing, also after a deletion.
func (s *suite) create(t *testing.T) {
	ctx := t.Context()
	if err := s.bucket.Create(ctx, "create/a", []byte("first")); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"first", "second"} {
		if err := s.bucket.Create(ctx, "create/a", []byte(body)); !errors.Is(err, blob.ErrExists) {
			t.Errorf("Create(%q) = %v, want ErrExists", body, err)
		}
	}
	if got, _ := s.open(t, "create/a", ""); got != "first" {
		t.Errorf("the object is %q, want %q", got, "first")
	}
	if got := keysOf(t, s.bucket.Versions(ctx, "create/", "")); len(got) != 1 {
		t.Errorf("there are versions %q, want one", got)
	}
}

// createAtOnce checks that exactly one of many creations at the same time succeeds, and
// that its object stays.
func (s *suite) createAtOnce(t *testing.T) {
	const writers, rounds = 20, 5
	for round := range rounds {
		key := fmt.Sprintf("race/%d", round)
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() { errs[i] = s.bucket.Create(t.Context(), key, fmt.Append(nil, "writer ", i)) })
		}
		wg.Wait()
		winners := 0
		got, _ := s.open(t, key, "")
		for i, err := range errs {
			switch {
			case err == nil && got == fmt.Sprint("writer ", i):
				winners++
			case err == nil:
				t.Errorf("%s: writer %d won, the object is %q", key, i, got)
			case !errors.Is(err, blob.ErrExists):
				t.Errorf("%s: Create = %v, want ErrExists", key, err)
			}
		}
		if winners != 1 {
			t.Errorf("%s: %d writers won, want one", key, winners)
		}
	}
}

// versions checks that every version stays readable, whatever came after it.
func (s *suite) versions(t *testing.T) {
	var want []blob.Object
	for _, body := range []string{"1", "22", "333"} {
		version := s.user.Upload(t, "versions/a", []byte(body), nil)
		want = append(want, blob.Object{Key: "versions/a", Version: version, Size: int64(len(body))})
	}
	s.user.Delete(t, "versions/a")
	version := s.user.Upload(t, "versions/a", []byte("4444"), nil)
	want = append(want, blob.Object{Key: "versions/a", Version: version, Size: 4})
	s.user.Delete(t, "versions/a")
	slices.Reverse(want) // the newest first
	version = s.user.Upload(t, "versions/b", []byte("b"), nil)
	want = append(want, blob.Object{Key: "versions/b", Version: version, Size: 1})

	got := collect(t, s.bucket.Versions(t.Context(), "versions/", ""))
	for i := range got {
		if body, object := s.open(t, got[i].Key, got[i].Version); int64(len(body)) != got[i].Size || object.Version != got[i].Version {
			t.Errorf("Open of %+v = %q, %+v", got[i], body, object)
		}
		if got[i].Modified.IsZero() {
			t.Errorf("%+v has no time", got[i])
		}
		got[i].Modified = want[min(i, len(want)-1)].Modified
	}
	if !slices.Equal(got, want) {
		t.Errorf("Versions = %+v, want %+v", got, want)
	}
	if got := keysOf(t, s.bucket.List(t.Context(), "versions/", "")); !slices.Equal(got, []string{"versions/b"}) {
		t.Errorf("List = %q, want versions/b alone", got)
	}
}

// source checks that each version has the source from its metadata, as it was written, and
// that a copy has none.
func (s *suite) source(t *testing.T) {
	const old, source = "https://example.com/old", "https://example.com/~acme/-/network+x%20y?a=b&c=d,e;f"
	first := s.user.UploadFrom(t, "source/a", []byte("1"), old)
	second := s.user.UploadFrom(t, "source/a", []byte("2"), source)
	for version, want := range map[string]string{first: old, second: source, "": source} {
		if _, object := s.open(t, "source/a", version); object.Source != want {
			t.Errorf("the source of version %q is %q, want %q", version, object.Source, want)
		}
	}
	if got := s.head(t, "source/a").Source; got != source {
		t.Errorf("Head has the source %q, want %q", got, source)
	}
	for o, err := range s.bucket.Versions(t.Context(), "source/", "") {
		if err != nil || o.Source != "" {
			t.Errorf("a listing has the source %q, %v", o.Source, err)
		}
	}
	if _, err := s.bucket.Copy(t.Context(), "source/a", second, "source/copy"); err != nil {
		t.Fatal(err)
	}
	s.user.Upload(t, "source/none", []byte("3"), nil)
	for _, key := range []string{"source/copy", "source/none"} {
		if _, object := s.open(t, key, ""); object.Source != "" {
			t.Errorf("%s has the source %q", key, object.Source)
		}
	}
}

// copy checks that the bytes of one version are copied, but not its tags.
func (s *suite) copy(t *testing.T) {
	ctx := t.Context()
	old := s.user.Upload(t, "copy/from", []byte("old"), map[string]string{"owner": "somebody"})
	s.user.Upload(t, "copy/from", []byte("new"), nil)
	s.user.Delete(t, "copy/from")
	for range 2 { // a second time is not an error
		sum, err := s.bucket.Copy(ctx, "copy/from", old, "copy/to")
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte("old"))); sum != want || s.head(t, "copy/to").SHA256 != want {
			t.Errorf("the copy's sha256 is %q, and later %q, want %q", sum, s.head(t, "copy/to").SHA256, want)
		}
	}
	if got, _ := s.open(t, "copy/to", ""); got != "old" {
		t.Errorf("the copy is %q, want %q", got, "old")
	}
	if got := s.user.Tags(t, "copy/to", ""); len(got) != 0 {
		t.Errorf("the copy has tags %v, want none", got)
	}
}

// tag checks that tags are set on one version, and that it keeps its others.
func (s *suite) tag(t *testing.T) {
	old := s.user.Upload(t, "tag/a", []byte("1"), map[string]string{"owner": "somebody", "empty": ""})
	current := s.user.Upload(t, "tag/a", []byte("2"), nil)
	for _, tags := range []map[string]string{
		{"larder-status": "pending", "larder-reason": "waits for a key: 1 of 2"},
		{"larder-status": "published", "larder-reason": "", "larder-never": ""},
	} {
		if err := s.bucket.Tag(t.Context(), "tag/a", old, tags); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"owner": "somebody", "empty": "", "larder-status": "published"}
	if got := s.user.Tags(t, "tag/a", old); !maps.Equal(got, want) {
		t.Errorf("tags = %v, want %v", got, want)
	}
	if got := s.user.Tags(t, "tag/a", current); len(got) != 0 {
		t.Errorf("the other version has tags %v, want none", got)
	}
	if got, _ := s.open(t, "tag/a", old); got != "1" {
		t.Errorf("the tagged version is %q, want %q", got, "1")
	}
}

// tagsFull checks that tags which do not fit change nothing.
func (s *suite) tagsFull(t *testing.T) {
	const most = 10
	own := map[string]string{}
	for i := range most - 1 {
		own[fmt.Sprint("own-", i)] = "x"
	}
	version := s.user.Upload(t, "tags-full/a", []byte("1"), own)
	err := s.bucket.Tag(t.Context(), "tags-full/a", version, map[string]string{"larder-status": "rejected", "larder-reason": "x"})
	if !errors.Is(err, blob.ErrTagsFull) {
		t.Errorf("Tag = %v, want ErrTagsFull", err)
	}
	if got := s.user.Tags(t, "tags-full/a", version); !maps.Equal(got, own) {
		t.Errorf("tags = %v, want %v", got, own)
	}
	for range 2 { // the last free one; then again in its place
		if err := s.bucket.Tag(t.Context(), "tags-full/a", version, map[string]string{"larder-status": "rejected"}); err != nil {
			t.Errorf("Tag = %v, want no error: there is room for one more", err)
		}
	}
}

// order checks that listings are in the order of the keys' bytes, not of folders. No key
// here is a folder of another: a server over a file system cannot store both.
func (s *suite) order(t *testing.T) {
	want := []string{"order/a-b", "order/a.zip", "order/a/b-1", "order/a/b.json", "order/a/b/c", "order/a0", "order/aa"}
	for _, key := range []string{"order/a/b/c", "order/a0", "order/a.zip", "order/aa", "order/a/b-1", "order/a-b", "order/a/b.json"} {
		s.put(t, key, key)
	}
	if got := keysOf(t, s.bucket.List(t.Context(), "order/", "")); !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
	if got := keysOf(t, s.bucket.Versions(t.Context(), "order/", "")); !slices.Equal(got, want) {
		t.Errorf("Versions = %q, want %q", got, want)
	}
	if got := keysOf(t, s.bucket.List(t.Context(), "order/a/", "")); !slices.Equal(got, want[2:5]) {
		t.Errorf("List of order/a/ = %q, want %q", got, want[2:5])
	}
}

// after checks that listings go on after a key, whether it exists or not, and that none of
// its versions comes again.
func (s *suite) after(t *testing.T) {
	for _, key := range []string{"after/a", "after/b c+d", "after/b c+d", "after/d/e", "after/f"} {
		s.put(t, key, key)
	}
	for after, want := range map[string][]string{
		"":            {"after/a", "after/b c+d", "after/b c+d", "after/d/e", "after/f"},
		"aaa":         {"after/a", "after/b c+d", "after/b c+d", "after/d/e", "after/f"},
		"after/a":     {"after/b c+d", "after/b c+d", "after/d/e", "after/f"},
		"after/b c+d": {"after/d/e", "after/f"},
		"after/c":     {"after/d/e", "after/f"},
		"after/d":     {"after/d/e", "after/f"},
		"after/d/e":   {"after/f"},
		"after/f":     nil,
		"zzz":         nil,
	} {
		if got := keysOf(t, s.bucket.Versions(t.Context(), "after/", after)); !slices.Equal(got, want) {
			t.Errorf("Versions after %q = %q, want %q", after, got, want)
		}
		want = slices.Compact(slices.Clone(want))
		if got := keysOf(t, s.bucket.List(t.Context(), "after/", after)); !slices.Equal(got, want) {
			t.Errorf("List after %q = %q, want %q", after, got, want)
		}
	}
}

// pages checks that listings of more than one page are complete, can be left early and can
// be read again. Their first page ends between two versions of one key.
func (s *suite) pages(t *testing.T) {
	const objects, split = 1100, 998 // S3's pages have 1,000
	var current []string
	for i := range objects {
		current = append(current, fmt.Sprintf("pages/%04d", i))
	}
	s.putAll(t, current)
	versions := slices.Insert(slices.Clone(current), split, current[split], current[split])
	s.put(t, current[split], "again")
	s.put(t, current[split], "and again")
	for _, c := range []struct {
		name string
		list iter.Seq2[blob.Object, error]
		want []string
	}{
		{"List", s.bucket.List(t.Context(), "pages/", ""), current},
		{"Versions", s.bucket.Versions(t.Context(), "pages/", ""), versions},
	} {
		for object, err := range c.list {
			if err != nil || object.Key != c.want[0] {
				t.Errorf("%s begins with %+v, %v, want %s", c.name, object, err, c.want[0])
			}
			break
		}
		for range 2 {
			if got := keysOf(t, c.list); !slices.Equal(got, c.want) {
				t.Errorf("%s has %d objects, want %d", c.name, len(got), len(c.want))
			}
		}
	}
}

// cancelled checks that nothing is done for a cancelled context.
func (s *suite) cancelled(t *testing.T) {
	s.put(t, "cancelled/a", "before")
	version := s.head(t, "cancelled/a").Version
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, openErr := s.bucket.Open(ctx, "cancelled/a", "")
	_, headErr := s.bucket.Head(ctx, "cancelled/a")
	_, copyErr := s.bucket.Copy(ctx, "cancelled/a", version, "cancelled/b")
	for call, err := range map[string]error{
		"Open":     openErr,
		"Head":     headErr,
		"Create":   s.bucket.Create(ctx, "cancelled/b", nil),
		"Put":      s.bucket.Put(ctx, "cancelled/a", strings.NewReader("after"), 5),
		"Copy":     copyErr,
		"Tag":      s.bucket.Tag(ctx, "cancelled/a", version, map[string]string{"a": "b"}),
		"List":     firstError(s.bucket.List(ctx, "cancelled/", "")),
		"Versions": firstError(s.bucket.Versions(ctx, "cancelled/", "")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", call, err)
		}
	}
	if got, _ := s.open(t, "cancelled/a", ""); got != "before" {
		t.Errorf("the object is %q, want %q", got, "before")
	}
}

func (s *suite) put(t *testing.T, key, body string) {
	t.Helper()
	if err := s.bucket.Put(t.Context(), key, strings.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

// putAll writes small objects, several at once.
func (s *suite) putAll(t *testing.T, keys []string) {
	t.Helper()
	var wg sync.WaitGroup
	for chunk := range slices.Chunk(keys, len(keys)/8+1) {
		wg.Go(func() {
			for _, key := range chunk {
				if err := s.bucket.Put(t.Context(), key, strings.NewReader(key), int64(len(key))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (s *suite) head(t *testing.T, key string) blob.Object {
	t.Helper()
	object, err := s.bucket.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func (s *suite) open(t *testing.T, key, version string) (string, blob.Object) {
	t.Helper()
	body, object, err := s.bucket.Open(t.Context(), key, version)
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	if _, err := io.Copy(&content, body); err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	return content.String(), object
}

func collect(t *testing.T, list iter.Seq2[blob.Object, error]) []blob.Object {
	t.Helper()
	var objects []blob.Object
	for object, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func keysOf(t *testing.T, list iter.Seq2[blob.Object, error]) []string {
	t.Helper()
	var keys []string
	for _, object := range collect(t, list) {
		keys = append(keys, object.Key)
	}
	return keys
}

func firstError(list iter.Seq2[blob.Object, error]) error {
	for _, err := range list {
		return err
	}
	return nil
}
