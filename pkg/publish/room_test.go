package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestAVersionHasAHundredPackagesAtMost(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	key := func(n int) string { return publishtest.PackageKey("1.0.0", fmt.Sprintf("linux_arch%03d", n)) }
	for n := range registry.MaxPackages {
		w.Want(w.Upload(key(n), publishtest.Widget("a")), inbox.Published)
	}
	w.Want(w.Upload(key(registry.MaxPackages), publishtest.Widget("a")), inbox.Rejected, "provider acme/widget 1.0.0 has packages for 100 platforms, and a version has 100 at most")
	w.Want(w.Upload(key(0), publishtest.Widget("a")), inbox.Published) // the same again
	w.Want(w.Upload(publishtest.PackageKey("1.1.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	s := w.Provider("acme", "widget", "1.0.0")
	if lines := strings.Count(w.Served(s), "\n"); lines != 100 || len(s.Packages) != 100 {
		t.Errorf("it has %d packages, and SHA256SUMS %d lines, want 100", len(s.Packages), lines)
	}
	if found := w.Walked(w.Verify(t.Context(), "", true)); len(found) > 0 {
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
			return fmt.Sprintf("modules/acme/vpc/aws/1.%d.0.zip", n), publishtest.ZipOf(map[string]string{"main.tf": fmt.Sprint(n)})
		}
		for n := range 4 {
			if n == 3 {
				l, err := catalog.Listing(w.Context(), w.Index, publishtest.VPC)
				answered, stored := w.sizes(l, err, registry.Listed{Version: publishtest.MustVersion(w.T, "1.3.0")})
				for _, less := range [][2]int{{answered - 1, stored}, {answered, stored - 1}} {
					w.LimitListings(less[0], less[1])
					key, body := module(n)
					w.Want(w.Upload(key, body), inbox.Rejected, "module acme/vpc/aws has 3 versions, and its list has no room for more", "under another name")
				}
				w.LimitListings(answered, stored)
			}
			key, body := module(n)
			w.Want(w.Upload(key, body), inbox.Published)
		}
		key, body := module(4)
		w.Want(w.Upload(key, body), inbox.Rejected, "no room")
		key, body = module(0)
		w.Want(w.Upload(key, body), inbox.Published) // the same again
		w.WantListed("acme/vpc/aws", "1.0.0", "1.1.0", "1.2.0", "1.3.0")

		w.LimitListings(publish.MaxAnswered, publish.MaxStored)
		w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
		l, err := catalog.Listing(w.Context(), w.Index, publishtest.Widgets)
		entry := registry.Listed{Version: publishtest.MustVersion(w.T, "1.0.0"), Protocols: []string{"5.0"}, Platforms: []registry.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}}
		answered, stored := w.sizes(l, err, entry)
		for _, less := range [][2]int{{answered - 1, stored}, {answered, stored - 1}} {
			w.LimitListings(less[0], less[1])
			w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_arm64"), publishtest.Widget("a")), inbox.Rejected, "provider acme/widget has 1 versions, and its list has no room for more")
		}
		w.LimitListings(answered, stored)
		w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_arm64"), publishtest.Widget("a")), inbox.Published)
		w.Want(w.Upload(publishtest.PackageKey("1.1.0", "linux_arm64"), publishtest.Widget("a")), inbox.Rejected, "no room")
		w.WantListed("acme/widget", "1.0.0 linux_amd64 linux_arm64")
	})
}

// unsignable makes a version with a package that is served, and one that an older
// larder has accepted, though no SHA256SUMS has room for its name.
func (w *world) unsignable(n int) (address registry.ProviderAddress, v registry.Version) {
	w.Helper()
	address = registry.ProviderAddress{Namespace: "aaa", Type: strings.Repeat("w", 64)}
	v = publishtest.MustVersion(w.T, fmt.Sprintf("1.%d.0-%s", n, strings.Repeat("x", 100)))
	body := publishtest.ZipOf(map[string]string{"terraform-provider-" + address.Type: "x"})
	w.Want(w.Upload(address.UploadKey(address.PackageFilename(v, registry.Platform{OS: "linux", Arch: "amd64"})), body), inbox.Published)
	signed, err := catalogtest.ProviderVersion(w.Context(), w.Index, address, v)
	if err != nil {
		w.Fatal(err)
	}
	pkg := signed.Packages[0]
	pkg.Platform, pkg.Sequence = registry.Platform{OS: strings.Repeat("o", 32), Arch: strings.Repeat("a", 32)}, 0
	w.Put(address.PackageKey(v, pkg), body)
	data, err := json.Marshal(registry.Record{Kind: registry.KindPackage, Version: v, Time: time.Now(), Package: &pkg})
	if err == nil {
		err = w.Bucket.Create(w.Context(), registry.RecordKey(registry.Subject{Address: address, Version: v}.LogPrefix(), 3), data)
	}
	if err != nil {
		w.Fatal(err)
	}
	return address, v
}

// However many versions there are that cannot be signed, a registry starts, and its
// reconcile comes to its end: the others are served, and of those, what can be.
func TestWhatCannotBeSignedIsInNobodysWay(t *testing.T) {
	for _, c := range publishtest.Catalogs { // and a bucket whose keys are as long as they are on AWS
		w := newWorldOn(t, publishtest.InMemory, c.Open)
		const many = 13
		for n := range many - 1 {
			w.unsignable(n)
		}
		w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
		w.S3.Upload(w.T, "modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}), nil)
		address, v := w.unsignable(many - 1)
		before := w.KeysUnder(registry.Subject{Address: address, Version: v}.LogPrefix())
		w.Want(w.Upload(address.UploadKey(address.PackageFilename(v, registry.Platform{OS: "linux", Arch: "arm64"})), publishtest.ZipOf(map[string]string{"terraform-provider-" + address.Type: "y"})), inbox.Rejected, "the 3 packages of provider aaa/", "cannot be signed")
		if after := w.KeysUnder(registry.Subject{Address: address, Version: v}.LogPrefix()); !slices.Equal(before, after) {
			w.Errorf("a package of a version that cannot be signed is accepted: %q", after)
		}
		for name, bringUp := range map[string]func() error{
			"recover": func() error { return w.Recover(w.Context()) },
			"reconcile in parts": func() error {
				_, missed := w.ReconcileInParts()
				if len(missed) != 1 { // the module
					return fmt.Errorf("missed %q", missed)
				}
				return nil
			},
		} {
			w.Index = w.NewCatalog()
			w.Parts = w.PartsOn(w.Bucket, w.Index, w.Key)
			if err := bringUp(); err != nil {
				w.Errorf("%s: %v", name, err)
			}
			w.WantListed("acme/widget", "1.0.0 linux_amd64")
			listed := w.Listed("aaa/" + strings.Repeat("w", 64))
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
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	typ := strings.Repeat("w", 64)
	body := publishtest.ZipOf(map[string]string{"terraform-provider-" + typ: "x"})
	for length, want := range map[int]inbox.Status{250: inbox.Published, 251: inbox.Rejected} {
		rest := length - len("terraform-provider-"+typ+"_1.0.0-_"+strings.Repeat("o", 32)+"_"+strings.Repeat("a", 32)+".zip")
		name := publishtest.ProviderName(typ, "1.0.0-"+strings.Repeat("x", rest), strings.Repeat("o", 32)+"_"+strings.Repeat("a", 32)+".zip")
		if len(name) != length {
			t.Fatalf("%s has %d characters", name, len(name))
		}
		outcome := w.Upload("providers/acme/"+typ+"/"+name, body)
		w.Want(outcome, want)
		if want == inbox.Rejected {
			w.Want(outcome, want, "251 characters, 250 are allowed")
		}
	}
}
