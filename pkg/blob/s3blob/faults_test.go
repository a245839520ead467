package s3blob_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// answer is one of S3's answers; a code of an error comes in a body.
type answer struct {
	status int
	code   string
}

// scripted is a bucket whose server gives the answers in turn, the last one
// again and again, and counts the requests.
func scripted(t *testing.T, answers ...answer) (*s3blob.Bucket, *atomic.Int64) {
	var count atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		a := answers[min(int(count.Add(1)), len(answers))-1]
		w.WriteHeader(a.status)
		if a.code != "" && r.Method != http.MethodHead {
			_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>scripted</Message></Error>`, a.code)
		}
	}))
	t.Cleanup(server.Close)
	return newBucket(t, configAt(server.URL)), &count
}

// TestCreateConflict checks that S3's "another conditional write is under way"
// is asked again.
func TestCreateConflict(t *testing.T) {
	conflict := answer{http.StatusConflict, "ConditionalRequestConflict"}
	for _, c := range []struct {
		after answer
		want  error
	}{
		{answer{status: http.StatusOK}, nil},
		{answer{http.StatusPreconditionFailed, "PreconditionFailed"}, blob.ErrExists},
	} {
		bucket, count := scripted(t, conflict, c.after)
		if err := bucket.Create(t.Context(), "a", []byte("x")); !errors.Is(err, c.want) {
			t.Errorf("Create = %v, want %v", err, c.want)
		}
		if count.Load() != 2 {
			t.Errorf("%d requests, want 2", count.Load())
		}
	}
}

// TestNoRoomForTags checks that tags which a file cannot have are too many, too, and
// that other refusals are not.
func TestNoRoomForTags(t *testing.T) {
	for code, full := range map[string]bool{"MetadataTooLarge": true, "InvalidTag": false} {
		bucket, _ := scripted(t, answer{status: http.StatusOK}, answer{http.StatusBadRequest, code})
		if err := bucket.Tag(t.Context(), "a", "v", map[string]string{"k": "v"}); err == nil || errors.Is(err, blob.ErrTagsFull) != full {
			t.Errorf("%s: Tag = %v", code, err)
		}
	}
}

// TestErrors has the error for each answer.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		answer
		notFound bool
	}{
		{answer{http.StatusNotFound, "NoSuchKey"}, true},
		{answer{http.StatusNotFound, "NoSuchVersion"}, true},
		{answer{http.StatusMethodNotAllowed, "MethodNotAllowed"}, true},
		{answer{http.StatusNotFound, "NoSuchBucket"}, false},
		{answer{http.StatusForbidden, "AccessDenied"}, false},
		{answer{http.StatusBadRequest, "InvalidArgument"}, false},
	} {
		bucket, _ := scripted(t, c.answer)
		_, _, openErr := bucket.Open(t.Context(), "some/key", "v")
		_, copyErr := bucket.Copy(t.Context(), "some/key", "v", "to")
		for call, err := range map[string]error{
			"Open": openErr,
			"Copy": copyErr,
			"Tag":  bucket.Tag(t.Context(), "some/key", "v", map[string]string{"a": "b"}),
		} {
			if err == nil || errors.Is(err, registry.ErrNotFound) != c.notFound || !strings.Contains(err.Error(), `"some/key"`) {
				t.Errorf("%s after %s = %v, want ErrNotFound: %t, with the key", call, c.code, err, c.notFound)
			}
		}
	}
	for status, notFound := range map[int]bool{
		http.StatusNotFound: true, http.StatusMethodNotAllowed: true, http.StatusForbidden: false,
	} {
		bucket, _ := scripted(t, answer{status: status})
		if _, err := bucket.Head(t.Context(), "some/key"); err == nil || errors.Is(err, registry.ErrNotFound) != notFound {
			t.Errorf("Head after %d = %v, want ErrNotFound: %t", status, err, notFound)
		}
	}
}

// lossy loses the first answer on the way, after the server has given it.
type lossy struct{ lost atomic.Bool }

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || l.lost.Swap(true) {
		return response, err
	}
	return nil, errors.Join(io.ErrUnexpectedEOF, response.Body.Close())
}

// TestCreateAnswerLost checks that a creation whose answer was lost finds its
// own object, and says that there is one.
func TestCreateAnswerLost(t *testing.T) {
	cfg := configFor(s3test.Start(t))
	cfg.Transport = &lossy{}
	bucket := newBucket(t, cfg)
	if err := bucket.Create(t.Context(), "a", []byte("x")); !errors.Is(err, blob.ErrExists) {
		t.Errorf("Create = %v, want ErrExists", err)
	}
	if _, err := bucket.Head(t.Context(), "a"); err != nil {
		t.Errorf("Head = %v, want the object", err)
	}
}

// TestPutStreams checks that a body is sent as it is, without the chunks and
// trailers that other servers than Amazon's may not know.
func TestPutStreams(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(server.Close)
	bucket := newBucket(t, configAt(server.URL))
	if err := bucket.Put(t.Context(), "a", strings.NewReader("body"), 4); err != nil {
		t.Fatal(err)
	}
	const sha256 = "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5" // of "body"
	if got.Get("X-Amz-Content-Sha256") != sha256 || got.Get("Content-Encoding") != "" || got.Get("X-Amz-Trailer") != "" {
		t.Errorf("headers %v, want the body's SHA-256 and no encoding", got)
	}
}

// TestListEncoded checks that keys which XML cannot carry are listed as Amazon
// encodes them, over page boundaries, too.
func TestListEncoded(t *testing.T) {
	const versionsPage = `<ListVersionsResult><EncodingType>url</EncodingType>
		<Version><Key>a%%2B+%%01%%252F</Key><VersionId>%s</VersionId></Version>
		<IsTruncated>%t</IsTruncated><NextKeyMarker>a%%2B+%%01%%252F</NextKeyMarker><NextVersionIdMarker>1</NextVersionIdMarker>
		</ListVersionsResult>`
	const objectsPage = `<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%2B+%01%252F</Key></Contents></ListBucketResult>`
	const key = "a+ \x01%2F"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case query.Get("encoding-type") != "url":
			w.WriteHeader(http.StatusBadRequest)
		case !query.Has("versions"):
			_, _ = io.WriteString(w, objectsPage)
		case query.Get("key-marker") == key && query.Get("version-id-marker") == "1":
			_, _ = fmt.Fprintf(w, versionsPage, "2", false)
		case !query.Has("key-marker"):
			_, _ = fmt.Fprintf(w, versionsPage, "1", true)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	bucket := newBucket(t, configAt(server.URL))
	var got []blob.Object
	for object, err := range bucket.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, object)
	}
	for object, err := range bucket.Versions(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, object)
	}
	if want := []blob.Object{{Key: key}, {Key: key, Version: "1"}, {Key: key, Version: "2"}}; !slices.Equal(got, want) {
		t.Errorf("listed %+v, want %+v", got, want)
	}
}

// TestCopySource checks how the source of a copy is written. Servers decode it in different
// ways, so it must have only what all of them read alike.
func TestCopySource(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("X-Amz-Copy-Source")
		_, _ = io.WriteString(w, `<CopyObjectResult></CopyObjectResult>`)
	}))
	t.Cleanup(server.Close)
	bucket := newBucket(t, configAt(server.URL))
	if _, err := bucket.Copy(t.Context(), "a+b c/%2F?ü.zip", "v+1", "to"); err != nil {
		t.Fatal(err)
	}
	if want := "larder/a%2Bb%20c/%252F%3F%C3%BC.zip?versionId=v%2B1"; got != want {
		t.Errorf("the source is %s, want %s", got, want)
	}
}

// A stream is written as Put writes, but read once. If it breaks off, there is no object.
func TestStream(t *testing.T) {
	bucket := newBucket(t, configFor(s3test.Start(t)))
	key := registry.Prefix + "modules/a.zip"
	if err := bucket.Stream(t.Context(), key, io.MultiReader(strings.NewReader("bo"), strings.NewReader("dy")), 4); err != nil {
		t.Fatal(err)
	}
	body, object, err := bucket.Open(t.Context(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if content, err := io.ReadAll(body); err != nil || string(content) != "body" || object.Size != 4 {
		t.Errorf("%q, %+v, %v", content, object, err)
	}
	if err := bucket.Stream(t.Context(), "short", strings.NewReader("body"), 5); err == nil {
		t.Error("4 of 5 bytes were enough")
	}
	if _, err := bucket.Head(t.Context(), "short"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("what broke off: %v", err)
	}
}
