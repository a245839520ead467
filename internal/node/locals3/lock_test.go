package locals3

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3response"
)

// lookedAt are attributes that tell when the storage has read, by the path of an object, which version lies there.
type lookedAt struct {
	attributes
	then *atomic.Pointer[func()]
}

func (l lookedAt) RetrieveAttribute(f *os.File, bucket, object, attribute string) ([]byte, error) {
	value, err := l.attributes.RetrieveAttribute(f, bucket, object, attribute)
	if attribute == "version-id" && f == nil {
		if then := l.then.Swap(nil); then != nil {
			(*then)()
		}
	}
	return value, err
}

// newGuarded is the storage alone, below a new folder, with a bucket that keeps versions; and then is called when a
// deletion has looked at what lies under its key.
func newGuarded(t *testing.T) (g guarded, then *atomic.Pointer[func()]) {
	t.Helper()
	root := t.TempDir()
	t.Chdir(root) // the storage goes elsewhere, and the test comes back
	folders := []string{filepath.Join(root, "s3"), filepath.Join(root, "versions")}
	for _, folder := range folders {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	then = new(atomic.Pointer[func()])
	storage, err := newQuietly(folders[0], lookedAt{then: then}, posix.PosixOpts{VersioningDir: folders[1]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Shutdown)
	if err := storage.CreateBucket(asNode(t), &s3.CreateBucketInput{Bucket: aws.String(Bucket), CreateBucketConfiguration: &types.CreateBucketConfiguration{}}, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := storage.PutBucketVersioning(asNode(t), Bucket, types.BucketVersioningStatusEnabled); err != nil {
		t.Fatal(err)
	}
	return guarded{Backend: storage}, then
}

// ofNode is the context of a request of the node itself.
type ofNode struct{ context.Context }

func (n ofNode) Value(key any) any {
	if key == string(utils.ContextKeyAccount) {
		return auth.Account{Access: nodeKeyID}
	}
	return n.Context.Value(key)
}

func asNode(t *testing.T) context.Context { return ofNode{t.Context()} }

func (g guarded) put(t *testing.T, key, body string) string {
	t.Helper()
	out, err := g.PutObject(asNode(t), s3response.PutObjectInput{Bucket: aws.String(Bucket), Key: &key,
		Body: strings.NewReader(body), ContentLength: aws.Int64(int64(len(body)))})
	if err != nil {
		t.Error(err) // maybe not in the goroutine of the test
	}
	return out.VersionID
}

// uploadWhen uploads once the storage has looked at what lies under a key.
func uploadWhen(t *testing.T, g guarded, then *atomic.Pointer[func()], key string) (version <-chan string) {
	uploaded := make(chan string, 1)
	meanwhile := func() {
		go func() { uploaded <- g.put(t, key, "new") }()
		for range 50 { // it would be done by then
			if len(uploaded) == 1 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	then.Store(&meanwhile)
	return uploaded
}

// What is uploaded while an older version of its key is removed, or the key is deleted, is kept.
func TestAnUploadDuringADeletion(t *testing.T) {
	const key = "modules/acme/network/aws/1.0.0.zip"
	deletions := map[string]func(t *testing.T, g guarded, version *string) error{
		"one": func(t *testing.T, g guarded, version *string) error {
			_, err := g.DeleteObject(asNode(t), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: aws.String(key), VersionId: version})
			return err
		},
		"a list": func(t *testing.T, g guarded, version *string) error {
			out, err := g.DeleteObjects(asNode(t), &s3.DeleteObjectsInput{Bucket: aws.String(Bucket), Delete: &types.Delete{
				Objects: []types.ObjectIdentifier{{Key: aws.String(key), VersionId: version}}}})
			if len(out.Deleted) != 1 || len(out.Error) != 0 {
				t.Errorf("it answers %+v", out)
			}
			return err
		},
	}
	for name, remove := range deletions {
		for _, what := range []string{"of the version", "of the key"} {
			t.Run(name+", "+what, func(t *testing.T) {
				g, then := newGuarded(t)
				version := aws.String(g.put(t, key, "old"))
				if what == "of the key" {
					version = nil
				}
				uploaded := uploadWhen(t, g, then, key)
				if err := remove(t, g, version); err != nil {
					t.Error(err)
				}
				if then.Load() != nil {
					t.Fatal("the deletion has looked at nothing")
				}
				<-uploaded
				out, err := g.GetObject(asNode(t), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: aws.String(key)})
				if err != nil {
					t.Fatalf("the upload is gone: %v", err)
				}
				defer out.Body.Close()
				got := make([]byte, 4)
				if n, _ := out.Body.Read(got); string(got[:n]) != "new" {
					t.Errorf("there is %q", got[:n])
				}
			})
		}
	}
}

// Tags go to their version, even if another one is uploaded meanwhile.
func TestAnUploadWhileTagsChange(t *testing.T) {
	const key = "modules/acme/network/aws/1.0.0.zip"
	tags := map[string]string{"larder-status": "published"}
	for name, tt := range map[string]struct {
		change func(t *testing.T, g guarded, version string) error
		want   map[string]string
	}{
		"set": {func(t *testing.T, g guarded, version string) error {
			return g.PutObjectTagging(asNode(t), Bucket, key, version, tags)
		}, tags},
		"removed": {func(t *testing.T, g guarded, version string) error {
			return g.DeleteObjectTagging(asNode(t), Bucket, key, version)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, then := newGuarded(t)
			old := g.put(t, key, "old")
			if err := g.PutObjectTagging(asNode(t), Bucket, key, old, map[string]string{"of": "old"}); err != nil {
				t.Fatal(err)
			}
			uploaded := uploadWhen(t, g, then, key)
			if err := tt.change(t, g, old); err != nil {
				t.Error(err)
			}
			if then.Load() != nil {
				t.Fatal("the change has looked at nothing")
			}
			for version, want := range map[string]map[string]string{old: tt.want, <-uploaded: nil} {
				got, err := g.GetObjectTagging(asNode(t), Bucket, key, version)
				if err != nil && len(want) > 0 || !maps.Equal(got, want) {
					t.Errorf("version %s has the tags %v, %v, want %v", version, got, err, want)
				}
			}
		})
	}
}

// A version is read as it was uploaded, even if another one is uploaded meanwhile.
func TestAnUploadWhileAVersionIsOpened(t *testing.T) {
	const key = "modules/acme/network/aws/1.0.0.zip"
	g, then := newGuarded(t)
	old := g.put(t, key, "old")
	uploaded := uploadWhen(t, g, then, key)
	out, err := g.GetObject(asNode(t), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: aws.String(key), VersionId: &old})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	if then.Load() != nil {
		t.Fatal("the read has looked at nothing")
	}
	<-uploaded
	if got, err := io.ReadAll(out.Body); err != nil || string(got) != "old" {
		t.Errorf("it reads %q, %v", got, err)
	}
}

// A deletion waits for the storage's own lock of its key, no longer than its request goes on.
func TestADeletionWaits(t *testing.T) {
	g, _ := newGuarded(t)
	g.put(t, "modules/a", "x") // which has the storage make its lock
	unlock, err := lock(t.Context(), Bucket, "modules/a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(asNode(t), 50*time.Millisecond)
	defer cancel()
	if _, err := g.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/a")}); ctx.Err() == nil || err == nil {
		t.Errorf("it is deleted: %v", err)
	}
	put, cancelPut := context.WithTimeout(asNode(t), 50*time.Millisecond)
	defer cancelPut()
	_, err = g.PutObject(put, s3response.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/a"),
		Body: strings.NewReader("y"), ContentLength: aws.Int64(1)})
	if put.Err() == nil || err == nil {
		t.Errorf("it is uploaded: %v", err)
	}
	entries, err := filepath.Glob(filepath.Join(locksFolder, "*", "*"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the locks are %q, %v", entries, err)
	}
}
