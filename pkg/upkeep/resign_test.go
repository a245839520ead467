package upkeep_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/registry"
)

// signers is who signed each version of acme/widget, as the walk tells it.
func (w *world) signers() (lines []string) {
	w.Helper()
	for signed, err := range w.Signatures(w.Context(), "") {
		if err != nil {
			w.Fatal(err)
		}
		if signed.KeyID != "" {
			lines = append(lines, fmt.Sprintf("%s %s %v", strings.TrimPrefix(signed.Subject, "provider "), signed.KeyID, signed.Author))
		}
	}
	return lines
}

// A new key signs new versions; old versions keep the old one until they are
// signed anew; what authors signed stays as it is.
func TestANewSigningKey(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		r := publishtest.NewRelease(w.T, "acme")
		for key, body := range r.Uploads() {
			w.Upload(key, body)
		}
		w.Upload(publishtest.PackageKey("1.1.0", "linux_amd64"), publishtest.Widget("a"))
		w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}))
		old, next, author := w.Key.PublicKey().KeyID, publishtest.NewKey(w.T, "next"), r.Key.PublicKey().KeyID
		w.UseSigner(next)
		w.Upload(publishtest.PackageKey("1.2.0", "linux_amd64"), publishtest.Widget("b"))
		want := []string{"acme/widget 1.0.0 " + author + " true", "acme/widget 1.1.0 " + old + " false", "acme/widget 1.2.0 " + next.PublicKey().KeyID + " false"}
		if got := w.signers(); !slices.Equal(got, want) {
			w.Errorf("signed by %q, want %q", got, want)
		}
		before := w.Provider("acme", "widget", "1.1.0")
		document := w.Served(before)

		if got := w.Walked(w.Resign(w.Context(), "")); !slices.Equal(got, []string{"provider acme/widget 1.1.0 changed"}) {
			w.Errorf("signed anew: %q", got)
		}
		want[1] = "acme/widget 1.1.0 " + next.PublicKey().KeyID + " false"
		if got := w.signers(); !slices.Equal(got, want) {
			w.Errorf("signed by %q, want %q", got, want)
		}
		after := w.Provider("acme", "widget", "1.1.0")
		if w.Served(after) != document {
			w.Error("another SHA256SUMS is served, so lock files would not hold")
		}
		if w.Served(before) != document {
			w.Error("what was served before cannot be downloaded any more")
		}
		if got := w.Walked(w.Resign(w.Context(), "")); len(got) != 0 {
			w.Errorf("the second time: %q", got)
		}
		if found := w.Walked(w.Verify(w.Context(), "", false)); len(found) > 0 {
			w.Errorf("verified: %q", found)
		}
	})
}

// While everything is signed anew, packages of the same versions are published
// and others ask: whatever is answered at any moment can be downloaded and
// verified, and nothing is lost.
func TestResignBesidePublishing(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		const versions = 6
		for i := range versions {
			w.Upload(publishtest.PackageKey(fmt.Sprintf("1.%d.0", i), "linux_amd64"), publishtest.Widget("a"))
		}
		next := publishtest.NewKey(w.T, "next")
		renewing := w.PartsOn(w.Bucket, w.Index, next)
		var working, asking sync.WaitGroup
		done := make(chan struct{})
		asking.Go(func() {
			for asked := 0; ; asked++ {
				w.Served(w.Provider("acme", "widget", fmt.Sprintf("1.%d.0", asked%versions)))
				select {
				case <-done:
					return
				default:
				}
			}
		})
		for i := range versions { // with the old key, as a process does that was started before
			working.Go(func() {
				w.Upload(publishtest.PackageKey(fmt.Sprintf("1.%d.0", i), "darwin_arm64"), publishtest.Widget("b"))
			})
		}
		working.Go(func() { w.Walked(renewing.Resign(w.Context(), "")) })
		working.Wait()
		close(done)
		asking.Wait()
		for _, line := range w.Walked(renewing.Resign(w.Context(), "")) { // of what the old process signed last
			if strings.Contains(line, "failed") {
				w.Error(line)
			}
		}
		for i := range versions {
			s := w.Provider("acme", "widget", fmt.Sprintf("1.%d.0", i))
			if len(s.Packages) != 2 || !s.Settled() || s.Release.Keys[0].KeyID != next.PublicKey().KeyID {
				w.Errorf("%s: %d packages, by %s", s.Version, len(s.Packages), s.Release.Keys[0].KeyID)
			}
			w.Served(s)
		}
		if found := w.Walked(w.Verify(w.Context(), "", false)); len(found) > 0 {
			w.Errorf("verified: %q", found)
		}
	})
}

// The registry's keys of all times are told.
func TestOwnKeys(t *testing.T) {
	w := newWorld(t)
	var want []string
	for _, name := range []string{"registry", "next"} {
		key := publishtest.NewKey(t, name).PublicKey()
		if err := w.Bucket.Create(t.Context(), registry.OwnKeyKey(key.Fingerprint), []byte(key.ASCIIArmor)); err != nil {
			t.Fatal(err)
		}
		want = append(want, key.Fingerprint)
	}
	keys, err := w.OwnKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, key := range keys {
		got = append(got, key.Fingerprint)
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the keys are %q, want %q", got, want)
	}
}
