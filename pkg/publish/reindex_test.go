package publish_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// refusingSigner has the key of another registry's publisher, and not its hand.
type refusingSigner struct{ *signing.Key }

func (refusingSigner) Sign(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("this publisher does not sign")
}

// reindex walks to the end with a publisher that has no signer, and tells of
// each version in a line: what changed, what is unsigned, what is wrong.
func (w *world) reindex() (lines []string) {
	w.Helper()
	p := w.publisher(w.bucket, w.index, nil)
	for r, err := range p.Reindex(w.Context()) {
		line := r.Subject
		if r.Changed {
			line += " changed"
		}
		for _, platform := range r.Unsigned {
			line += " unsigned:" + platform.String()
		}
		if err != nil {
			line += " failed"
		}
		lines = append(lines, line)
	}
	return lines
}

// A catalog is rebuilt without signing: what is signed is listed, and the rest
// is told, and left to a publisher that signs.
func TestAReindexSignsNothing(t *testing.T) {
	w := newWorld(t)
	w.upload("modules/acme/vpc/aws/1.0.0.zip", zipOf(map[string]string{"main.tf": ""}))
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	dying := w.publisher(w.bucket, w.index, refusingSigner{w.key})
	for _, key := range []string{packageKey("1.0.0", "linux_arm64"), packageKey("2.0.0", "linux_amd64")} {
		if _, err := dying.Publish(t.Context(), key, w.s3.Upload(t, key, widget("b"), nil)); err == nil {
			t.Fatal("a publisher that does not sign published a package")
		}
	}
	w.index = w.newCatalog()
	before := w.keysUnder(registry.Prefix)
	want := []string{
		"module acme/vpc/aws 1.0.0 changed",
		"provider acme/widget 1.0.0 changed unsigned:linux_arm64",
		"provider acme/widget 2.0.0 changed unsigned:linux_amd64",
	}
	for range 2 {
		if got := w.reindex(); !slices.Equal(got, want) {
			t.Errorf("reindexed\n%q, want\n%q", got, want)
		}
		if got := w.listed("acme/widget"); !slices.Equal(got, []string{"1.0.0 linux_amd64"}) {
			t.Errorf("listed %q", got)
		}
		for i := range want { // what is there stays as it is
			want[i] = strings.Replace(want[i], " changed", "", 1)
		}
	}
	if after := w.keysUnder(registry.Prefix); !slices.Equal(after, before) {
		t.Errorf("the bucket has\n%q, had\n%q", after, before)
	}
	if err := w.publisher(w.bucket, w.index, w.key).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.listed("acme/widget"); !slices.Equal(got, []string{"1.0.0 linux_amd64 linux_arm64", "2.0.0 linux_amd64"}) {
		t.Errorf("listed %q, once somebody signed", got)
	}
}

// A state that was stored and not listed is listed; one that is broken does not
// keep the others waiting.
func TestAReindexFinishesWhatItCan(t *testing.T) {
	w := newWorld(t)
	broken := registry.RecordKey("registry/records/providers/acme/aaa/1.0.0/", 1)
	if err := w.bucket.Create(t.Context(), broken, []byte(`{"kind":"frobnicated"}`)); err != nil {
		t.Fatal(err)
	}
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	state := w.provider("acme", "widget", "1.0.0")
	w.index = w.newCatalog()
	index := unlisted{w.index, state}
	p := w.publisher(w.bucket, index, nil)
	var failed, changed []string
	for r, err := range p.Reindex(t.Context()) {
		if err != nil {
			failed = append(failed, r.Subject)
		} else if r.Changed {
			changed = append(changed, r.Subject)
		}
	}
	if !slices.Equal(failed, []string{"provider acme/aaa 1.0.0"}) || !slices.Equal(changed, []string{"provider acme/widget 1.0.0"}) {
		t.Errorf("failed %q, changed %q", failed, changed)
	}
	if got := w.listed("acme/widget"); !slices.Equal(got, []string{"1.0.0 linux_amd64"}) {
		t.Errorf("listed %q", got)
	}
}

// unlisted is a catalog that has a state and no listing with it.
type unlisted struct {
	publish.Index
	state registry.ProviderVersion
}

func (u unlisted) ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	if a == u.state.Address {
		return u.state, nil
	}
	return u.Index.ProviderVersion(ctx, a, v)
}

// The walk ends where the records cannot be listed, and says so.
func TestAReindexEndsWithTheListing(t *testing.T) {
	w := newWorld(t)
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	steps := 0
	for r, err := range w.publisher(w.bucket, w.index, nil).Reindex(ctx) {
		if steps++; err == nil || r.Subject != "" {
			t.Errorf("%+v, %v: want an error of the whole", r, err)
		}
	}
	if steps != 1 {
		t.Errorf("%d steps, want one", steps)
	}
}
