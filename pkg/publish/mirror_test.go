package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// mirroredWidget is what the catalog knows of a mirrored version.
func (w *world) mirroredWidget(version string) registry.ProviderVersion {
	w.Helper()
	a := registry.ProviderAddress{Hostname: "registry.terraform.io", Namespace: "acme", Type: "widget"}
	s, err := catalogtest.ProviderVersion(w.Context(), w.Index, a, publishtest.MustVersion(w.T, version))
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// versionDocument is a version's document as `terraform providers mirror` writes
// it.
func versionDocument(hashes map[string][]string) []byte {
	type archive struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
	}
	archives := map[string]archive{}
	for platform, list := range hashes {
		archives[platform] = archive{list, "terraform-provider-widget_1.0.0_" + platform + ".zip"}
	}
	data, err := json.Marshal(map[string]any{"archives": archives})
	if err != nil {
		panic(err)
	}
	return data
}

// A mirrored package is served at once, with both hashes, and beside a provider
// of the same name of this registry.
func TestMirroredPackagesArePublished(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		body := publishtest.Widget("a")
		w.Want(w.Upload(publishtest.Mirrored+"terraform-provider-widget_1.0.0_linux_amd64.zip", body), inbox.Published)
		w.Want(w.Upload("mirror/Registry.Terraform.IO/acme/widget/terraform-provider-widget_1.0.0_darwin_arm64.zip", publishtest.Widget("b")), inbox.Published)
		w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("c")), inbox.Published)
		s := w.mirroredWidget("1.0.0")
		pkg, served := s.Package(registry.Platform{OS: "linux", Arch: "amd64"})
		if !served || len(s.Packages) != 2 || s.Release != nil || pkg.H1 != archivetest.H1(w.T, body) {
			w.Errorf("the mirror has %+v", s)
		}
		if string(w.Read(s.Address.PackageKey(s.Version, pkg))) != string(body) {
			w.Error("other bytes are served")
		}
		if own := w.Provider("acme", "widget", "1.0.0"); len(own.Packages) != 1 || own.Packages[0].SHA256 == pkg.SHA256 {
			w.Errorf("the registry's own provider is %+v", own)
		}
		w.Empty()
		if got := w.Walked(w.Reindex(w.Context(), "", false)); len(got) != 2 {
			w.Errorf("reindexed %q", got)
		}
		if after := w.mirroredWidget("1.0.0"); fmt.Sprint(after) != fmt.Sprint(s) {
			w.Errorf("rebuilt as %+v, was %+v", after, s)
		}
		if found := w.Walked(w.Verify(w.Context(), "", false)); len(found) > 0 {
			w.Errorf("verified: %q", found)
		}
		if got := w.Walked(w.Resign(w.Context(), "")); len(got) > 0 {
			w.Errorf("signed anew: %q", got)
		}
	})
}

// The documents that come with packages hold them to their hashes, whichever is
// first, and change nothing that is published.
func TestMirrorDocumentsAreCompared(t *testing.T) {
	body := publishtest.Widget("a")
	h1 := archivetest.H1(t, body)
	for _, tt := range []struct {
		name   string
		hashes []string
		want   inbox.Status
	}{
		{"the same", []string{h1}, inbox.Published},
		{"none", nil, inbox.Published},
		{"of schemes of the future", []string{"h2:abc", "zz"}, inbox.Published},
		{"another h1", []string{"h1:AAAA"}, inbox.Rejected},
		{"another zh", []string{h1, "zh:00"}, inbox.Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			document := versionDocument(map[string][]string{"linux_amd64": tt.hashes, "plan9_arm": {"h1:BBBB"}})
			key := publishtest.Mirrored + "terraform-provider-widget_1.0.0_linux_amd64.zip"
			w.Want(w.Upload(publishtest.Mirrored+"1.0.0.json", document), inbox.Ignored)
			got := w.Upload(key, body)
			w.Want(got, tt.want)
			if tt.want == inbox.Rejected && !strings.Contains(got.Reasons[0], "1.0.0.json beside it") {
				t.Errorf("the reasons are %q", got.Reasons)
			}

			later := strings.Replace(publishtest.Mirrored, "acme", "beta", 1)
			w.Want(w.Upload(later+path.Base(key), body), inbox.Published)
			o := w.Upload(later+"1.0.0.json", document)
			w.Want(o, inbox.Ignored)
			w.Want(w.Upload(later+path.Base(key), body), inbox.Published) // the same bytes again
			if told := slices.ContainsFunc(o.Reasons, func(r string) bool { return strings.Contains(r, "stands") }); told != (tt.want == inbox.Rejected) {
				t.Errorf("the reasons are %q", o.Reasons)
			}
		})
	}
}

// A file that is named as a mirror's document says nothing of the registry's own
// packages.
func TestNoMirrorDocumentIsReadOfOwnPackages(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.WidgetFolder+"1.0.0.json", versionDocument(map[string][]string{"linux_amd64": {"h1:AAAA"}}))
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
}

// A document is compared with what is published, or is told to have failed.
func TestAMirrorDocumentMayFailAnywhere(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.Mirrored+"terraform-provider-widget_1.0.0_linux_amd64.zip", publishtest.Widget("a"))
	document := versionDocument(map[string][]string{"linux_amd64": {"h1:AAAA"}})
	for n, hit := 1, true; hit; n++ {
		const key = publishtest.Mirrored + "1.0.0.json"
		object := blob.Object{Key: key, Version: w.S3.Upload(t, key, document, nil)}
		f := &publishtest.Faults{Hits: publishtest.Nth(n)}
		o, err := w.Through(f).Publish(t.Context(), object)
		if hit = f.Hit; hit != errors.Is(err, publishtest.ErrFault) {
			t.Errorf("call %d, %q, fails, and it ends with %v", n, f.Calls[len(f.Calls)-1], err)
		}
		if !hit {
			w.Want(o, inbox.Ignored, "what is published stands")
		}
	}
}

func TestWhatIsNoMirroredPackage(t *testing.T) {
	w := newWorld(t)
	for key, want := range map[string]inbox.Status{
		publishtest.Mirrored + "index.json":                                                        inbox.Ignored,
		publishtest.Mirrored + "1.0.0.json":                                                        inbox.Ignored,
		publishtest.Mirrored + "v1.json":                                                           inbox.Ignored,
		publishtest.Mirrored + "notes.txt":                                                         inbox.Ignored,
		publishtest.Mirrored + "terraform-provider-widget_1.0.0_SHA256SUMS":                        inbox.Ignored,
		publishtest.Mirrored + "terraform-provider-other_1.0.0_linux_amd64.zip":                    inbox.Rejected,
		publishtest.Mirrored + "terraform-provider-widget_v1.0.0_linux_amd64.zip":                  inbox.Rejected,
		publishtest.Mirrored + "1.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip":             inbox.Rejected,
		"mirror/registry.terraform.io/acme/terraform-provider-widget_1.0.0_linux_amd64.zip":        inbox.Rejected,
		"mirror/example.com:8443/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip":      inbox.Rejected,
		"mirror/localhost/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip":             inbox.Rejected,
		"mirror/registry.terraform.io/Acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip": inbox.Rejected,
	} {
		w.Want(w.Upload(key, []byte("{")), want)
	}
}

// Nothing is mirrored under the registry's own hostname, however it is written.
func TestTheRegistryDoesNotMirrorItself(t *testing.T) {
	w := newWorld(t)
	w.Parts = publishtest.Assemble(publishing.Config{
		Bucket: w.Bucket, Index: w.Index, Signer: w.Key, Scratch: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Hostname: "registry.example.com",
	})
	for _, hostname := range []string{"registry.example.com", "Registry.Example.COM"} {
		key := "mirror/" + hostname + "/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
		w.Want(w.Upload(key, publishtest.Widget("a")), inbox.Rejected, "upload its providers to providers/acme/widget/")
	}
}
