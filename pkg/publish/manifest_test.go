package publish_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// manifest is a release's manifest with some protocols.
func manifest(protocols ...string) []byte {
	data, err := json.Marshal(map[string]any{"version": 1, "metadata": map[string]any{"protocol_versions": protocols}})
	if err != nil {
		panic(err)
	}
	return data
}

// saying is a package for a platform with a manifest inside.
func saying(platform string, protocols ...string) []byte {
	return publishtest.ZipOf(map[string]string{"terraform-provider-widget_v1": platform, "terraform-registry-manifest.json": string(manifest(protocols...))})
}

// first makes the first package of version 1.0.0 one that was accepted at a time.
func (w *world) first(namespace string, at time.Time) {
	w.Helper()
	a := registry.ProviderAddress{Namespace: namespace, Type: "widget"}
	for n := 1; ; n++ {
		key := registry.RecordKey(registry.Subject{Address: a, Version: publishtest.MustVersion(w.T, "1.0.0")}.LogPrefix(), n)
		if !slices.Contains(w.KeysUnder(key), key) {
			return
		}
		var r registry.Record
		err := json.Unmarshal(w.Read(key), &r)
		if err == nil && r.Kind == registry.KindPackage {
			r.Time = at
			var data []byte
			if data, err = json.Marshal(r); err == nil {
				w.Put(key, data)
				w.replacePublished(a, at)
				return
			}
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// replacePublished gives version 1.0.0 another time of publication in the catalog, if it has one.
func (w *world) replacePublished(a registry.ProviderAddress, at time.Time) {
	w.Helper()
	s := &registry.ProviderVersion{Address: a, Version: publishtest.MustVersion(w.T, "1.0.0")}
	err := catalog.Load(w.Context(), w.Index, s)
	if errors.Is(err, registry.ErrNotFound) {
		return
	}
	if s.Published = at; err == nil {
		err = w.Index.Replace(w.Context(), s, catalog.Seen{State: s.Revision, Listed: s.Revision})
	}
	if err != nil {
		w.Fatal(err)
	}
}

func TestWhatIsServedDoesNotChangeByAManifest(t *testing.T) {
	const linux, darwin, manifestName, sums, signature, key = "linux_amd64.zip", "darwin_arm64.zip", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig", "author.asc"
	plain := publishtest.Widget("linux")
	signed := []string{key, sums, signature} // after which the author's release is served
	for _, test := range []struct {
		name     string
		files    map[string][]byte // what the author's SHA256SUMS lists, where it comes
		others   map[string][]byte // what it does not list
		order    []string
		after    time.Duration // of the last of them, which is a manifest, since the first package was accepted
		want     inbox.Status
		words    string
		protocol []string
	}{
		{"that no client speaks", map[string][]byte{linux: plain, manifestName: manifest("4.0")}, nil,
			[]string{linux, manifestName}, 0, inbox.Rejected, "which no client speaks", []string{"5.0"}},
		{"that no client speaks, late", map[string][]byte{linux: plain, manifestName: manifest("4.0", "7.0")}, nil,
			[]string{linux, manifestName}, time.Hour, inbox.Rejected, "4.0 and 7.0, which no client speaks", []string{"5.0"}},
		{"in time", map[string][]byte{linux: plain, manifestName: manifest("6.0")}, nil,
			[]string{linux, manifestName}, 0, inbox.Published, "", []string{"6.0"}},
		{"just in time", map[string][]byte{linux: plain, manifestName: manifest("4.0", "5.1")}, nil,
			[]string{linux, darwin, manifestName}, 15 * time.Minute, inbox.Published, "", []string{"4.0", "5.1"}},
		{"just too late", map[string][]byte{linux: plain, manifestName: manifest("6.0")}, nil,
			[]string{linux, darwin, manifestName}, 15*time.Minute + time.Millisecond, inbox.Pending,
			"says protocols 6.0, and provider acme/widget 1.0.0 is published with 5.0: it waits for a SHA256SUMS that lists it", []string{"5.0"}},
		{"late, with what is served", map[string][]byte{linux: plain, manifestName: manifest("5.0")}, nil,
			[]string{linux, manifestName}, time.Hour, inbox.Published, "", []string{"5.0"}},
		{"late, with what the package says", map[string][]byte{linux: saying(linux, "6.0", "6.1"), manifestName: manifest("6.1")}, nil,
			[]string{linux, manifestName}, time.Hour, inbox.Published, "", []string{"6.1"}},
		{"in time, with less than the package says", map[string][]byte{linux: saying(linux, "5.0", "6.0"), manifestName: manifest("6.0")}, nil,
			[]string{linux, manifestName}, 0, inbox.Rejected, "says protocols 6.0, and the terraform-registry-manifest.json in terraform-provider-widget_1.0.0_linux_amd64.zip says 5.0 and 6.0: they must say the same", []string{"5.0", "6.0"}},
		{"in time, with what one package says and the other does not", map[string][]byte{linux: plain, darwin: saying(darwin, "6.0"), manifestName: manifest("6.0")}, nil,
			[]string{linux, darwin, manifestName}, 0, inbox.Published, "", []string{"6.0"}},
		{"late, with what one package says and the other does not", map[string][]byte{linux: plain, darwin: saying(darwin, "6.0"), manifestName: manifest("6.0")}, nil,
			[]string{linux, darwin, manifestName}, time.Hour, inbox.Pending, "is published with 5.0", []string{"5.0", "6.0"}},
		{"before a package that contradicts it", map[string][]byte{linux: saying(linux, "5.0"), darwin: plain, manifestName: manifest("6.0")}, nil,
			[]string{manifestName, darwin, linux}, 0, inbox.Rejected, "they must say the same", []string{"6.0"}},
		{"before a package that agrees", map[string][]byte{linux: saying(linux, "6.0"), manifestName: manifest("6.0")}, nil,
			[]string{manifestName, linux}, 0, inbox.Published, "", []string{"6.0"}},
		{"before a package that says nothing", map[string][]byte{linux: plain, manifestName: manifest("4.0")}, nil,
			[]string{manifestName, linux}, 0, inbox.Published, "", []string{"4.0"}},
		{"of a release that lists it, late", map[string][]byte{linux: plain, manifestName: manifest("6.0")}, nil,
			append([]string{linux}, append(signed, manifestName)...), time.Hour, inbox.Published, "", []string{"6.0"}},
		{"of a release that lists it, and which no client speaks", map[string][]byte{linux: plain, manifestName: manifest("4.0")}, nil,
			append([]string{linux}, append(signed, manifestName)...), 0, inbox.Published, "", []string{"4.0"}},
		{"of a release that lists it, and that contradicts the package", map[string][]byte{linux: saying(linux, "5.0"), manifestName: manifest("6.0")}, nil,
			append([]string{linux}, append(signed, manifestName)...), 0, inbox.Rejected, "they must say the same", []string{"5.0"}},
		{"of a release that does not list it", map[string][]byte{linux: plain}, map[string][]byte{manifestName: manifest("6.0")},
			append([]string{linux}, append(signed, manifestName)...), 0, inbox.Rejected, "does not list terraform-provider-widget_1.0.0_manifest.json", []string{"5.0"}},
		{"of a release that does not list it, with what is served", map[string][]byte{linux: plain}, map[string][]byte{manifestName: manifest("5.0")},
			append([]string{linux}, append(signed, manifestName)...), 0, inbox.Rejected, "does not list", []string{"5.0"}},
		{"of a release that lists another", map[string][]byte{linux: plain, manifestName: manifest("6.0")}, map[string][]byte{manifestName: manifest("5.0")},
			append([]string{linux}, append(signed, manifestName)...), 0, inbox.Rejected, "lists terraform-provider-widget_1.0.0_manifest.json with another sha256", []string{"5.0"}},
		{"before a release that does not list it", map[string][]byte{linux: plain}, map[string][]byte{manifestName: manifest("6.0")},
			append([]string{linux, manifestName}, signed...), 0, inbox.Published, "", []string{"6.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
			r := publishtest.NewRelease(t, "acme")
			r.Files, r.Sums = map[string][]byte{}, nil
			for name, body := range test.files {
				r.Files[publishtest.ProviderName("widget", "1.0.0", name)] = body
				r.Sums = append(r.Sums, publishtest.Line(r.Files, publishtest.ProviderName("widget", "1.0.0", name))...)
			}
			r.Sign(t, r.Key)
			for name, body := range test.others {
				r.Files[publishtest.ProviderName("widget", "1.0.0", name)] = body
			}
			var last inbox.Outcome
			for n, f := range r.InOrder(test.order...) {
				if f.Body == nil {
					f.Body = publishtest.Widget("another platform's")
				}
				version := w.S3.Upload(t, f.Key, f.Body, nil)
				if n == len(test.order)-1 && test.order[n] == manifestName {
					object, err := w.Bucket.Head(t.Context(), f.Key)
					if err != nil {
						t.Fatal(err)
					}
					w.first("acme", object.Modified.Add(-test.after))
				}
				last = w.Deliver(f.Key, version)
			}
			w.Want(last, test.want, test.words)
			s := w.Provider("acme", "widget", "1.0.0")
			if got := s.Listed().Protocols; !slices.Equal(got, test.protocol) {
				t.Errorf("it is listed with protocols %q, want %q", got, test.protocol)
			}
			if found := w.Walked(w.Verify(t.Context(), "", true)); len(found) > 0 {
				t.Errorf("verify says %q", found)
			}
		})
	}
}

// A signed release ends the same whatever order its files come in, however long
// after the first package.
func TestASignedReleaseEndsTheSameInEveryOrder(t *testing.T) {
	names := []string{"linux_amd64.zip", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig", "author.asc"}
	for _, protocol := range []string{"6.0", "4.0"} {
		want := ""
		random := rand.New(rand.NewPCG(1, 2))
		for _, order := range permutations(names) {
			if testing.Short() && random.IntN(6) > 0 {
				continue
			}
			w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
			r := publishtest.NewRelease(t, "acme")
			r.Files[publishtest.ProviderName("widget", "1.0.0", "manifest.json")] = manifest(protocol)
			r.Sums = nil
			for _, name := range names[:2] {
				r.Sums = append(r.Sums, publishtest.Line(r.Files, publishtest.ProviderName("widget", "1.0.0", name))...)
			}
			r.Sign(t, r.Key)
			for _, f := range r.InOrder(order...) {
				w.Upload(f.Key, f.Body)
				w.first("acme", time.Now().Add(-time.Hour))
			}
			w.wantStatuses("acme", strings.TrimSpace(strings.Repeat("published ", len(names))))
			s := w.Provider("acme", "widget", "1.0.0")
			if got := s.Listed().Protocols; !slices.Equal(got, []string{protocol}) {
				t.Errorf("%q: protocols %q", order, got)
			}
			got := w.picture("acme")
			if want == "" {
				want = got
			}
			if got != want || t.Failed() {
				t.Fatalf("%q ends as\n%s\nwant\n%s", order, got, want)
			}
		}
	}
}

func permutations[T any](all []T) (found [][]T) {
	if len(all) == 0 {
		return [][]T{nil}
	}
	for n, first := range all {
		for _, rest := range permutations(slices.Delete(slices.Clone(all), n, n+1)) {
			found = append(found, append([]T{first}, rest...))
		}
	}
	return found
}
