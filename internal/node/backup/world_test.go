package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/keyfile"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// world is a data folder with its bucket open. The bucket's library allows one at a
// time, so it is closed before another folder is opened.
type world struct {
	dir       *datadir.Dir
	server    *locals3.Server
	bucket    blob.Bucket
	catalog   *boltcatalog.Catalog
	publisher publishing.Registry
}

// What tests write need not outlive a power cut, and others of the machine write much.
func TestMain(m *testing.M) {
	flush = func() {}
	os.Exit(m.Run())
}

var quiet = slog.New(slog.DiscardHandler)

// signingKey is the file of a signing key, which takes long to make.
var signingKey = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "key-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "key")
	if _, err := keyfile.Load(context.Background(), path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// open opens a data folder, or makes it.
func open(t *testing.T, path string) *world {
	t.Helper()
	ctx := t.Context()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signingKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.LoadOrCreate(datadir.SigningKey, func() ([]byte, error) { return key, nil }); err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir}
	if w.server, err = locals3.StartInside(ctx, locals3.Options{Dir: dir, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	if w.bucket, err = w.server.Connection().Bucket(); err != nil {
		t.Fatal(err)
	}
	signer, err := keyfile.Open(ctx, dir.Path(datadir.SigningKey), w.bucket)
	if err != nil {
		t.Fatal(err)
	}
	if w.catalog, err = boltcatalog.Open(dir.Path(datadir.Catalog)); err != nil {
		t.Fatal(err)
	}
	w.publisher = publishing.New(publishing.Config{
		Bucket: w.bucket, Index: w.catalog, Signer: signer, Scratch: t.TempDir(), Logger: quiet, KeysAreFiles: true,
	})
	return w
}

func (w *world) close(t *testing.T) {
	t.Helper()
	if err := errors.Join(w.catalog.Close(), w.server.Close(), w.dir.Close()); err != nil {
		t.Fatal(err)
	}
}

// put uploads, with metadata and tags of the uploader's own.
func (w *world) put(t *testing.T, key string, body []byte) {
	t.Helper()
	_, err := w.server.Client(w.server.Keys.Operator()).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(locals3.Bucket), Key: &key, Body: bytes.NewReader(body),
		ContentType: aws.String("application/x-mine"), Metadata: map[string]string{"source": "https://example.com/repo"}, Tagging: aws.String("team=a%20b"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// publish uploads, and has that come to its outcome.
func (w *world) publish(t *testing.T, key string, body []byte) {
	t.Helper()
	w.put(t, key, body)
	if err := w.publisher.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

// What is not published yet in every world: one upload waits for its signature, and of
// the other nobody has been told.
const (
	pendingKey = "providers/acme/widget/terraform-provider-widget_2.0.0_SHA256SUMS"
	freshKey   = "modules/acme/fresh/aws/1.0.0.tar.gz"
)

// newWorld is a data folder in which something was published, something was rejected,
// and something is neither.
func newWorld(t *testing.T) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	w := open(t, data)
	defer w.close(t)
	w.publish(t, "modules/acme/network/aws/1.0.0.tar.gz", archivetest.Module(t, "# one\n"))
	w.publish(t, "modules/acme/network/aws/1.0.0+other.tar.gz", archivetest.Module(t, "# another\n")) // rejected
	w.publish(t, "providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", archivetest.Provider(t, "terraform-provider-widget_v1.0.0", "#!/bin/sh\n"))
	w.publish(t, pendingKey, []byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef  terraform-provider-widget_2.0.0_linux_amd64.zip\n"))
	w.put(t, freshKey, archivetest.Module(t, "# fresh\n"))
	tokens, err := boltcatalog.OpenAccess(w.dir.Path(datadir.Access))
	if err != nil {
		t.Fatal(err)
	}
	token := access.Token{ID: access.ID{1, 2, 3}, Name: "ci", Created: time.Now().UTC()}
	if err := errors.Join(tokens.CreateToken(t.Context(), token), tokens.Close()); err != nil {
		t.Fatal(err)
	}
	if err := w.dir.WriteFile(datadir.CA, []byte("a key of a CA")); err != nil {
		t.Fatal(err)
	}
	return data
}

// contents is all that a data folder has: of objects in the bucket their bytes, and of
// the inbox what belongs to them, too.
func contents(t *testing.T, data string) map[string]string {
	t.Helper()
	w := open(t, data)
	defer w.close(t)
	all := map[string]string{}
	client := w.server.Connection().Client()
	for o, err := range w.bucket.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(locals3.Bucket), Key: &o.Key})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key] = aws.ToString(got.ContentType) + " " + got.Metadata["source"] + " " + string(body)
		if strings.HasPrefix(o.Key, registry.Prefix) {
			continue
		}
		tags, err := client.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(locals3.Bucket), Key: &o.Key})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range tags.TagSet {
			all[o.Key+" "+aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	files, err := readFiles(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		all["file "+name] = string(content)
	}
	tokens, err := boltcatalog.OpenAccess(w.dir.Path(datadir.Access))
	if err != nil {
		t.Fatal(err)
	}
	defer tokens.Close()
	list, _, err := tokens.Tokens(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range list {
		all["token "+token.Name] = token.ID.String()
	}
	return all
}

// restored is what a data folder has that is restored from a backup of another one.
func restored(of map[string]string) map[string]string {
	want := maps.Clone(of)
	maps.DeleteFunc(want, func(name, _ string) bool { // what was published, or rejected
		return strings.HasPrefix(name, "modules/acme/network/") || strings.HasPrefix(name, "providers/acme/widget/terraform-provider-widget_1.0.0_")
	})
	return want
}

func options(data string) Options {
	return Options{Data: data, Progress: progress.New(io.Discard, false), Logger: quiet}
}

func restoreOptions(data string) RestoreOptions {
	return RestoreOptions{Data: data, Progress: progress.New(io.Discard, false), Logger: quiet}
}
