package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// announcing is a publisher that keeps what it announces, or fails to, and the
// messages that it logs.
func (w *world) announcing(fail *bool) (p *publishtest.Parts, announced func() []inbox.Status, logged func() []string) {
	var statuses []inbox.Status
	var log bytes.Buffer
	p = publishtest.Assemble(publishing.Config{
		Bucket: w.Bucket, Index: w.Index, Signer: w.Key, Scratch: w.TempDir(), Logger: slog.New(slog.NewJSONHandler(&log, nil)),
		Announce: func(_ context.Context, o inbox.Outcome) error {
			if *fail {
				return publishtest.ErrFault
			}
			statuses = append(statuses, o.Status)
			return nil
		},
	})
	return p, func() []inbox.Status { return statuses }, func() []string { return messages(w, log.Bytes()) }
}

// messages are those of the lines of a log.
func messages(t testing.TB, log []byte) []string {
	t.Helper()
	var all []string
	for line := range bytes.Lines(log) {
		var entry struct{ Msg string }
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		all = append(all, entry.Msg)
	}
	return all
}

// What is news is logged and announced, and what is not is not: not an event that
// comes twice, nor the look at what still waits, as at every start.
func TestOutcomesAreAnnouncedOnce(t *testing.T) {
	w := newWorld(t)
	fail := false
	p, announced, logged := w.announcing(&fail)
	r := publishtest.NewRelease(t, "acme")
	version := w.S3.Upload(t, r.SumsKey(), r.Sums, nil)
	for range 2 {
		if _, err := p.Publish(t.Context(), blob.Object{Key: r.SumsKey(), Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	if got := announced(); !slices.Equal(got, []inbox.Status{inbox.Pending}) {
		t.Errorf("announced %q of a SHA256SUMS that waits", got)
	}
	w.S3.Upload(t, r.SumsKey(), []byte("no checksums"), nil)
	if err := p.PublishKey(t.Context(), r.SumsKey()); err != nil {
		t.Fatal(err)
	}
	if got := announced(); got[len(got)-1] != inbox.Rejected {
		t.Errorf("announced %q, and not that the next one was rejected", got)
	}
	if got := logged(); !slices.Equal(got, []string{"upload pending", "upload ignored", "upload rejected"}) {
		t.Errorf("logged %q", got)
	}
}

// An announcement that fails is made up for when the event comes again, and the
// upload is listed all the same.
func TestAnAnnouncementThatFailsComesAgain(t *testing.T) {
	w := newWorld(t)
	fail := true
	p, announced, logged := w.announcing(&fail)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	version := w.S3.Upload(t, key, publishtest.Widget("1"), nil)
	if _, err := p.Publish(t.Context(), blob.Object{Key: key, Version: version}); !errors.Is(err, publishtest.ErrFault) {
		t.Fatalf("the announcement failed: %v", err)
	}
	if got := w.Listed("acme/widget"); len(got) != 1 {
		t.Errorf("listed %q meanwhile", got)
	}
	fail = false
	if err := p.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got := announced(); !slices.Equal(got, []inbox.Status{inbox.Published}) {
		t.Errorf("announced %q", got)
	}
	if got := logged(); !slices.Equal(got, []string{"upload published", "upload published"}) {
		t.Errorf("logged %q", got)
	}
}
