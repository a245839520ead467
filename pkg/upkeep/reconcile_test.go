package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// An upload of which it is not known what became of it is passed over, unless that
// is so of one after another.
func TestAReconcilePassesOverAnUploadThatCannotBeLookedAt(t *testing.T) {
	for broken, want := range map[int]error{1: nil, 10: nil, 11: publishtest.ErrFault} {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		for n := range 11 {
			w.S3.Upload(t, fmt.Sprintf("modules/acme/vpc/aws/1.%02d.0.zip", n), []byte("x"), nil)
		}
		w.S3.Upload(t, publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"), nil)
		f := &publishtest.Outage{Prefix: "read registry/outcomes/modules/", Left: broken}
		missed := 0
		_, err := w.PartsOn(publishtest.FaultyBucket{Caller: f, Bucket: w.Bucket}, w.Index, w.Key).Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(context.Context, blob.Object) error { missed++; return nil })
		if !errors.Is(err, want) || want == nil && missed != 12-broken {
			t.Errorf("%d failures: %v, %d missed", broken, err, missed)
		}
	}
}

// The inbox is walked by its keys, however often each was uploaded. What waits
// there is the last upload that waits, and not what it took the place of.
func TestAReconcileTellsOfTheLastUpload(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	f := r.InOrder("SHA256SUMS")[0]
	w.Want(w.Upload(f.Key, f.Body), inbox.Pending)
	last := w.S3.Upload(t, f.Key, f.Body, nil)
	w.Want(w.Deliver(f.Key, last), inbox.Pending)
	var keys []string
	for key, err := range w.Uploads(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if !slices.Equal(keys, []string{f.Key}) {
		t.Errorf("the uploads are %q", keys)
	}
	if _, missed := w.ReconcileInParts(); !slices.Equal(missed, []string{f.Key + " " + last}) {
		t.Errorf("missed %q, want %q alone", missed, last)
	}
}

// An upload of which nobody knows what became is passed over, and named in the log.
func TestAReconcileLogsWhatItCannotTell(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	w.S3.Upload(t, key, publishtest.Widget("a"), nil)
	w.Put(registry.OutcomeKey(key), []byte("no outcome"))
	var log bytes.Buffer
	p := publishtest.Assemble(publishing.Config{Bucket: w.Bucket, Index: w.Index, Signer: w.Key, Scratch: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := p.Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(context.Context, blob.Object) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "it is not known what became of an upload") || !strings.Contains(log.String(), "key="+key) {
		t.Errorf("the log is %s", &log)
	}
}

// interfering is a catalog that somebody changes before it is corrected.
type interfering struct {
	publishing.Index
	before func()
}

func (i *interfering) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	if do := i.before; do != nil {
		i.before = nil
		do()
	}
	return i.Index.Replace(ctx, s, seen)
}

// A correction that somebody came before is made on what they have left.
func TestAReindexLooksAgainAfterOthers(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	s := w.Provider("acme", "widget", "1.0.0")
	seen := catalog.Seen{State: s.Revision, Listed: s.Revision}
	wrong := s
	wrong.Standing = publishtest.Withdraw
	if err := catalogtest.Replace(t.Context(), w.Index, wrong, seen); err != nil {
		t.Fatal(err)
	}
	index := &interfering{w.Index, func() {
		if err := w.Index.Remove(t.Context(), s.Subject(), seen); err != nil {
			t.Error(err)
		}
	}}
	if got := w.Walked(w.PartsOn(w.Bucket, index, w.Key).Reindex(t.Context(), "", false)); !slices.Equal(got, []string{"provider acme/widget 1.0.0 changed"}) {
		t.Errorf("reindexed %q", got)
	}
	w.WantListed("acme/widget", "1.0.0 linux_amd64")
}
