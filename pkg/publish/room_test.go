package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestAVersionHasAHundredPackagesAtMost(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	key := func(n int) string { return packageKey("1.0.0", fmt.Sprintf("linux_arch%03d", n)) }
	for n := range publish.MaxPackages {
		w.want(w.upload(key(n), widget("a")), inbox.Published)
	}
	w.want(w.upload(key(publish.MaxPackages), widget("a")), inbox.Rejected, "provider acme/widget 1.0.0 has packages for 100 platforms, and a version has 100 at most")
	w.want(w.upload(key(0), widget("a")), inbox.Published) // the same again
	w.want(w.upload(packageKey("1.1.0", "linux_amd64"), widget("a")), inbox.Published)
	s := w.provider("acme", "widget", "1.0.0")
	if lines := strings.Count(w.served(s), "\n"); lines != 100 || len(s.Packages) != 100 {
		t.Errorf("it has %d packages, and SHA256SUMS %d lines, want 100", len(s.Packages), lines)
	}
	if found := w.walked(w.Verify(t.Context(), "", true)); len(found) > 0 {
		t.Errorf("verify says %q", found)
	}
}

// sizes are those of a listing once it has one entry more.
func (w *world) sizes(l registry.Listing, err error, entry registry.Listed) (answered, stored int) {
	w.Helper()
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		w.Fatal(err)
	}
	entry.Revision = math.MaxInt
	grown, _ := l.With(entry)
	return grown.Sizes()
}

// What a listing has room for is accepted, to the byte, and what it has none for
// is rejected. What is accepted stays so.
func TestAListingHasRoomOrItIsARejection(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		module := func(n int) (string, []byte) {
			return fmt.Sprintf("modules/acme/vpc/aws/1.%d.0.zip", n), zipOf(map[string]string{"main.tf": fmt.Sprint(n)})
		}
		for n := range 4 {
			if n == 3 {
				l, err := w.index.Listing(w.Context(), vpc, nil)
				answered, stored := w.sizes(l, err, registry.Listed{Version: mustVersion(w.T, "1.3.0")})
				for _, less := range [][2]int{{answered - 1, stored}, {answered, stored - 1}} {
					w.LimitListings(less[0], less[1])
					key, body := module(n)
					w.want(w.upload(key, body), inbox.Rejected, "module acme/vpc/aws has 3 versions, and its list has no room for more", "under another name")
				}
				w.LimitListings(answered, stored)
			}
			key, body := module(n)
			w.want(w.upload(key, body), inbox.Published)
		}
		key, body := module(4)
		w.want(w.upload(key, body), inbox.Rejected, "no room")
		key, body = module(0)
		w.want(w.upload(key, body), inbox.Published) // the same again
		w.wantListed("acme/vpc/aws", "1.0.0", "1.1.0", "1.2.0", "1.3.0")

		w.LimitListings(publish.MaxAnswered, publish.MaxStored)
		w.want(w.upload(packageKey("1.0.0", "linux_amd64"), widget("a")), inbox.Published)
		l, err := w.index.Listing(w.Context(), widgets, nil)
		entry := registry.Listed{Version: mustVersion(w.T, "1.0.0"), Protocols: []string{"5.0"}, Platforms: []registry.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}}
		answered, stored := w.sizes(l, err, entry)
		for _, less := range [][2]int{{answered - 1, stored}, {answered, stored - 1}} {
			w.LimitListings(less[0], less[1])
			w.want(w.upload(packageKey("1.0.0", "linux_arm64"), widget("a")), inbox.Rejected, "provider acme/widget has 1 versions, and its list has no room for more")
		}
		w.LimitListings(answered, stored)
		w.want(w.upload(packageKey("1.0.0", "linux_arm64"), widget("a")), inbox.Published)
		w.want(w.upload(packageKey("1.1.0", "linux_arm64"), widget("a")), inbox.Rejected, "no room")
		w.wantListed("acme/widget", "1.0.0 linux_amd64 linux_arm64")
	})
}

// unsignable makes a version with a package that is served, and one that an older
// larder has accepted, though no SHA256SUMS has room for its name.
func (w *world) unsignable(n int) (address registry.ProviderAddress, v registry.Version) {
	w.Helper()
	address = registry.ProviderAddress{Namespace: "aaa", Type: strings.Repeat("w", 64)}
	v = mustVersion(w.T, fmt.Sprintf("1.%d.0-%s", n, strings.Repeat("x", 100)))
	body := zipOf(map[string]string{"terraform-provider-" + address.Type: "x"})
	w.want(w.upload(address.UploadKey(address.PackageFilename(v, registry.Platform{OS: "linux", Arch: "amd64"})), body), inbox.Published)
	signed, err := catalogtest.ProviderVersion(w.Context(), w.index, address, v)
	if err != nil {
		w.Fatal(err)
	}
	pkg := signed.Packages[0]
	pkg.Platform, pkg.Sequence = registry.Platform{OS: strings.Repeat("o", 32), Arch: strings.Repeat("a", 32)}, 0
	w.put(address.PackageKey(v, pkg), body)
	data, err := json.Marshal(registry.Record{Kind: registry.KindPackage, Version: v, Time: time.Now(), Package: &pkg})
	if err == nil {
		err = w.bucket.Create(w.Context(), registry.RecordKey(registry.Subject{Address: address, Version: v}.LogPrefix(), 3), data)
	}
	if err != nil {
		w.Fatal(err)
	}
	return address, v
}

// However many versions there are that cannot be signed, a registry starts, and its
// reconcile comes to its end: the others are served, and of those, what can be.
func TestWhatCannotBeSignedIsInNobodysWay(t *testing.T) {
	for _, c := range catalogs { // and a bucket whose keys are as long as they are on AWS
		w := newWorldOn(t, inMemory, c.open)
		const many = 13
		for n := range many - 1 {
			w.unsignable(n)
		}
		w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
		w.s3.Upload(w.T, "modules/acme/vpc/aws/1.0.0.zip", zipOf(map[string]string{"main.tf": ""}), nil)
		address, v := w.unsignable(many - 1)
		before := w.keysUnder(registry.Subject{Address: address, Version: v}.LogPrefix())
		w.want(w.upload(address.UploadKey(address.PackageFilename(v, registry.Platform{OS: "linux", Arch: "arm64"})), zipOf(map[string]string{"terraform-provider-" + address.Type: "y"})), inbox.Rejected, "the 3 packages of provider aaa/", "cannot be signed")
		if after := w.keysUnder(registry.Subject{Address: address, Version: v}.LogPrefix()); !slices.Equal(before, after) {
			w.Errorf("a package of a version that cannot be signed is accepted: %q", after)
		}
		for name, bringUp := range map[string]func() error{
			"recover": func() error { return w.Recover(w.Context()) },
			"reconcile in parts": func() error {
				_, missed := w.reconcile()
				if len(missed) != 1 { // the module
					return fmt.Errorf("missed %q", missed)
				}
				return nil
			},
		} {
			w.index = w.newCatalog()
			w.parts = w.publisher(w.bucket, w.index, w.key)
			if err := bringUp(); err != nil {
				w.Errorf("%s: %v", name, err)
			}
			w.wantListed("acme/widget", "1.0.0 linux_amd64")
			listed := w.listed("aaa/" + strings.Repeat("w", 64))
			if len(listed) != many || slices.ContainsFunc(listed, func(line string) bool { return !strings.HasSuffix(line, "x linux_amd64") }) {
				w.Errorf("%s: listed %q, want all %d with the package that is signed", name, listed, many)
			}
		}
		for step, err := range w.Verify(w.Context(), "records:", true) { // the first of them, for it looks again for two seconds
			if err != nil || len(step.Problems) != 1 || !strings.HasPrefix(step.Subject, "provider aaa/") || !strings.Contains(step.Problems[0], "Some of its packages are accepted, and not served: the 2 packages of provider aaa/") {
				w.Errorf("verify says of %s %q, %v", step.Subject, step.Problems, err)
			}
			break
		}
	}
}

// A name that has no room where names are written is rejected, as long as that may
// be on AWS.
func TestAFileNameHasRoom(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	typ := strings.Repeat("w", 64)
	body := zipOf(map[string]string{"terraform-provider-" + typ: "x"})
	for length, want := range map[int]inbox.Status{250: inbox.Published, 251: inbox.Rejected} {
		rest := length - len("terraform-provider-"+typ+"_1.0.0-_"+strings.Repeat("o", 32)+"_"+strings.Repeat("a", 32)+".zip")
		name := providerName(typ, "1.0.0-"+strings.Repeat("x", rest), strings.Repeat("o", 32)+"_"+strings.Repeat("a", 32)+".zip")
		if len(name) != length {
			t.Fatalf("%s has %d characters", name, len(name))
		}
		outcome := w.upload("providers/acme/"+typ+"/"+name, body)
		w.want(outcome, want)
		if want == inbox.Rejected {
			w.want(outcome, want, "251 characters, 250 are allowed")
		}
	}
}

// An upload of which it is not known what became of it is passed over, unless that
// is so of one after another.
func TestAReconcilePassesOverAnUploadThatCannotBeLookedAt(t *testing.T) {
	for broken, want := range map[int]error{1: nil, 10: nil, 11: errFault} {
		w := newWorldOn(t, inMemory, onBolt)
		for n := range 11 {
			w.s3.Upload(t, fmt.Sprintf("modules/acme/vpc/aws/1.%02d.0.zip", n), []byte("x"), nil)
		}
		w.s3.Upload(t, packageKey("1.0.0", "linux_amd64"), widget("a"), nil)
		f := &outage{"read registry/outcomes/modules/", broken}
		missed := 0
		_, err := w.publisher(faultyBucket{f, w.bucket}, w.index, w.key).Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(context.Context, blob.Object) error { missed++; return nil })
		if !errors.Is(err, want) || want == nil && missed != 12-broken {
			t.Errorf("%d failures: %v, %d missed", broken, err, missed)
		}
	}
}

// outage fails the first calls whose names begin so.
type outage struct {
	prefix string
	left   int
}

func (o *outage) call(name string, do func() error) error {
	if o.left > 0 && strings.HasPrefix(name, o.prefix) {
		o.left--
		return fmt.Errorf("%s: %w", name, errFault)
	}
	return do()
}
