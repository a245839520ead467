package publish_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// The rules that hold in whatever order, however often and however parallel
// uploads come. A test is named after its rule: Immutable, AllOrNothing,
// ExactlyOnce, AuthorsWordWins, NothingIsTrusted, KeyFiles, TheWordBack.

var vpc = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}

// servedModule is the bytes that are served of acme/vpc/aws.
func (w *world) servedModule(version string) []byte {
	w.Helper()
	m, err := catalogtest.ModuleVersion(w.Context(), w.index, vpc, mustVersion(w.T, version))
	if err != nil {
		w.Fatal(err)
	}
	return w.read(vpc.ArchiveKey(m.Version, m.Archive))
}

// servedPackage is the bytes that are served of acme/widget for linux_amd64.
func (w *world) servedPackage(version string) []byte {
	w.Helper()
	s := w.provider("acme", "widget", version)
	pkg, ok := s.Package(registry.Platform{OS: "linux", Arch: "amd64"})
	if !ok {
		w.Fatalf("acme/widget %s is not served", version)
	}
	return w.read(s.Address.PackageKey(s.Version, pkg))
}

func TestImmutableTheSameVersionWithAndWithoutAVersionFolder(t *testing.T) {
	w := newWorld(t)
	keys := func(version string) []string {
		return []string{packageKey(version, "linux_amd64"), widgetFolder + version + "/" + providerName("widget", version, "linux_amd64.zip")}
	}
	for version, first := range map[string]int{"1.0.0": 0, "1.1.0": 1} {
		both := keys(version)
		one, other := both[first], both[1-first]
		w.want(w.upload(one, widget("first")), inbox.Published)
		w.want(w.upload(other, widget("first")), inbox.Published)
		w.want(w.upload(other, widget("second")), inbox.Rejected, "acme/widget "+version+" for linux_amd64", "other bytes")
		if !bytes.Equal(w.servedPackage(version), widget("first")) {
			t.Errorf("%s is served as other bytes", version)
		}
	}
	w.wantListed("acme/widget", "1.0.0 linux_amd64", "1.1.0 linux_amd64")
}

func TestImmutableAZipBesideATarGz(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{"main.tf": ""}
	bodies := map[string][]byte{".zip": zipOf(files), ".tar.gz": tarOf(files)}
	for version, first := range map[string]string{"1.0.0": ".zip", "1.1.0": ".tar.gz"} {
		second := map[string]string{".zip": ".tar.gz", ".tar.gz": ".zip"}[first]
		folder := "modules/acme/vpc/aws/"
		w.want(w.upload(folder+version+first, bodies[first]), inbox.Published)
		w.want(w.upload(folder+version+second, bodies[second]), inbox.Rejected, "module acme/vpc/aws "+version, "other bytes")
		if !bytes.Equal(w.servedModule(version), bodies[first]) {
			t.Errorf("%s is served as other bytes", version)
		}
	}
	w.want(w.upload("modules/acme/vpc/aws/1.1.0.tgz", bodies[".tar.gz"]), inbox.Published) // the same under its other name
	w.wantListed("acme/vpc/aws", "1.0.0", "1.1.0")
}

func TestImmutableKeysThatDifferOnlyByCase(t *testing.T) {
	w := newWorld(t)
	files := zipOf(map[string]string{"main.tf": ""})
	w.want(w.upload("modules/acme/vpc/aws/1.0.0.zip", files), inbox.Published)
	w.want(w.upload("modules/ACME/Vpc/aws/1.0.0.zip", files), inbox.Published)
	w.want(w.upload("modules/Acme/VPC/aws/1.0.0.zip", zipOf(map[string]string{"main.tf": "other"})), inbox.Rejected, "other bytes")
	w.want(w.upload("modules/acme/vpc/aws/1.0.0.ZIP", files), inbox.Rejected, "lower case")
	w.wantListed("acme/vpc/aws", "1.0.0")
	if !bytes.Equal(w.servedModule("1.0.0"), files) {
		t.Error("it is served as other bytes")
	}
	w.want(w.upload(packageKey("1.0.0", "linux_amd64"), widget("a")), inbox.Published)
	w.want(w.upload("providers/Acme/widget/"+providerName("widget", "1.0.0", "linux_amd64.zip"), widget("a")), inbox.Rejected, "lower-case")
	w.want(w.upload("providers/acme/Widget/"+providerName("Widget", "1.0.0", "linux_amd64.zip"), widget("a")), inbox.Rejected, "lower-case")
}

func TestImmutableDeletedAndUploadedAgain(t *testing.T) {
	w := newWorld(t)
	module := zipOf(map[string]string{"main.tf": ""})
	for _, test := range []struct {
		key           string
		first, second []byte
		served        func(version string) []byte
	}{
		{packageKey("1.0.0", "linux_amd64"), widget("first"), widget("second"), w.servedPackage},
		{"modules/acme/vpc/aws/1.0.0.zip", module, zipOf(map[string]string{"main.tf": "second"}), w.servedModule},
	} {
		w.want(w.upload(test.key, test.first), inbox.Published)
		records := w.keysUnder(registry.RecordsPrefix)
		w.s3.Delete(t, test.key)
		w.want(w.upload(test.key, test.first), inbox.Published)
		w.s3.Delete(t, test.key)
		w.want(w.upload(test.key, test.second), inbox.Rejected, "other bytes")
		w.s3.Delete(t, test.key)
		if !bytes.Equal(test.served("1.0.0"), test.first) {
			t.Errorf("%s is served as other bytes", test.key)
		}
		if got := w.keysUnder(registry.RecordsPrefix); !slices.Equal(got, records) {
			t.Errorf("%s: records %q, want %q", test.key, got, records)
		}
	}
}

// An upload is overwritten, and all its versions expire: what was published of
// it is served as before, also by a catalog that is made anew.
func TestImmutableWhateverBecomesOfTheUpload(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	for key, body := range map[string][]byte{
		packageKey("1.0.0", "linux_amd64"): widget("first"), "modules/acme/vpc/aws/1.0.0.zip": zipOf(map[string]string{"main.tf": ""}),
	} {
		first := w.s3.Upload(t, key, body, nil)
		w.want(w.deliver(key, first), inbox.Published)
		second := w.s3.Upload(t, key, []byte("overwritten"), nil)
		w.want(w.deliver(key, second), inbox.Rejected)
		for _, version := range []string{first, second} {
			w.s3.(*blobtest.Memory).Expire(key, version)
		}
	}
	w.index = w.newCatalog()
	if err := w.publisher(w.bucket, w.index, w.key).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.servedPackage("1.0.0"), widget("first")) || !bytes.Equal(w.servedModule("1.0.0"), zipOf(map[string]string{"main.tf": ""})) {
		t.Error("other bytes are served")
	}
}

// Of all calls that publish something, only those that tell its outcome come
// after the one to the catalog.
func TestAllOrNothingTheCatalogIsWrittenLast(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	for key, body := range map[string][]byte{
		packageKey("1.0.0", "linux_amd64"): widget("a"), "modules/acme/vpc/aws/1.0.0.zip": zipOf(map[string]string{"vpc/main.tf": ""}),
	} {
		f := &faults{}
		if _, err := w.through(f).Publish(t.Context(), blob.Object{Key: key, Version: w.s3.Upload(t, key, body, nil)}); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(f.calls, func(call string) bool { return strings.HasPrefix(call, "catalog: put ") })
		if at < 0 {
			t.Fatalf("%s: the catalog is not written: %q", key, f.calls)
		}
		for _, call := range f.calls[at+1:] {
			if changes(call) && !slices.Contains([]string{"tag " + key, "announce " + key, "put " + registry.OutcomeKey(key)}, call) {
				t.Errorf("%s: after the catalog comes %q", key, call)
			}
		}
	}
}

// watch looks before and after each call.
type watch struct{ look func() }

func (w watch) call(_ string, do func() error) error {
	w.look()
	defer w.look()
	return do()
}

// At each moment a version is served with the registry's SHA256SUMS, signature
// and key, or with the author's, and never again with the registry's after that.
func TestAuthorsWordWinsByOneSwap(t *testing.T) {
	for _, c := range catalogs {
		t.Run(c.name, func(t *testing.T) {
			w := newWorldOn(t, inMemory, c.open)
			r := newRelease(t, "acme")
			var seen []string
			look := func() {
				s := w.provider("acme", "widget", "1.0.0")
				if s.Release == nil {
					return
				}
				keyID, document := w.key.PublicKey().KeyID, w.served(s)
				if s.Release.Author {
					keyID = r.key.PublicKey().KeyID
				}
				if s.Release.Keys[0].KeyID != keyID || s.Release.Author != (document == string(r.sums)) || !s.Settled() {
					t.Errorf("served with key %s is\n%s", s.Release.Keys[0].KeyID, document)
				}
				seen = append(seen, keyID)
			}
			p := w.through(watch{look})
			for _, f := range r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig", "author.asc", "darwin_arm64.zip") {
				if _, err := p.Publish(t.Context(), blob.Object{Key: f.key, Version: w.s3.Upload(t, f.key, f.body, nil)}); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := slices.Compact(seen), []string{w.key.PublicKey().KeyID, r.key.PublicKey().KeyID}; !slices.Equal(got, want) {
				t.Errorf("it was served with the keys %q, want %q", got, want)
			}
		})
	}
}

// partial is a release whose SHA256SUMS lists one of its two packages.
func partial(t *testing.T) release {
	t.Helper()
	r := newRelease(t, "acme")
	r.sums = []byte(line(r.files, providerName("widget", "1.0.0", "linux_amd64.zip")))
	r.sign(t, r.key)
	return r
}

func (w *world) uploadFiles(files []file) (last inbox.Outcome) {
	w.Helper()
	for _, f := range files {
		last = w.upload(f.key, f.body)
	}
	return last
}

// It names packages which have not come, and keeps those out that it does not
// name.
func TestAuthorsWordWinsPartialSHA256SUMSBeforeTheZips(t *testing.T) {
	w := newWorld(t)
	r := partial(t)
	w.want(w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
	w.wantListed("acme/widget")
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip")), inbox.Published)
	w.want(w.uploadFiles(r.inOrder("darwin_arm64.zip")), inbox.Rejected, "does not list", "darwin_arm64.zip")
	w.wantListed("acme/widget", "1.0.0 linux_amd64")
	if s := w.provider("acme", "widget", "1.0.0"); w.served(s) != string(r.sums) {
		t.Error("it is not served as its author signed it")
	}
}

// It lacks a package that is published, which stands.
func TestAuthorsWordWinsPartialSHA256SUMSAfterTheZips(t *testing.T) {
	w := newWorld(t)
	r := partial(t)
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "darwin_arm64.zip")), inbox.Published)
	w.want(w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Rejected, "does not list", "darwin_arm64.zip")
	if got := w.status(r.sumsKey() + ".sig"); got != inbox.Pending {
		t.Errorf("its signature is %q, want pending: a right SHA256SUMS may come", got)
	}
	s := w.provider("acme", "widget", "1.0.0")
	if got := strings.Count(w.served(s), "\n"); s.Release.Author || got != 2 {
		t.Errorf("SHA256SUMS has %d lines, want the registry's two", got)
	}
	w.wantListed("acme/widget", "1.0.0 darwin_arm64 linux_amd64")
}

func TestNothingIsTrusted(t *testing.T) {
	w := newWorld(t)
	module := func(files map[string]string) []byte { return zipOf(files) }
	good := map[string]string{"main.tf": ""}
	for _, test := range []struct {
		name, key string
		body      []byte
		words     string
	}{
		{"a leading v", packageKey("v1.0.0", "linux_amd64"), widget("a"), "leading v"},
		{"leading zeros", packageKey("1.0.01", "linux_amd64"), widget("a"), "leading zeros"},
		{"no full version", "modules/acme/vpc/aws/1.0.zip", module(good), "semantic version"},
		{"a namespace in upper case", "providers/Acme/widget/" + providerName("widget", "1.0.0", "linux_amd64.zip"), widget("a"), "lower-case"},
		{"no platform", packageKey("1.0.0", "Linux_x86_64"), widget("a"), "platform"},
		{"another provider's name", "providers/acme/gadget/" + providerName("widget", "1.0.0", "linux_amd64.zip"), widget("a"), "terraform-provider-gadget_"},
		{"another version's folder", widgetFolder + "2.0.0/" + providerName("widget", "1.0.0", "linux_amd64.zip"), widget("a"), "folder"},
		{"a module's address that cannot be", "modules/acme/vpc/a-b/1.0.0.zip", module(good), "system"},
		{"no zip", packageKey("1.0.0", "linux_amd64"), []byte("no zip"), ""},
		{"a package without its executable", packageKey("1.0.0", "linux_amd64"), zipOf(map[string]string{"README": ""}), "terraform-provider-widget"},
		{"a tar.gz that is a zip", "modules/acme/vpc/aws/1.0.0.tar.gz", module(good), "not a tar.gz archive"},
		{"an empty module", "modules/acme/vpc/aws/1.0.0.zip", module(nil), ""},
		{"a path out of the archive", "modules/acme/vpc/aws/1.0.0.zip", module(map[string]string{"main.tf": "", "../x": ""}), ".."},
		{"no manifest", widgetFolder + providerName("widget", "1.0.0", "manifest.json"), []byte("{}"), "manifest"},
		{"no SHA256SUMS", widgetFolder + providerName("widget", "1.0.0", "SHA256SUMS"), []byte("no line\n"), "64 hexadecimal digits"},
		{"no signature", widgetFolder + providerName("widget", "1.0.0", "SHA256SUMS.sig"), []byte("no signature"), "signature"},
		{"no key", "keys/acme/author.asc", []byte("no key"), "key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := w.in(t)
			w.want(w.upload(test.key, test.body), inbox.Rejected, test.words)
		})
	}
	for _, key := range w.keysUnder(registry.Prefix) {
		if !strings.HasPrefix(key, registry.Prefix+"outcomes/") {
			t.Errorf("a rejected upload left %s", key)
		}
	}
	w.wantListed("acme/widget")
	w.wantListed("acme/vpc/aws")
}

// No client can tell such versions apart, so that there is one of them, which
// is found by either name. Not even the same bytes are published as another.
func TestNothingIsTrustedVersionsThatDifferInMetadata(t *testing.T) {
	w := newWorld(t)
	files := zipOf(map[string]string{"main.tf": ""})
	w.want(w.upload("modules/acme/vpc/aws/1.0.0+a.zip", files), inbox.Published)
	w.want(w.upload(packageKey("1.0.0+a", "linux_amd64"), widget("a")), inbox.Published)
	r := newReleaseOf(t, "acme", "1.0.0+b")
	uploads := append(r.inOrder("linux_amd64.zip", "darwin_arm64.zip", "manifest.json"), r.moduleFile("1.0.0.zip", map[string]string{"main.tf": ""}), r.moduleFile("1.0.0+b.zip", map[string]string{"main.tf": ""}))
	for _, f := range uploads {
		w.want(w.upload(f.key, f.body), inbox.Rejected, "as 1.0.0+a", "metadata")
	}
	w.want(w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Rejected, "as 1.0.0+a", "metadata")
	for _, name := range []string{"1.0.0", "1.0.0+a", "1.0.0+other"} {
		if got := w.provider("acme", "widget", name).Version.String(); got != "1.0.0+a" {
			t.Errorf("asked for %s it is %s", name, got)
		}
	}
	w.wantListed("acme/widget", "1.0.0+a linux_amd64")
	w.wantListed("acme/vpc/aws", "1.0.0+a")
}

func TestTheWordBackKeepsTheUsersTags(t *testing.T) {
	w := newWorld(t)
	of := map[string]string{"team": "platform", "cost center": "a+b"}
	for key, want := range map[string]inbox.Status{
		packageKey("1.0.0", "linux_amd64"):                      inbox.Published,
		packageKey("v1.0.0", "linux_amd64"):                     inbox.Rejected,
		widgetFolder + providerName("widget", "1.0.0", "x.txt"): inbox.Ignored,
	} {
		version := w.s3.Upload(t, key, widget("a"), of)
		for range 2 {
			w.want(w.deliver(key, version), want)
			tags := w.s3.Tags(t, key, version)
			for name, value := range of {
				if tags[name] != value {
					t.Errorf("%s: tags %v, want those of its user in them", key, tags)
				}
			}
		}
	}
}

// Tags inform: whatever they say before, an upload is what it is.
func TestTheWordBackDecidesNothing(t *testing.T) {
	w := newWorld(t)
	for key, want := range map[string]inbox.Status{
		packageKey("1.0.0", "linux_amd64"): inbox.Published, packageKey("v1.0.0", "linux_amd64"): inbox.Rejected,
	} {
		for _, status := range []inbox.Status{inbox.Published, inbox.Rejected, inbox.Pending, inbox.Ignored} {
			w.s3.Upload(t, key, widget("a"), map[string]string{inbox.StatusTag: string(status), inbox.ReasonTag: "made up"})
			if err := w.PublishKey(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			tags := w.s3.Tags(t, key, "")
			if tags[inbox.StatusTag] != string(want) || tags[inbox.ReasonTag] == "made up" {
				t.Errorf("%s: tags %v, want %s", key, tags, want)
			}
		}
	}
	w.wantListed("acme/widget", "1.0.0 linux_amd64")
}

// What can only have been meant as a package is rejected, and what lies beside
// packages anyway is ignored.
func TestTheWordBackTellsMalformedFromStray(t *testing.T) {
	w := newWorld(t)
	for key, want := range map[string]inbox.Status{
		"providers/acme/widget/widget.zip":       inbox.Rejected,
		"providers/acme/widget/README.md":        inbox.Ignored,
		"providers/acme/widget/metadata.json":    inbox.Ignored,
		"providers/acme/widget/config.yaml":      inbox.Ignored,
		"modules/acme/vpc/aws/latest.zip":        inbox.Rejected,
		"modules/acme/vpc/aws/1.0.0.tar.bz2":     inbox.Rejected,
		"modules/acme/vpc/aws/README.md":         inbox.Ignored,
		"keys/acme/sub/folder/author.asc":        inbox.Rejected,
		"keys/acme/README.md":                    inbox.Ignored,
		"somewhere/terraform-provider-widget.md": inbox.Ignored,
	} {
		w.want(w.upload(key, []byte("x")), want)
	}
}

// All that is wrong is in the document; the tag says the first of it, and how
// much more there is.
func TestTheWordBackNamesEveryViolation(t *testing.T) {
	w := newWorld(t)
	key := "modules/acme/vpc_/a-b/v1.zip"
	w.want(w.upload(key, zipOf(map[string]string{"main.tf": ""})), inbox.Rejected, "vpc_", "a-b", "leading v")
	var written inbox.Outcome
	if err := json.Unmarshal(w.read(registry.OutcomeKey(key)), &written); err != nil {
		t.Fatal(err)
	}
	if len(written.Reasons) < 2 {
		t.Fatalf("the document has %q", written.Reasons)
	}
	if got, want := w.s3.Tags(t, key, "")[inbox.ReasonTag], inbox.TagValue(written.Reasons); got != want || !strings.Contains(got, "more") {
		t.Errorf("the tag says %q, want %q", got, want)
	}
}

// Who uploaded what was accepted stands in its record, and in its outcome.
func TestTheWordBackSaysWhoUploaded(t *testing.T) {
	w := newWorld(t)
	key := packageKey("1.0.0", "linux_amd64")
	object := blob.Object{Key: key, Version: w.s3.Upload(t, key, widget("a"), nil), By: "AWS:AROAEXAMPLEID:ci"}
	outcome, err := w.Publish(t.Context(), object)
	if err != nil || outcome.By != object.By {
		t.Errorf("published by %q, %v", outcome.By, err)
	}
	for _, stored := range []string{registry.OutcomeKey(key), registry.RecordKey(registry.Subject{Address: widgets, Version: mustVersion(t, "1.0.0")}.LogPrefix(), 1)} {
		var document struct{ By string }
		if err := json.Unmarshal(w.read(stored), &document); err != nil || document.By != object.By {
			t.Errorf("%s says %q, %v", stored, document.By, err)
		}
	}
}
