package publish_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestAllOrNothingAPackageIsListedWithAllThatServingItNeeds(t *testing.T) {
	w := newWorld(t)
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)

	s := w.Provider("acme", "widget", "1.0.0")
	pkg, ok := s.Package(registry.Platform{OS: "linux", Arch: "amd64"})
	if !ok {
		t.Fatal("the package is not served")
	}
	if got := w.Read(s.Address.PackageKey(s.Version, pkg)); !bytes.Equal(got, publishtest.Widget("a")) {
		t.Error("other bytes are served than were uploaded")
	}
	want := pkg.SHA256 + "  terraform-provider-widget_1.0.0_linux_amd64.zip\n"
	if got := w.Served(s); got != want {
		t.Errorf("SHA256SUMS is %q, want %q", got, want)
	}
	if got, want := w.Listed("acme/widget"), []string{"1.0.0 linux_amd64"}; !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	folder := "registry/providers/acme/widget/1.0.0/"
	wantKeys := []string{
		"registry/outcomes/" + publishtest.PackageKey("1.0.0", "linux_amd64") + ".json",
		folder + pkg.SHA256 + "/terraform-provider-widget_1.0.0_linux_amd64.zip",
		folder + s.Release.SHA256 + "/terraform-provider-widget_1.0.0_SHA256SUMS",
		folder + s.Release.Signature + "/terraform-provider-widget_1.0.0_SHA256SUMS.sig",
		"registry/records/providers/acme/widget/1.0.0/00000001.json",
		"registry/records/providers/acme/widget/1.0.0/00000002.json",
	}
	slices.Sort(wantKeys)
	if got := w.KeysUnder(registry.Prefix); !slices.Equal(got, wantKeys) {
		t.Errorf("the registry holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantKeys, "\n"))
	}
}

func TestImmutableTheSameBytesAgainChangeNothing(t *testing.T) {
	w := newWorld(t)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	version := w.S3.Upload(t, key, publishtest.Widget("a"), nil)
	for range 3 { // an event comes at least once
		w.Want(w.Deliver(key, version), inbox.Published)
	}
	w.Want(w.Upload(key, publishtest.Widget("a")), inbox.Published)
	w.Want(w.Upload(publishtest.WidgetFolder+"1.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip", publishtest.Widget("a")), inbox.Published)
	w.Want(w.Deliver(key, version), inbox.Published) // and late
	if got := w.KeysUnder(registry.RecordsPrefix); len(got) != 2 {
		t.Errorf("%d records, want a package and a release: %q", len(got), got)
	}
	module := "modules/acme/vpc/aws/1.0.0.zip"
	files := publishtest.ZipOf(map[string]string{"main.tf": ""})
	w.Want(w.Upload(module, files), inbox.Published)
	w.Want(w.Upload(module, files), inbox.Published)
	w.Want(w.Upload("modules/ACME/vpc/aws/1.0.0.zip", files), inbox.Published)
	if got := w.KeysUnder(registry.RecordsPrefix + "modules/"); len(got) != 1 {
		t.Errorf("records %q, want one", got)
	}
}

func TestImmutableOtherBytesAreRejected(t *testing.T) {
	w := newWorld(t)
	module := func(content string) []byte { return publishtest.ZipOf(map[string]string{"main.tf": content}) }
	for _, test := range []struct {
		key   string
		body  func(content string) []byte
		words []string
	}{
		{publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget, []string{"acme/widget 1.0.0 for linux_amd64", "other bytes", "publish a new one"}},
		{"modules/acme/vpc/aws/1.0.0.zip", module, []string{"module acme/vpc/aws 1.0.0", "other bytes", "publish a new one"}},
	} {
		w.Want(w.Upload(test.key, test.body("first")), inbox.Published)
		before := w.KeysUnder(registry.RecordsPrefix)
		w.Want(w.Upload(test.key, test.body("second")), inbox.Rejected, test.words...)
		if got := w.KeysUnder(registry.RecordsPrefix); !slices.Equal(got, before) {
			t.Errorf("%s: the rejected upload left a record", test.key)
		}
	}
}

func TestAWrappedModuleIsUnwrappedAndAnythingElseServedAsItIs(t *testing.T) {
	w := newWorld(t)
	files := func(prefix string) map[string]string {
		return map[string]string{prefix + "main.tf": "# root", prefix + "modules/x/main.tf": "# x"}
	}
	for _, test := range []struct {
		key     string
		body    []byte
		asItIs  bool
		sameAs  string
		content string
	}{
		{key: "modules/acme/vpc/aws/1.0.0.zip", body: publishtest.ZipOf(files("")), asItIs: true},
		{key: "modules/acme/vpc/aws/1.1.0.zip", body: publishtest.ZipOf(files("vpc-1.1.0/"))},
		{key: "modules/acme/vpc/aws/1.2.0.tar.gz", body: publishtest.TarOf(files(""))[:], asItIs: true},
		{key: "modules/acme/vpc/aws/1.3.0.tgz", body: publishtest.TarOf(files("vpc-1.3.0/"))},
		{key: "modules/acme/vpc/aws/1.4.0.zip", body: publishtest.ZipOf(map[string]string{"modules/x/main.tf": "# x"}), asItIs: true},
	} {
		w.Want(w.Upload(test.key, test.body), inbox.Published)
		version := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(test.key, ".zip"), ".tar.gz"), ".tgz")
		version = version[strings.LastIndex(version, "/")+1:]
		m, err := catalogtest.ModuleVersion(t.Context(), w.Index, registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}, publishtest.MustVersion(t, version))
		if err != nil {
			t.Fatal(err)
		}
		served := w.Read(m.Address.ArchiveKey(m.Version, m.Archive))
		if same := bytes.Equal(served, test.body); same != test.asItIs {
			t.Errorf("%s: served byte for byte: %v, want %v", test.key, same, test.asItIs)
		}
		if int64(len(served)) != m.Archive.Size {
			t.Errorf("%s: size %d, served are %d bytes", test.key, m.Archive.Size, len(served))
		}
		if m.Archive.Format == "zip" {
			r, err := zip.NewReader(bytes.NewReader(served), int64(len(served)))
			if err != nil {
				t.Fatal(err)
			}
			if name := r.File[0].Name; strings.HasPrefix(name, "vpc-") {
				t.Errorf("%s: the root of the archive is still %s", test.key, name)
			}
		}
		w.Want(w.Upload(test.key, test.body), inbox.Published) // the same again
	}
}

func TestProtocolsAreRightInWhateverOrderTheyBecomeKnown(t *testing.T) {
	w := newWorld(t)
	manifest := []byte(`{"version":1,"metadata":{"protocol_versions":["6.0","5.1"]}}`)
	withManifest := publishtest.ZipOf(map[string]string{"terraform-provider-widget": "x", "terraform-registry-manifest.json": `{"version":1,"metadata":{"protocol_versions":["6.0"]}}`})
	manifestKey := func(version string) string {
		return publishtest.WidgetFolder + "terraform-provider-widget_" + version + "_manifest.json"
	}
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Upload(publishtest.PackageKey("1.1.0", "linux_amd64"), withManifest)
	w.Upload(publishtest.PackageKey("1.2.0", "linux_amd64"), publishtest.Widget("a"))
	w.Want(w.Upload(manifestKey("1.2.0"), manifest), inbox.Published)
	w.Want(w.Upload(manifestKey("1.3.0"), manifest), inbox.Published)
	if got := w.Listed("acme/widget"); len(got) != 3 {
		t.Errorf("a manifest without a package is listed: %q", got)
	}
	w.Upload(publishtest.PackageKey("1.3.0", "linux_amd64"), publishtest.Widget("a"))
	w.Want(w.Upload(manifestKey("1.3.0"), []byte(`{"version":1,"metadata":{"protocol_versions":["5.0"]}}`)), inbox.Rejected, "manifest", "never changes")
	w.Want(w.Upload(manifestKey("1.4.0"), []byte(`{"version":1}`)), inbox.Rejected, "manifest")

	listing, err := catalog.Listing(t.Context(), w.Index, registry.ProviderAddress{Namespace: "acme", Type: "widget"})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"5.0"}, {"6.0"}, {"5.1", "6.0"}, {"5.1", "6.0"}}
	for n, entry := range listing {
		if !slices.Equal(entry.Protocols, want[n]) {
			t.Errorf("%s: protocols %q, want %q", entry.Version, entry.Protocols, want[n])
		}
	}
}

func TestTheWordBackIsInTagsAndInADocument(t *testing.T) {
	w := newWorld(t)
	key := publishtest.PackageKey("v1.0.0", "linux_amd64")
	version := w.S3.Upload(t, key, publishtest.Widget("a"), map[string]string{"team": "platform"})
	w.Want(w.Deliver(key, version), inbox.Rejected, "leading v")
	tags := w.S3.Tags(t, key, version)
	if tags["team"] != "platform" || !strings.Contains(tags[inbox.ReasonTag], "leading v: write 1.0.0") {
		t.Errorf("tags %v", tags)
	}
	var written inbox.Outcome
	if err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &written); err != nil {
		t.Fatal(err)
	}
	if written.Status != inbox.Rejected || written.Version != version || len(written.Reasons) != 1 {
		t.Errorf("the document says %+v", written)
	}

	stray := "providers/acme/widget/README.md"
	w.Want(w.Upload(stray, []byte("hello")), inbox.Ignored)
	if got, want := w.S3.Tags(t, stray, "")[inbox.ReasonTag], "in the folder of provider acme/widget a package is named terraform-provider-widget_VERSION_OS_ARCH.zip - this is README.md"; got != want {
		t.Errorf("the tag of a stray file says %q, want %q", got, want)
	}

	full := map[string]string{}
	for n := range 10 {
		full[fmt.Sprint("tag", n)] = "x"
	}
	key = publishtest.PackageKey("1.0.0", "linux_amd64")
	version = w.S3.Upload(t, key, publishtest.Widget("a"), full)
	if outcome, err := w.Publish(t.Context(), blob.Object{Key: key, Version: version}); err != nil || outcome.Status != inbox.Published {
		t.Errorf("an upload with ten tags of its own: %v %v", outcome, err)
	}
}

// A SHA256SUMS that another one replaced before it could be published is not its
// author's word any more, though its signature is still there.
func TestAReplacedSHA256SUMSIsNotAdopted(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	r := publishtest.SignedBy(t, author, "1.0.0")
	w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS.sig"))
	late := w.S3.Upload(t, r.SumsKey(), r.Sums, nil)
	w.S3.Upload(t, r.SumsKey(), append(r.Sums, []byte(strings.Repeat("0", 64)+"  "+publishtest.ProviderName("widget", "1.0.0", "plan9_arm.zip")+"\n")...), nil)
	w.Want(w.Deliver(r.SumsKey(), late), inbox.Ignored, "a newer upload took its place")
	w.WantRegistrysOwn("1.0.0")
}

func TestWhatIsDeletedOrOverwrittenBeforeItIsPublished(t *testing.T) {
	w := newWorld(t)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	first := w.S3.Upload(t, key, publishtest.Widget("a"), nil)
	second := w.S3.Upload(t, key, publishtest.Widget("b"), nil)
	w.S3.Delete(t, key)
	if err := w.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]inbox.Status{first: inbox.Published, second: inbox.Rejected} {
		if got := w.S3.Tags(t, key, version)[inbox.StatusTag]; got != string(want) {
			t.Errorf("tag %q, want %q", got, want)
		}
	}
	if outcome, err := w.Publish(t.Context(), blob.Object{Key: key, Version: "01BX5ZZKBKACTAV9WEVGEMMVRZ"}); err != nil || outcome.Status != inbox.Ignored {
		t.Errorf("a version that is not there: %v, %v", outcome, err)
	}
}
