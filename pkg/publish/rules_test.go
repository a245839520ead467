package publish_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// The rules that hold in whatever order, however often and however parallel
// uploads come. A test is named after its rule: Immutable, AllOrNothing,
// ExactlyOnce, AuthorsWordWins, NothingIsTrusted, KeyFiles, TheWordBack.

// servedModule is the bytes that are served of acme/vpc/aws.
func (w *world) servedModule(version string) []byte {
	w.Helper()
	m, err := catalogtest.ModuleVersion(w.Context(), w.Index, publishtest.VPC, publishtest.MustVersion(w.T, version))
	if err != nil {
		w.Fatal(err)
	}
	return w.Read(publishtest.VPC.ArchiveKey(m.Version, m.Archive))
}

// servedPackage is the bytes that are served of acme/widget for linux_amd64.
func (w *world) servedPackage(version string) []byte {
	w.Helper()
	s := w.Provider("acme", "widget", version)
	pkg, ok := s.Package(registry.Platform{OS: "linux", Arch: "amd64"})
	if !ok {
		w.Fatalf("acme/widget %s is not served", version)
	}
	return w.Read(s.Address.PackageKey(s.Version, pkg))
}

func TestImmutableTheSameVersionWithAndWithoutAVersionFolder(t *testing.T) {
	w := newWorld(t)
	keys := func(version string) []string {
		return []string{publishtest.PackageKey(version, "linux_amd64"), publishtest.WidgetFolder + version + "/" + publishtest.ProviderName("widget", version, "linux_amd64.zip")}
	}
	for version, first := range map[string]int{"1.0.0": 0, "1.1.0": 1} {
		both := keys(version)
		one, other := both[first], both[1-first]
		w.Want(w.Upload(one, publishtest.Widget("first")), inbox.Published)
		w.Want(w.Upload(other, publishtest.Widget("first")), inbox.Published)
		w.Want(w.Upload(other, publishtest.Widget("second")), inbox.Rejected, "acme/widget "+version+" for linux_amd64", "other bytes")
		if !bytes.Equal(w.servedPackage(version), publishtest.Widget("first")) {
			t.Errorf("%s is served as other bytes", version)
		}
	}
	w.WantListed("acme/widget", "1.0.0 linux_amd64", "1.1.0 linux_amd64")
}

func TestImmutableAZipBesideATarGz(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{"main.tf": ""}
	bodies := map[string][]byte{".zip": publishtest.ZipOf(files), ".tar.gz": publishtest.TarOf(files)}
	for version, first := range map[string]string{"1.0.0": ".zip", "1.1.0": ".tar.gz"} {
		second := map[string]string{".zip": ".tar.gz", ".tar.gz": ".zip"}[first]
		folder := "modules/acme/vpc/aws/"
		w.Want(w.Upload(folder+version+first, bodies[first]), inbox.Published)
		w.Want(w.Upload(folder+version+second, bodies[second]), inbox.Rejected, "module acme/vpc/aws "+version, "other bytes")
		if !bytes.Equal(w.servedModule(version), bodies[first]) {
			t.Errorf("%s is served as other bytes", version)
		}
	}
	w.Want(w.Upload("modules/acme/vpc/aws/1.1.0.tgz", bodies[".tar.gz"]), inbox.Published) // the same under its other name
	w.WantListed("acme/vpc/aws", "1.0.0", "1.1.0")
}

func TestImmutableKeysThatDifferOnlyByCase(t *testing.T) {
	w := newWorld(t)
	files := publishtest.ZipOf(map[string]string{"main.tf": ""})
	w.Want(w.Upload("modules/acme/vpc/aws/1.0.0.zip", files), inbox.Published)
	w.Want(w.Upload("modules/ACME/Vpc/aws/1.0.0.zip", files), inbox.Published)
	w.Want(w.Upload("modules/Acme/VPC/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": "other"})), inbox.Rejected, "other bytes")
	w.Want(w.Upload("modules/acme/vpc/aws/1.0.0.ZIP", files), inbox.Rejected, "lower case")
	w.WantListed("acme/vpc/aws", "1.0.0")
	if !bytes.Equal(w.servedModule("1.0.0"), files) {
		t.Error("it is served as other bytes")
	}
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	w.Want(w.Upload("providers/Acme/widget/"+publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.Widget("a")), inbox.Rejected, "lower-case")
	w.Want(w.Upload("providers/acme/Widget/"+publishtest.ProviderName("Widget", "1.0.0", "linux_amd64.zip"), publishtest.Widget("a")), inbox.Rejected, "lower-case")
}

func TestImmutableDeletedAndUploadedAgain(t *testing.T) {
	w := newWorld(t)
	module := publishtest.ZipOf(map[string]string{"main.tf": ""})
	for _, test := range []struct {
		key           string
		first, second []byte
		served        func(version string) []byte
	}{
		{publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("first"), publishtest.Widget("second"), w.servedPackage},
		{"modules/acme/vpc/aws/1.0.0.zip", module, publishtest.ZipOf(map[string]string{"main.tf": "second"}), w.servedModule},
	} {
		w.Want(w.Upload(test.key, test.first), inbox.Published)
		records := w.KeysUnder(registry.RecordsPrefix)
		w.S3.Delete(t, test.key)
		w.Want(w.Upload(test.key, test.first), inbox.Published)
		w.S3.Delete(t, test.key)
		w.Want(w.Upload(test.key, test.second), inbox.Rejected, "other bytes")
		w.S3.Delete(t, test.key)
		if !bytes.Equal(test.served("1.0.0"), test.first) {
			t.Errorf("%s is served as other bytes", test.key)
		}
		if got := w.KeysUnder(registry.RecordsPrefix); !slices.Equal(got, records) {
			t.Errorf("%s: records %q, want %q", test.key, got, records)
		}
	}
}

// An upload is overwritten, and all its versions expire: what was published of
// it is served as before, also by a catalog that is made anew.
func TestImmutableWhateverBecomesOfTheUpload(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for key, body := range map[string][]byte{
		publishtest.PackageKey("1.0.0", "linux_amd64"): publishtest.Widget("first"), "modules/acme/vpc/aws/1.0.0.zip": publishtest.ZipOf(map[string]string{"main.tf": ""}),
	} {
		first := w.S3.Upload(t, key, body, nil)
		w.Want(w.Deliver(key, first), inbox.Published)
		second := w.S3.Upload(t, key, []byte("overwritten"), nil)
		w.Want(w.Deliver(key, second), inbox.Rejected)
		for _, version := range []string{first, second} {
			w.S3.(*blobtest.Memory).Expire(key, version)
		}
	}
	w.Index = w.NewCatalog()
	if err := w.PartsOn(w.Bucket, w.Index, w.Key).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.servedPackage("1.0.0"), publishtest.Widget("first")) || !bytes.Equal(w.servedModule("1.0.0"), publishtest.ZipOf(map[string]string{"main.tf": ""})) {
		t.Error("other bytes are served")
	}
}

// Of all calls that publish something, only those come after the one to the catalog that
// bring the directory up to it, and that tell the outcome.
func TestAllOrNothingTheCatalogIsWrittenLast(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for key, body := range map[string][]byte{
		publishtest.PackageKey("1.0.0", "linux_amd64"): publishtest.Widget("a"), "modules/acme/vpc/aws/1.0.0.zip": publishtest.ZipOf(map[string]string{"vpc/main.tf": ""}),
	} {
		f := &publishtest.Faults{}
		if _, err := w.Through(f).Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)}); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(f.Calls, func(call string) bool { return strings.HasPrefix(call, "catalog: put ") })
		if at < 0 {
			t.Fatalf("%s: the catalog is not written: %q", key, f.Calls)
		}
		for _, call := range f.Calls[at+1:] {
			if publishtest.Changes(call) && !slices.Contains([]string{"catalog: put a shard of the directory", "tag " + key, "announce " + key, "put " + registry.OutcomeKey(key)}, call) {
				t.Errorf("%s: after the catalog comes %q", key, call)
			}
		}
	}
}

// watch looks before and after each call.
type watch struct{ look func() }

func (w watch) Call(_ string, do func() error) error {
	w.look()
	defer w.look()
	return do()
}

// At each moment a version is served with the registry's SHA256SUMS, signature
// and key, or with the author's, and never again with the registry's after that.
func TestAuthorsWordWinsByOneSwap(t *testing.T) {
	for _, c := range publishtest.Catalogs {
		t.Run(c.Name, func(t *testing.T) {
			w := newWorldOn(t, publishtest.InMemory, c.Open)
			r := publishtest.NewRelease(t, "acme")
			var seen []string
			look := func() {
				s := w.Provider("acme", "widget", "1.0.0")
				if s.Release == nil {
					return
				}
				keyID, document := w.Key.PublicKey().KeyID, w.Served(s)
				if s.Release.Author {
					keyID = r.Key.PublicKey().KeyID
				}
				if s.Release.Keys[0].KeyID != keyID || s.Release.Author != (document == string(r.Sums)) || !s.Settled() {
					t.Errorf("served with key %s is\n%s", s.Release.Keys[0].KeyID, document)
				}
				seen = append(seen, keyID)
			}
			p := w.Through(watch{look})
			for _, f := range r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig", "author.asc", "darwin_arm64.zip") {
				if _, err := p.Publish(t.Context(), blob.Object{Key: f.Key, Version: w.S3.Upload(t, f.Key, f.Body, nil)}); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := slices.Compact(seen), []string{w.Key.PublicKey().KeyID, r.Key.PublicKey().KeyID}; !slices.Equal(got, want) {
				t.Errorf("it was served with the keys %q, want %q", got, want)
			}
		})
	}
}

// partial is a release whose SHA256SUMS lists one of its two packages.
func partial(t *testing.T) publishtest.Release {
	t.Helper()
	r := publishtest.NewRelease(t, "acme")
	r.Sums = []byte(publishtest.Line(r.Files, publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip")))
	r.Sign(t, r.Key)
	return r
}

// It names packages which have not come, and keeps those out that it does not
// name.
func TestAuthorsWordWinsPartialSHA256SUMSBeforeTheZips(t *testing.T) {
	w := newWorld(t)
	r := partial(t)
	w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
	w.WantListed("acme/widget")
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip")), inbox.Published)
	w.Want(w.UploadFiles(r.InOrder("darwin_arm64.zip")), inbox.Rejected, "does not list", "darwin_arm64.zip")
	w.WantListed("acme/widget", "1.0.0 linux_amd64")
	if s := w.Provider("acme", "widget", "1.0.0"); w.Served(s) != string(r.Sums) {
		t.Error("it is not served as its author signed it")
	}
}

// It lacks a package that is published, which stands.
func TestAuthorsWordWinsPartialSHA256SUMSAfterTheZips(t *testing.T) {
	w := newWorld(t)
	r := partial(t)
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "darwin_arm64.zip")), inbox.Published)
	w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Rejected, "does not list", "darwin_arm64.zip")
	if got := w.Status(r.SumsKey() + ".sig"); got != inbox.Pending {
		t.Errorf("its signature is %q, want pending: a right SHA256SUMS may come", got)
	}
	s := w.Provider("acme", "widget", "1.0.0")
	if got := strings.Count(w.Served(s), "\n"); s.Release.Author || got != 2 {
		t.Errorf("SHA256SUMS has %d lines, want the registry's two", got)
	}
	w.WantListed("acme/widget", "1.0.0 darwin_arm64 linux_amd64")
}

func TestNothingIsTrusted(t *testing.T) {
	w := newWorld(t)
	module := func(files map[string]string) []byte { return publishtest.ZipOf(files) }
	good := map[string]string{"main.tf": ""}
	for _, test := range []struct {
		name, key string
		body      []byte
		words     string
	}{
		{"a leading v", publishtest.PackageKey("v1.0.0", "linux_amd64"), publishtest.Widget("a"), "leading v"},
		{"leading zeros", publishtest.PackageKey("1.0.01", "linux_amd64"), publishtest.Widget("a"), "leading zeros"},
		{"no full version", "modules/acme/vpc/aws/1.0.zip", module(good), "semantic version"},
		{"a namespace in upper case", "providers/Acme/widget/" + publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.Widget("a"), "lower-case"},
		{"no platform", publishtest.PackageKey("1.0.0", "Linux_x86_64"), publishtest.Widget("a"), "platform"},
		{"another provider's name", "providers/acme/gadget/" + publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.Widget("a"), "terraform-provider-gadget_"},
		{"another version's folder", publishtest.WidgetFolder + "2.0.0/" + publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.Widget("a"), "folder"},
		{"a module's address that cannot be", "modules/acme/vpc/a-b/1.0.0.zip", module(good), "system"},
		{"no zip", publishtest.PackageKey("1.0.0", "linux_amd64"), []byte("no zip"), ""},
		{"a package without its executable", publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.ZipOf(map[string]string{"README": ""}), "terraform-provider-widget"},
		{"a tar.gz that is a zip", "modules/acme/vpc/aws/1.0.0.tar.gz", module(good), "not a tar.gz archive"},
		{"an empty module", "modules/acme/vpc/aws/1.0.0.zip", module(nil), ""},
		{"a path out of the archive", "modules/acme/vpc/aws/1.0.0.zip", module(map[string]string{"main.tf": "", "../x": ""}), ".."},
		{"no manifest", publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "manifest.json"), []byte("{}"), "manifest"},
		{"no SHA256SUMS", publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "SHA256SUMS"), []byte("no line\n"), "64 hexadecimal digits"},
		{"no signature", publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "SHA256SUMS.sig"), []byte("no signature"), "signature"},
		{"no key", "keys/acme/author.asc", []byte("no key"), "key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := w.in(t)
			w.Want(w.Upload(test.key, test.body), inbox.Rejected, test.words)
		})
	}
	for _, key := range w.KeysUnder(registry.Prefix) {
		if !strings.HasPrefix(key, registry.Prefix+"outcomes/") {
			t.Errorf("a rejected upload left %s", key)
		}
	}
	w.WantListed("acme/widget")
	w.WantListed("acme/vpc/aws")
}

// No client can tell such versions apart, so that there is one of them, which
// is found by either name. Not even the same bytes are published as another.
func TestNothingIsTrustedVersionsThatDifferInMetadata(t *testing.T) {
	w := newWorld(t)
	files := publishtest.ZipOf(map[string]string{"main.tf": ""})
	w.Want(w.Upload("modules/acme/vpc/aws/1.0.0+a.zip", files), inbox.Published)
	w.Want(w.Upload(publishtest.PackageKey("1.0.0+a", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	r := publishtest.NewReleaseOf(t, "acme", "1.0.0+b")
	uploads := append(r.InOrder("linux_amd64.zip", "darwin_arm64.zip", "manifest.json"), r.ModuleFile("1.0.0.zip", map[string]string{"main.tf": ""}), r.ModuleFile("1.0.0+b.zip", map[string]string{"main.tf": ""}))
	for _, f := range uploads {
		w.Want(w.Upload(f.Key, f.Body), inbox.Rejected, "as 1.0.0+a", "metadata")
	}
	w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Rejected, "as 1.0.0+a", "metadata")
	for _, name := range []string{"1.0.0", "1.0.0+a", "1.0.0+other"} {
		if got := w.Provider("acme", "widget", name).Version.String(); got != "1.0.0+a" {
			t.Errorf("asked for %s it is %s", name, got)
		}
	}
	w.WantListed("acme/widget", "1.0.0+a linux_amd64")
	w.WantListed("acme/vpc/aws", "1.0.0+a")
}

func TestTheWordBackKeepsTheUsersTags(t *testing.T) {
	w := newWorld(t)
	of := map[string]string{"team": "platform", "cost center": "a+b"}
	for key, want := range map[string]inbox.Status{
		publishtest.PackageKey("1.0.0", "linux_amd64"):                                  inbox.Published,
		publishtest.PackageKey("v1.0.0", "linux_amd64"):                                 inbox.Rejected,
		publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "x.txt"): inbox.Ignored,
	} {
		version := w.S3.Upload(t, key, publishtest.Widget("a"), of)
		for range 2 {
			w.Want(w.Deliver(key, version), want)
			tags := w.S3.Tags(t, key, version)
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
		publishtest.PackageKey("1.0.0", "linux_amd64"): inbox.Published, publishtest.PackageKey("v1.0.0", "linux_amd64"): inbox.Rejected,
	} {
		for _, status := range []inbox.Status{inbox.Published, inbox.Rejected, inbox.Pending, inbox.Ignored} {
			w.S3.Upload(t, key, publishtest.Widget("a"), map[string]string{inbox.StatusTag: string(status), inbox.ReasonTag: "made up"})
			if err := w.PublishKey(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			tags := w.S3.Tags(t, key, "")
			if tags[inbox.StatusTag] != string(want) || tags[inbox.ReasonTag] == "made up" {
				t.Errorf("%s: tags %v, want %s", key, tags, want)
			}
		}
	}
	w.WantListed("acme/widget", "1.0.0 linux_amd64")
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
		w.Want(w.Upload(key, []byte("x")), want)
	}
}

// All that is wrong is in the document; the tag says the first of it, and how
// much more there is.
func TestTheWordBackNamesEveryViolation(t *testing.T) {
	w := newWorld(t)
	key := "modules/acme/vpc_/a-b/v1.zip"
	w.Want(w.Upload(key, publishtest.ZipOf(map[string]string{"main.tf": ""})), inbox.Rejected, "vpc_", "a-b", "leading v")
	var written inbox.Outcome
	if err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &written); err != nil {
		t.Fatal(err)
	}
	if len(written.Reasons) < 2 {
		t.Fatalf("the document has %q", written.Reasons)
	}
	if got, want := w.S3.Tags(t, key, "")[inbox.ReasonTag], inbox.TagValue(written.Reasons); got != want || !strings.Contains(got, "more") {
		t.Errorf("the tag says %q, want %q", got, want)
	}
}

// Who uploaded what was accepted stands in its record, and in its outcome.
func TestTheWordBackSaysWhoUploaded(t *testing.T) {
	w := newWorld(t)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	object := blob.Object{Key: key, Version: w.S3.Upload(t, key, publishtest.Widget("a"), nil), By: "AWS:AROAEXAMPLEID:ci"}
	outcome, err := w.Publish(t.Context(), object)
	if err != nil || outcome.By != object.By {
		t.Errorf("published by %q, %v", outcome.By, err)
	}
	for _, stored := range []string{registry.OutcomeKey(key), registry.RecordKey(registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}.LogPrefix(), 1)} {
		var document struct{ By string }
		if err := json.Unmarshal(w.Read(stored), &document); err != nil || document.By != object.By {
			t.Errorf("%s says %q, %v", stored, document.By, err)
		}
	}
}
