package prune

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// world is a registry with its inbox.
type world struct {
	client    *s3.Client
	bucket    *s3blob.Bucket
	publisher publishing.Registry
}

// noSigner is for what nobody signs: modules.
type noSigner struct{ versionlog.Signer }

func (noSigner) PublicKey() signing.PublicKey { return signing.PublicKey{} }

func newWorld(t *testing.T) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := locals3.StartInside(t.Context(), locals3.Options{Dir: dir, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := boltcatalog.Open(dir.Path(datadir.Catalog))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(catalog.Close(), server.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	w := &world{client: server.Connection().Client()}
	if w.bucket, err = server.Connection().Bucket(); err != nil {
		t.Fatal(err)
	}
	w.publisher = publishing.New(publishing.Config{
		Bucket: w.bucket, Index: catalog, Signer: noSigner{}, Scratch: t.TempDir(), Logger: quiet, KeysAreFiles: true,
	})
	return w
}

func (w *world) put(t *testing.T, key string, content []byte) {
	t.Helper()
	_, err := w.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(locals3.Bucket), Key: &key, Body: bytes.NewReader(content)})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) publish(t *testing.T, key string, content []byte) {
	t.Helper()
	w.put(t, key, content)
	if err := w.publisher.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(t *testing.T, key string) {
	t.Helper()
	if _, err := w.client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(locals3.Bucket), Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// The inbox of a registry in which everything is that can be.
const (
	publishedKey   = "modules/acme/network/aws/1.0.0.tar.gz"
	againKey       = "modules/acme/network/aws/1.1.0.tar.gz" // published, and uploaded again
	rejectedKey    = "modules/acme/network/aws/1.2.0.tar.gz"
	overwrittenKey = "modules/acme/network/aws/1.3.0.tar.gz" // published, and then overwritten by what is rejected
	deletedKey     = "modules/acme/network/aws/1.4.0.tar.gz" // published, and deleted
	freshKey       = "modules/acme/network/aws/1.5.0.tar.gz" // nobody has looked at it
	renewedKey     = "modules/acme/network/aws/1.6.0.tar.gz" // published, and a new one nobody has looked at
	ignoredKey     = "modules/acme/network/aws/README.md"
	pendingKey     = "providers/acme/widget/terraform-provider-widget_2.0.0_SHA256SUMS"
)

func (w *world) fill(t *testing.T) {
	t.Helper()
	w.publish(t, publishedKey, archivetest.Module(t, "# one\n"))
	w.publish(t, againKey, archivetest.Module(t, "# two\n"))
	w.publish(t, againKey, archivetest.Module(t, "# two\n"))
	w.publish(t, rejectedKey, []byte("no archive"))
	w.publish(t, overwrittenKey, archivetest.Module(t, "# three\n"))
	w.publish(t, overwrittenKey, archivetest.Module(t, "# another three\n"))
	w.publish(t, deletedKey, archivetest.Module(t, "# four\n"))
	w.remove(t, deletedKey)
	w.put(t, freshKey, archivetest.Module(t, "# five\n"))
	w.publish(t, renewedKey, archivetest.Module(t, "# six\n"))
	w.put(t, renewedKey, archivetest.Module(t, "# six\n"))
	w.publish(t, ignoredKey, []byte("read me"))
	w.publish(t, pendingKey, []byte(strings.Repeat("0123456789abcdef", 4)+"  terraform-provider-widget_2.0.0_linux_amd64.zip\n"))
}

// run prunes, and returns what went.
func (w *world) run(t *testing.T, o Options) (gone []string, total Total) {
	t.Helper()
	o.Bucket, o.Inbox = w.bucket, w.publisher.Inbox
	o.Each = func(i Item) error {
		gone = append(gone, i.What+" "+i.Key)
		return nil
	}
	total, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if newest := slices.Index(gone, "published "+againKey); newest >= 0 && newest < slices.Index(gone, "overwritten "+againKey) {
		t.Error("the newest version went first")
	}
	slices.Sort(gone)
	return gone, total
}

// all is every object version below a prefix, and every delete marker.
func (w *world) all(t *testing.T, prefix string) (all []string) {
	t.Helper()
	for o, err := range w.bucket.Versions(t.Context(), prefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Key+" "+o.Version)
	}
	err := w.bucket.Markers(t.Context(), prefix, func(o blob.Object) error {
		all = append(all, "marker "+o.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What goes is what came to its end so long ago; and what goes is not missed.
func TestRun(t *testing.T) {
	done := []string{
		"deleted " + deletedKey, "ignored " + ignoredKey, "overwritten " + againKey, "overwritten " + overwrittenKey,
		"published " + againKey, "published " + deletedKey, "published " + publishedKey, "published " + renewedKey,
	}
	others := []string{"pending " + pendingKey, "rejected " + overwrittenKey, "rejected " + rejectedKey}
	for _, c := range []struct {
		name string
		days int
		age  time.Duration // of the inbox
		want []string
	}{
		{"a day too early", 30, 30*day - time.Minute, nil},
		{"after 30 days", 30, 30*day + time.Minute, append(slices.Clone(done), others...)},
		{"at once", 0, time.Minute, done},
		{"after a week, a day too early", 7, 7*day - time.Minute, nil},
		{"after a week", 7, 7*day + time.Minute, done},
		{"after more than others wait", 60, 60*day - time.Minute, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.fill(t)
			served, inbox := w.all(t, registry.Prefix), append(w.all(t, "modules/"), w.all(t, "providers/")...)
			o := Options{Days: c.days, Now: time.Now().Add(c.age), DryRun: true}
			would, dry := w.run(t, o)
			if still := append(w.all(t, "modules/"), w.all(t, "providers/")...); !slices.Equal(still, inbox) {
				t.Errorf("a dry run has left\n%s\nof\n%s", strings.Join(still, "\n"), strings.Join(inbox, "\n"))
			}
			o.DryRun = false
			gone, total := w.run(t, o)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(gone, want) || !slices.Equal(would, want) || total != dry || total.Objects != len(want) {
				t.Errorf("gone: %+v\n%s\nwould be: %+v\n%s\nwant\n%s", total, strings.Join(gone, "\n"), dry, strings.Join(would, "\n"), strings.Join(want, "\n"))
			}
			if left := len(inbox) - len(append(w.all(t, "modules/"), w.all(t, "providers/")...)); left != len(want) {
				t.Errorf("%d are gone, want %d", left, len(want))
			}
			if still := w.all(t, registry.Prefix); !slices.Equal(still, served) {
				t.Errorf("below registry/ there is\n%s\nwant\n%s", strings.Join(still, "\n"), strings.Join(served, "\n"))
			}
			w.verify(t)
		})
	}
}

// verify finds nothing wrong but that nobody has looked at what is fresh.
func (w *world) verify(t *testing.T) {
	t.Helper()
	for step, err := range w.publisher.Verify(t.Context(), "", false) {
		if err != nil {
			t.Fatal(err)
		}
		if fresh := step.Subject == "upload "+freshKey || step.Subject == "upload "+renewedKey; len(step.Problems) > 0 && !fresh {
			t.Errorf("%s: %q", step.Subject, step.Problems)
		}
	}
}

// What fails ends it, and says so.
func TestRunFails(t *testing.T) {
	w := newWorld(t)
	w.publish(t, publishedKey, archivetest.Module(t, "# one\n"))
	broken := errors.New("nobody can be told")
	o := Options{Bucket: w.bucket, Inbox: w.publisher.Inbox, Now: time.Now().Add(day), Each: func(Item) error { return broken }}
	if total, err := Run(t.Context(), o); !errors.Is(err, broken) || total != (Total{}) {
		t.Errorf("%+v, %v", total, err)
	}
	if got := fmt.Sprint(len(w.all(t, "modules/"))); got != "1" {
		t.Errorf("%s objects are left", got)
	}
}
