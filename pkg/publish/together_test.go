package publish_test

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/signing"
)

// The files of a release are compared with one another before they are uploaded, by the
// rules by which the registry compares them.
func TestFilesAreJudgedTogether(t *testing.T) {
	const linux, darwin, manifest = "terraform-provider-widget_1.0.0_linux_amd64.zip", "terraform-provider-widget_1.0.0_darwin_arm64.zip", "terraform-provider-widget_1.0.0_manifest.json"
	const sums, signature = "terraform-provider-widget_1.0.0_SHA256SUMS", "terraform-provider-widget_1.0.0_SHA256SUMS.sig"
	type said map[string][]string // by file
	for _, test := range []struct {
		name           string
		change         func(r *publishtest.Release)
		without        []string
		keys           []string // of the author, by name
		wrong, warning func(r publishtest.Release) said
	}{
		{name: "a whole release"},
		{name: "with its key", keys: []string{"stranger", "author"}},
		{name: "packages alone", without: []string{sums, signature, manifest}},
		{name: "no package that SHA256SUMS lists", without: []string{linux}},
		{name: "other bytes", change: func(r *publishtest.Release) { r.Files[linux] = publishtest.Widget("other") }, wrong: func(r publishtest.Release) said {
			return said{linux: {fmt.Sprintf("the author's SHA256SUMS lists %s with another sha256 (%s; this file: %s)", linux, blob.SHA256(publishtest.Widget("amd64")), blob.SHA256(publishtest.Widget("other")))}}
		}},
		{name: "what is not listed", change: func(r *publishtest.Release) {
			r.Sums = []byte(publishtest.Line(r.Files, darwin) + publishtest.Line(r.Files, manifest))
		}, wrong: func(publishtest.Release) said {
			return said{linux: {"the author's SHA256SUMS does not list " + linux}}
		}},
		{name: "a manifest that is not listed", change: func(r *publishtest.Release) {
			r.Sums = []byte(publishtest.Line(r.Files, darwin) + publishtest.Line(r.Files, linux))
		}},
		{name: "zips that say otherwise", change: func(r *publishtest.Release) {
			r.Files[linux] = packageBody("widget", "", "6.0")
			r.Files[manifest] = manifestOf("5.0")
			r.Sums = []byte(publishtest.Line(r.Files, linux) + publishtest.Line(r.Files, darwin) + publishtest.Line(r.Files, manifest))
		}, wrong: func(publishtest.Release) said {
			return said{linux: {"the release's manifest says protocols 5.0, and the terraform-registry-manifest.json in " + linux + " says 6.0: they must say the same"}}
		}},
		{name: "another key", keys: []string{"stranger"}, wrong: func(r publishtest.Release) said {
			return said{signature: {"it is by key " + r.Key.PublicKey().KeyID + ", and not by one of the author's: sign with one of those, or upload the key that signed, too"}}
		}},
		{name: "a signature of something else", keys: []string{"author"}, change: func(r *publishtest.Release) {
			r.Sums = []byte(publishtest.Line(r.Files, linux) + publishtest.Line(r.Files, darwin))
		}, wrong: func(r publishtest.Release) said {
			_, err := signing.Verify([]signing.PublicKey{r.Key.PublicKey()}, r.Sums, r.Signature)
			return said{signature: {err.Error()}}
		}},
		{name: "a signature without SHA256SUMS", keys: []string{"stranger"}, without: []string{sums}},
		{name: "SHA256SUMS without a signature", without: []string{signature}, warning: func(publishtest.Release) said {
			return said{sums: {sums + ".sig is not among the files: without the author's signature, the registry serves a SHA256SUMS and a signature of its own."}}
		}},
		{name: "no manifest", without: []string{manifest}, warning: func(publishtest.Release) said {
			return said{sums: {"it lists " + manifest + ", which is not among the files: without it, clients are told that the provider speaks protocol 5.0, unless the packages say otherwise."}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := publishtest.NewRelease(t, "acme")
			if test.change != nil {
				test.change(&r)
			}
			var checker publish.Checker
			for _, name := range test.keys {
				checker.Keys = append(checker.Keys, publishtest.NewKey(t, name).PublicKey())
			}
			files := map[string][]byte{sums: r.Sums, signature: r.Signature, linux: r.Files[linux], darwin: r.Files[darwin], manifest: r.Files[manifest]}
			for _, name := range test.without {
				delete(files, name)
			}
			files["README.md"], files["terraform-provider-widget_2.0.0_linux_amd64.zip"] = nil, publishtest.Widget("of another version")
			for name, body := range files {
				if o, err := checker.Check(t.Context(), publishtest.WidgetFolder+name, bytes.NewReader(body), int64(len(body))); err != nil || o.Status == inbox.Rejected {
					t.Fatalf("%+v, %v", o, err)
				}
			}
			got, want := said{}, said{}
			for _, o := range checker.Together() {
				got[path.Base(o.Key)] = append(o.Reasons, o.Warnings...)
				if (o.Status == inbox.Rejected) != (len(o.Reasons) > 0) || o.Subject == "" {
					t.Errorf("%+v", o)
				}
			}
			for _, of := range []func(publishtest.Release) said{test.wrong, test.warning} {
				if of != nil {
					want = of(r)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %q; want %q", got, want)
			}
		})
	}
}
