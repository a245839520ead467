package publish_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// An upload's temporary files take no space once the upload is done, whatever came
// of it: they have no name by then, and are gone when they are closed.
func TestNoScratchFileStaysOpen(t *testing.T) {
	const descriptors = "/proc/self/fd"
	if _, err := os.Stat(descriptors); err != nil {
		t.Skip("it needs a system that lists open files")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files, too
	open := func() (files []string) {
		all, err := filepath.Glob(descriptors + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, descriptor := range all {
			file, _ := os.Readlink(descriptor)
			if strings.HasPrefix(filepath.Base(file), "upload-") {
				files = append(files, file)
			}
		}
		return files
	}
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	folder := t.TempDir()
	publishing := func(b blob.Bucket) *publishtest.Parts {
		return publishtest.Assemble(publishing.Config{Bucket: b, Index: w.Index, Signer: w.Key, Scratch: folder, Logger: slog.New(slog.DiscardHandler)})
	}
	for key, body := range map[string][]byte{
		publishtest.PackageKey("1.0.0", "linux_amd64"): publishtest.Widget("a"),
		publishtest.PackageKey("1.0.0", "linux_arm64"): []byte("no zip"),
		"modules/acme/vpc/aws/1.0.0.zip":               publishtest.ZipOf(map[string]string{"x/main.tf": ""}),
		"modules/acme/vpc/aws/1.1.0.tar.gz":            publishtest.TarOf(map[string]string{"main.tf": ""}),
		"modules/acme/vpc/aws/1.2.0.zip":               []byte("no zip"),
	} {
		before, object := len(open()), blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)}
		if _, err := publishing(publishtest.Breaking{Bucket: w.Bucket, Key: key, Err: publishtest.ErrFault}).Publish(t.Context(), object); !errors.Is(err, publishtest.ErrFault) {
			t.Errorf("%s breaks off: %v", key, err)
		}
		if _, err := publishing(w.Bucket).Publish(t.Context(), object); err != nil {
			t.Error(err)
		}
		if after := open(); len(after) != before {
			t.Errorf("%s: still open are %q", key, after)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("there are still %v, %v", left, err)
	}
}

// Without room for temporary files an upload is tried again, and nothing is said
// of it.
func TestAllOrNothingWithoutScratchSpace(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	folder := filepath.Join(t.TempDir(), "not", "there")
	p := publishtest.Assemble(publishing.Config{Bucket: w.Bucket, Index: w.Index, Signer: w.Key, Scratch: folder, Logger: slog.New(slog.DiscardHandler)})
	for key, body := range map[string][]byte{publishtest.PackageKey("1.0.0", "linux_amd64"): publishtest.Widget("a"), "modules/acme/vpc/aws/1.0.0.zip": publishtest.ZipOf(map[string]string{"main.tf": ""})} {
		outcome, err := p.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "scratch space: ") || outcome.Status != "" {
			t.Errorf("%s: %q, %v", key, outcome.Status, err)
		}
	}
	if got := w.KeysUnder(registry.Prefix); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
}

// If the bucket has a file of an upload, the upload needs no scratch space. The outcome, the
// records and the objects are the same. What is not read to its end is closed, too.
func TestAFileNeedsNoScratchSpace(t *testing.T) {
	uploads := []struct {
		key  string
		body []byte
		want inbox.Status
	}{
		{publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"), inbox.Published},
		{publishtest.PackageKey("1.0.0", "linux_arm64"), []byte("no zip"), inbox.Rejected},
		{"modules/acme/vpc/aws/1.0.0.tar.gz", publishtest.TarOf(map[string]string{"main.tf": ""}), inbox.Published},
		{"modules/acme/vpc/aws/1.1.0.zip", nil, inbox.Rejected},
	}
	publish := func(files bool) (accepted []any) {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt) // at its end, no body is open
		w.Bucket.(*blobtest.Memory).Files = files
		folder := t.TempDir()
		if files {
			folder = filepath.Join(folder, "not", "there")
		}
		publishing := func(b blob.Bucket) *publishtest.Parts {
			return publishtest.Assemble(publishing.Config{Bucket: b, Index: w.Index, Signer: w.Key, Scratch: folder, Logger: slog.New(slog.DiscardHandler)})
		}
		for _, u := range uploads {
			object := blob.Object{Key: u.key, Version: w.S3.Upload(t, u.key, u.body, nil)}
			for _, wrong := range []int64{int64(len(u.body)) + 1, int64(len(u.body)) - 1, inbox.MaxUpload} {
				if wrong < 0 {
					continue
				}
				want := fmt.Sprintf("read %d of %d bytes of %s", min(len(u.body), int(wrong)+1), wrong, u.key)
				if o, err := publishing(sized{w.Bucket, u.key, wrong}).Publish(t.Context(), object); err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s: %+v, %v, want %q", u.key, o, err, want)
				}
			}
			o, err := publishing(w.Bucket).Publish(t.Context(), object)
			if err != nil || o.Status != u.want {
				t.Errorf("%s: %+v, %v", u.key, o, err)
			}
			sum := sha256.Sum256(u.body)
			if want := hex.EncodeToString(sum[:]); o.SHA256 != want {
				t.Errorf("%s has the sha256 %s, want %s", u.key, o.SHA256, want)
			}
			accepted = append(accepted, o.Status, o.Reasons, o.SHA256)
		}
		s := w.Provider("acme", "widget", "1.0.0")
		return append(accepted, s.Packages[0].H1, s.Packages[0].Size, s.Packages[0].SHA256, w.servedModule("1.0.0"), w.servedPackage("1.0.0"))
	}
	if streamed, files := publish(false), publish(true); !reflect.DeepEqual(streamed, files) {
		t.Errorf("with files:\n%v\nwithout:\n%v", files, streamed)
	}
}

// sized is a bucket that says another size of an object.
type sized struct {
	blob.Bucket
	key  string
	size int64
}

func (b sized) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	body, object, err := b.Bucket.Open(ctx, key, version)
	if key == b.key {
		object.Size = b.size
	}
	return body, object, err
}

// What is too large is rejected before it is read, at the byte.
func TestUploadsThatAreTooLarge(t *testing.T) {
	release := publishtest.WidgetFolder + "terraform-provider-widget_1.0.0_"
	words := map[int64]string{5 << 30: "5 GiB", 1 << 20: "1 MiB", 256 << 10: "256 KiB", 64 << 10: "64 KiB"}
	for key, limit := range map[string]int64{
		publishtest.PackageKey("1.0.0", "linux_amd64"): inbox.MaxUpload, "modules/acme/vpc/aws/1.0.0.zip": inbox.MaxUpload,
		release + "SHA256SUMS": shasums.MaxSize, release + "SHA256SUMS.sig": signing.MaxSignature,
		release + "manifest.json": archive.MaxManifest, publishtest.AuthorFile: signing.MaxKeyFile, publishtest.Mirrored + "1.0.0.json": 1 << 20,
	} {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		object := blob.Object{Key: key, Version: w.S3.Upload(t, key, []byte("x"), nil)}
		for size, tooLarge := range map[int64]bool{limit: false, limit + 1: true} {
			p := w.PartsOn(sized{w.Bucket, key, size}, w.Index, w.Key)
			outcome, err := p.Publish(t.Context(), object)
			want := fmt.Sprintf("the file has %d bytes, and such a file has %s at most", size, words[limit])
			if got := outcome.Status == inbox.Rejected && slices.Equal(outcome.Reasons, []string{want}); got != tooLarge {
				t.Errorf("%s with %d bytes is %q, %q, %v", key, size, outcome.Status, outcome.Reasons, err)
			}
		}
	}
}
