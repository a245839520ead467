package publish_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// overwritten is a bucket in which somebody overwrites an upload at the moment
// in which it is copied, and that copies the new bytes, as the one of a single
// node does if the moment is bad enough.
type overwritten struct {
	blob.Bucket
	overwrite func(key string) (version string)
	fail      error // of Put, once
}

func (b *overwritten) Copy(ctx context.Context, from, _, to string) (string, error) {
	return b.Bucket.Copy(ctx, from, b.overwrite(from), to)
}

func (b *overwritten) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	if err := b.fail; err != nil {
		b.fail = nil
		return err
	}
	return b.Bucket.Put(ctx, key, body, size)
}

// What is served has the hash that is published, whatever happens to an upload
// while it is published.
func TestImmutableAnUploadThatIsOverwrittenWhileItIsCopied(t *testing.T) {
	moduleKey, providerKey := "modules/acme/vpc/aws/1.0.0.tar.gz", publishtest.PackageKey("1.0.0", "linux_amd64")
	good := map[string][]byte{moduleKey: publishtest.TarOf(map[string]string{"main.tf": "# good"}), providerKey: publishtest.Widget("good")}
	bad := func(key string) []byte { return bytes.Repeat([]byte("x"), len(good[key])) }
	for name, fail := range map[string]error{"at once": nil, "after a failure": errors.New("the bucket fails")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := &overwritten{Bucket: w.Bucket, overwrite: func(key string) string { return w.S3.Upload(t, key, bad(key), nil) }}
			w.Parts = w.PartsOn(b, w.Index, w.Key)
			for key, body := range good {
				version := w.S3.Upload(t, key, body, nil)
				if b.fail = fail; fail != nil {
					if _, err := w.Publish(t.Context(), blob.Object{Key: key, Version: version}); !errors.Is(err, fail) {
						t.Fatalf("%s: %v", key, err)
					}
				}
				w.Want(w.Deliver(key, version), inbox.Published)
			}
			if got := w.servedModule("1.0.0"); !bytes.Equal(got, good[moduleKey]) {
				t.Errorf("a module is served with other bytes: %q", got)
			}
			if got := w.servedPackage("1.0.0"); !bytes.Equal(got, good[providerKey]) {
				t.Errorf("a package is served with other bytes: %q", got)
			}
		})
	}
}
