package locals3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/versity/versitygw/backend/meta"
)

// user is a user of the bucket, who may write everywhere.
type user struct{ *s3.Client }

func (u user) upload(t testing.TB, key string, body []byte, tags, metadata map[string]string) string {
	t.Helper()
	query := url.Values{}
	for name, value := range tags {
		query.Set(name, value)
	}
	out, err := u.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(Bucket), Key: &key, Body: strings.NewReader(string(body)), Tagging: aws.String(query.Encode()), Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

// Upload implements blobtest.User.
func (u user) Upload(t testing.TB, key string, body []byte, tags map[string]string) string {
	t.Helper()
	return u.upload(t, key, body, tags, nil)
}

// UploadFrom implements blobtest.User.
func (u user) UploadFrom(t testing.TB, key string, body []byte, source string) string {
	t.Helper()
	return u.upload(t, key, body, nil, map[string]string{"source": source})
}

// Delete implements blobtest.User.
func (u user) Delete(t testing.TB, key string) {
	t.Helper()
	if _, err := u.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// Tags implements blobtest.User.
func (u user) Tags(t testing.TB, key, version string) map[string]string {
	t.Helper()
	in := &s3.GetObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key}
	if version != "" {
		in.VersionId = &version
	}
	out, err := u.GetObjectTagging(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagSet {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

func (e *endpoint) bucket(t *testing.T) *DirectBucket {
	t.Helper()
	bucket, err := e.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

func TestBucket(t *testing.T) {
	blobtest.Test(t, func(t *testing.T) (blob.Bucket, blobtest.User) {
		e := start(t, t.TempDir())
		return e.bucket(t), user{e.Server.Client(e.Root)}
	})
}

// The bytes of a current version come from its file, and those of others from the endpoint:
// the bytes and what is said of them are the same.
func TestOpenReadsTheFile(t *testing.T) {
	e := start(t, t.TempDir())
	bucket, u := e.bucket(t), user{e.Server.Client(e.Root)}
	current := func(key string) (string, string) { u.Upload(t, key, []byte("x"), nil); return key, "" }
	attribute := func(key string) {
		if err := (meta.XattrMeta{}).DeleteAttribute(Bucket, key, versionTag); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		make func() (key, version string)
		file bool
	}{
		{"current", func() (string, string) { return current("a/current") }, true},
		{"current, by its version", func() (string, string) { return "a/version", u.Upload(t, "a/version", []byte("x"), nil) }, true},
		{"empty", func() (string, string) { u.Upload(t, "a/empty", nil, nil); return "a/empty", "" }, true},
		{"with a source", func() (string, string) {
			u.UploadFrom(t, "a/source", []byte("x"), "https://example.com")
			return "a/source", ""
		}, true},
		{"odd characters", func() (string, string) { return current("a/o d+d%2F?#&\"<>☃\\..x") }, true},
		{"in parts", func() (string, string) {
			beginUpload(t, u.Client, "a/parts").complete(t, u.Client)
			return "a/parts", ""
		}, true},
		{"a copy", func() (string, string) {
			version := u.Upload(t, "a/from", []byte("x"), nil)
			if _, err := bucket.Copy(t.Context(), "a/from", version, "a/to"); err != nil {
				t.Fatal(err)
			}
			return "a/to", ""
		}, true},
		{"tagged", func() (string, string) {
			key, version := current("a/tagged")
			if err := bucket.Tag(t.Context(), key, version, map[string]string{"a": "b"}); err != nil {
				t.Fatal(err)
			}
			return key, version
		}, true},
		{"an older version", func() (string, string) {
			version := u.Upload(t, "a/older", []byte("older"), nil)
			u.Upload(t, "a/older", []byte("newer"), nil)
			return "a/older", version
		}, false},
		{"a deleted version", func() (string, string) {
			version := u.Upload(t, "a/deleted", []byte("deleted"), nil)
			u.Delete(t, "a/deleted")
			return "a/deleted", version
		}, false},
		{"without its version", func() (string, string) {
			key, version := current("a/without")
			attribute(key)
			return key, version
		}, false},
		{"a link", func() (string, string) {
			key, version := current("a/link")
			path := filepath.Join(Bucket, key)
			if err := errors.Join(os.Rename(path, path+"ed"), os.Symlink("linked", path)); err != nil {
				t.Fatal(err)
			}
			return key, version
		}, false},
		{"a link that leaves the bucket", func() (string, string) {
			key, version := current("a/leaves")
			path, outside := filepath.Join(Bucket, key), e.dir.Path("outside")
			if err := errors.Join(os.Rename(path, outside), os.Symlink(outside, path)); err != nil {
				t.Fatal(err)
			}
			return key, version
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, version := c.make()
			body, object, err := bucket.Open(t.Context(), key, version)
			if err != nil {
				t.Fatal(err)
			}
			defer body.Close()
			sent, want, err := bucket.Bucket.Open(t.Context(), key, version)
			if err != nil {
				t.Fatal(err)
			}
			defer sent.Close()
			if _, isFile := body.(blob.File); isFile != c.file {
				t.Errorf("it is a file: %v, want %v", isFile, c.file)
			}
			object.SHA256 = "" // a request for the bytes does not say it
			if !object.Modified.Equal(want.Modified) {
				t.Errorf("modified at %v, want %v", object.Modified, want.Modified)
			}
			object.Modified = want.Modified
			if object != want {
				t.Errorf("described as %+v, want %+v", object, want)
			}
			got, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			if wanted, err := io.ReadAll(sent); string(got) != string(wanted) || err != nil {
				t.Errorf("it has %q, want %q, %v", got, wanted, err)
			}
		})
	}
	if len(e.files.files) != 0 {
		t.Errorf("there are still open files: %+v", e.files.files)
	}
}

// A file that is not as described is not opened.
func TestOpenFileRefuses(t *testing.T) {
	e := start(t, t.TempDir())
	bucket, u := e.bucket(t), user{e.Server.Client(e.Root)}
	version := u.Upload(t, "a/b", []byte("x"), nil)
	good := blob.Object{Key: "a/b", Version: version, Size: 1}
	file, err := bucket.openFile(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_ = file.Close() // the second time does not matter
	}
	u.Upload(t, "a/deleted", nil, nil)
	deleted, err := u.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: aws.String("a/deleted")})
	if err == nil {
		err = syscall.Mkfifo(filepath.Join(Bucket, "a/pipe"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]blob.Object{
		"another version":         {Key: "a/b", Version: "01J00000000000000000000000", Size: 1},
		"no version":              {Key: "a/b", Size: 1},
		"larger":                  {Key: "a/b", Version: version, Size: 2},
		"smaller":                 {Key: "a/b", Version: version, Size: 0},
		"a delete marker":         {Key: "a/deleted", Version: aws.ToString(deleted.VersionId)},
		"a folder":                {Key: "a", Version: version, Size: 1},
		"a pipe":                  {Key: "a/pipe", Version: version, Size: 1},
		"missing":                 {Key: "a/c", Version: version, Size: 1},
		"another name of the key": {Key: "a/../a/b", Version: version, Size: 1},
		"outside":                 {Key: "../" + Bucket + "/a/b", Version: version, Size: 1},
		"absolute":                {Key: filepath.Join(bucket.folder, "a/b"), Version: version, Size: 1},
	} {
		if file, err := bucket.openFile(t.Context(), o); err == nil {
			t.Errorf("%s: it is opened: %+v", name, file)
			_ = file.Close()
		}
	}
	if len(e.files.files) != 0 {
		t.Errorf("there are still open files: %+v", e.files.files)
	}
}

// The content of a deleted object's file goes with its last reader.
func TestDeletedFileIsEmptiedAfterItsReaders(t *testing.T) {
	e := start(t, t.TempDir())
	bucket, u := e.bucket(t), user{e.Server.Client(e.Root)}
	const key, content = "modules/a", "its content"
	u.Upload(t, key, []byte(content), nil)
	open := func() blob.File {
		body, _, err := bucket.Open(t.Context(), key, "")
		if err != nil {
			t.Fatal(err)
		}
		return body.(blob.File)
	}
	wantSize := func(when string, want int) {
		t.Helper()
		if info, err := os.Stat(filepath.Join(Bucket, key)); err != nil || info.Size() != int64(want) {
			t.Errorf("%s the marker's file: %+v, %v, want %d bytes", when, info, err, want)
		}
	}
	first, second := open(), open()
	u.Delete(t, key)
	wantSize("with two readers", len(content))
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	wantSize("with one reader", len(content))
	if got, err := io.ReadAll(second); string(got) != content || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	wantSize("without readers", 0)
}

// A context that has ended ends the reading.
func TestOpenedFileAndItsContext(t *testing.T) {
	e := start(t, t.TempDir())
	put(t, e.Server.Client(e.Root), "a", "content")
	ctx, cancel := context.WithCancel(t.Context())
	body, _, err := e.bucket(t).Open(ctx, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	cancel()
	if n, err := body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %d, %v", n, err)
	}
	if n, err := body.(blob.File).ReadAt(make([]byte, 1), 0); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAt: %d, %v", n, err)
	}
}

// While an object is written and deleted, a reader gets one of its contents, whole.
func TestOpenWhileOthersWrite(t *testing.T) {
	e := start(t, t.TempDir())
	bucket, u := e.bucket(t), user{e.Server.Client(e.Root)}
	const key, rounds = "a", 60
	content := func(n int) string { return fmt.Sprintf("%03d", n) + strings.Repeat("x", 1<<12) }
	versions := make(chan [2]string, rounds)
	var reading sync.WaitGroup
	for range 4 {
		reading.Go(func() {
			for v := range versions {
				body, _, err := bucket.Open(t.Context(), key, v[0])
				if err != nil {
					t.Error(err)
					continue
				}
				got, err := io.ReadAll(body)
				if err != nil || string(got) != v[1] {
					t.Errorf("%d bytes, %v, want %d", len(got), err, len(v[1]))
				}
				_ = body.Close()
			}
		})
	}
	for n := range rounds {
		version := u.Upload(t, key, []byte(content(n)), nil)
		versions <- [2]string{version, content(n)}
		u.Delete(t, key)
	}
	close(versions)
	reading.Wait()
	if info, err := os.Stat(filepath.Join(Bucket, key)); err != nil || info.Size() != 0 {
		t.Errorf("the marker's file: %+v, %v", info, err)
	}
}
