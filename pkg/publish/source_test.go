package publish_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
)

// What an upload says of its source becomes the version's, with the first upload that
// says any, and stays.
func TestSources(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		const source, other = "https://git.example.com/acme/network", "https://git.example.com/acme/other"
		from := func(key string, body []byte, source string) inbox.Outcome {
			w.Helper()
			return w.Deliver(key, w.S3.UploadFrom(w, key, body, source))
		}
		plain, wrapped := publishtest.ZipOf(map[string]string{"main.tf": ""}), publishtest.TarOf(map[string]string{"vpc/main.tf": ""})
		w.Want(w.Upload("modules/acme/vpc/aws/1.0.0.zip", plain), inbox.Published)
		w.Want(from("modules/acme/vpc/aws/1.1.0.zip", plain, source), inbox.Published)
		w.Want(from("modules/acme/vpc/aws/1.2.0.tgz", wrapped, other), inbox.Published)
		w.Want(from("modules/acme/vpc/aws/1.3.0.zip", plain, ""), inbox.Published)
		w.Want(from("modules/acme/vpc/aws/1.0.0.zip", plain, other), inbox.Published)
		w.Want(from("modules/acme/vpc/aws/1.1.0.zip", plain, other), inbox.Published)
		w.Want(w.Upload("modules/acme/vpc/aws/1.1.0.zip", plain), inbox.Published)
		listing, err := catalog.Listing(w.Context(), w.Index, publishtest.VPC)
		if err != nil {
			w.Fatal(err)
		}
		for version, want := range map[string]string{"1.0.0": "", "1.1.0": source, "1.2.0": other, "1.3.0": ""} {
			v := publishtest.MustVersion(w.T, version)
			m, err := catalogtest.ModuleVersion(w.Context(), w.Index, publishtest.VPC, v)
			if listed := listing.Find(v).Source; err != nil || m.Archive.Source != want || listed != want {
				w.Errorf("module %s: %v, the source is %q, and listed %q, want %q", version, err, m.Archive.Source, listed, want)
			}
			if kept, err := w.Bucket.Head(w.Context(), publishtest.VPC.ArchiveKey(v, m.Archive)); err != nil || kept.Source != "" {
				w.Errorf("module %s: what is served has the metadata %q, %v", version, kept.Source, err)
			}
		}

		w.Want(from(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"), ""), inbox.Published)
		w.Want(from(publishtest.PackageKey("1.0.0", "windows_amd64"), publishtest.Widget("b"), source), inbox.Published)
		w.Want(from(publishtest.PackageKey("1.0.0", "darwin_arm64"), publishtest.Widget("c"), other), inbox.Published)
		state := w.Provider("acme", "widget", "1.0.0")
		if got := state.Source(); got != source {
			w.Errorf("the provider's source is %q, want %q", got, source)
		}
		if record := string(w.Read("registry/records/modules/acme/vpc/aws/1.0.0/00000001.json")); strings.Contains(record, "source") {
			w.Errorf("where there is no source, the record is %s", record)
		}
	})
}

// A source takes room in the list of a module's versions, once however many versions
// have it.
func TestSourcesTakeRoom(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	source := func(n int) string { return fmt.Sprintf("https://git.example.com/acme/%d", n) }
	publishFrom := func(n int, source string) inbox.Outcome {
		key := fmt.Sprintf("modules/acme/vpc/aws/1.%d.0.zip", n)
		return w.Deliver(key, w.S3.UploadFrom(t, key, publishtest.ZipOf(map[string]string{"main.tf": ""}), source))
	}
	w.Want(publishFrom(0, source(0)), inbox.Published)
	l, err := catalog.Listing(w.Context(), w.Index, publishtest.VPC)
	_, stored := w.sizes(l, err, registry.Listed{Version: publishtest.MustVersion(t, "1.1.0"), Source: source(0)})
	w.LimitListings(publish.MaxAnswered, stored)
	w.Want(publishFrom(1, source(1)), inbox.Rejected, "no room for more")
	w.Want(publishFrom(1, source(0)), inbox.Published)
}

// A source that is no address of the web is a rejection, beside whatever else is
// wrong.
func TestSourcesThatAreRejected(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	module, bad := publishtest.ZipOf(map[string]string{"main.tf": ""}), publishtest.ZipOf(map[string]string{"../main.tf": ""})
	for _, test := range []struct {
		key, source string
		body        []byte
		words       []string
	}{
		{"modules/acme/vpc/aws/1.0.0.zip", "git@github.com:acme/vpc.git", module, []string{"the source is not an https or http URL"}},
		{"modules/acme/vpc/aws/1.0.0.zip", "https://ann:s3cret@example.com/acme", module, []string{"without a user name or password"}},
		{"modules/acme/vpc/aws/1.0.0.zip", "https://example.com/" + strings.Repeat("a", registry.MaxSource), module, []string{"520 bytes, 500 are allowed"}},
		{"modules/acme/vpc/aws/1.0.0.zip", "javascript:alert(1)", bad, []string{"the source is not an https or http URL", "../main.tf"}},
		{publishtest.PackageKey("1.0.0", "linux_amd64"), "https://example.com/#readme", publishtest.Widget("a"), []string{"without a fragment"}},
		{publishtest.PackageKey("1.0.0", "linux_amd64"), "ci", publishtest.ZipOf(map[string]string{"x": ""}), []string{"the source is not an https or http URL", "terraform-provider-widget"}},
	} {
		outcome := w.Deliver(test.key, w.S3.UploadFrom(t, test.key, test.body, test.source))
		w.Want(outcome, inbox.Rejected, test.words...)
		if text := strings.Join(outcome.Reasons, " "); strings.Contains(text, "s3cret") {
			t.Errorf("the reasons are %q", text)
		}
	}
	if got := w.KeysUnder(registry.RecordsPrefix); len(got) != 0 {
		t.Errorf("there are records %q", got)
	}
}
