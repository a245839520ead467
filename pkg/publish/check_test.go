package publish_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/signing"
)

const checkedProvider = "providers/acme/widget/terraform-provider-widget_1.0.0_"

func TestCheck(t *testing.T) {
	private := []byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n-----END PGP PRIVATE KEY BLOCK-----\n")
	for _, test := range []struct {
		name, key string
		file      []byte
		status    inbox.Status
		reasons   []string // what they say, one each
	}{
		{"a module", "modules/acme/vpc/aws/1.0.0.tar.gz", publishtest.TarOf(map[string]string{"main.tf": ""}), "", nil},
		{"a package", checkedProvider + "linux_amd64.zip", publishtest.Widget("fine"), "", nil},
		{"a SHA256SUMS", checkedProvider + "SHA256SUMS", []byte(strings.Repeat("a", 64) + "  a.zip\n"), "", nil},
		{"a manifest", checkedProvider + "manifest.json", []byte(`{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`), "", nil},
		{"documentation", checkedProvider + "docs.zip", publishtest.Docs("fine"), "", nil},
		{"a key", "keys/acme/key.asc", []byte(publishtest.NewKey(t, "author").PublicKey().ASCIIArmor), "", nil},

		{"no module", "modules/acme/vpc/aws/1.0.0.zip", []byte("PK\x03\x04"), inbox.Rejected, []string{"central directory"}},
		{"a wrong key", "modules/acme/vpc_/a-b/v1.zip", publishtest.TarOf(map[string]string{"main.tf": ""}), inbox.Rejected, []string{"acme/vpc_/a-b", "leading v"}},
		{"no package", checkedProvider + "linux_amd64.zip", []byte("PK\x03\x04"), inbox.Rejected, []string{"central directory"}},
		{"no SHA256SUMS", checkedProvider + "SHA256SUMS", []byte("zip\n"), inbox.Rejected, []string{"two spaces", "64 hexadecimal"}},
		{"no signature", checkedProvider + "SHA256SUMS.sig", []byte("signed"), inbox.Rejected, []string{""}},
		{"a large signature", checkedProvider + "SHA256SUMS.sig", make([]byte, signing.MaxSignature+1), inbox.Rejected, []string{"at most"}},
		{"no manifest", checkedProvider + "manifest.json", []byte(`{"version": 2}`), inbox.Rejected, []string{"not a registry manifest"}},
		{"no documentation", checkedProvider + "docs.zip", publishtest.Widget("fine"), inbox.Rejected, []string{"docs/"}},
		{"documentation that is too large", checkedProvider + "docs.zip", make([]byte, inbox.MaxDocs+1), inbox.Rejected, []string{"64 MiB at most"}},
		{"documentation of a mirrored provider", publishtest.Mirrored + "terraform-provider-widget_1.0.0_docs.zip", publishtest.Docs("fine"), inbox.Rejected, []string{"packages alone"}},
		{"a private key", "keys/acme/key.asc", private, inbox.Rejected, []string{"private"}},
		{"a mirror's document", publishtest.Mirrored + "1.0.0.json", []byte(`{"archives":{}}`), "", nil},
		{"a mirror's document that is none", publishtest.Mirrored + "1.0.0.json", []byte("no JSON"), inbox.Ignored, []string{"it is not the document of a version in a mirror, which is JSON with \"archives\""}},
		{"a mirror's document as large as may be", publishtest.Mirrored + "1.0.0.json", append([]byte("{}"), bytes.Repeat([]byte(" "), 1<<20-2)...), "", nil},
		{"a mirror's document that is larger", publishtest.Mirrored + "1.0.0.json", append([]byte("{}"), bytes.Repeat([]byte(" "), 1<<20-1)...), inbox.Rejected, []string{"1 MiB at most"}},
		{"nothing", "providers/acme/widget/README.md", nil, inbox.Ignored, []string{"terraform-provider-widget_"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := new(publish.Checker).Check(t.Context(), test.key, bytes.NewReader(test.file), int64(len(test.file)))
			if err != nil || got.Status != test.status || len(got.Reasons) != len(test.reasons) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, want := range test.reasons {
				if !strings.Contains(got.Reasons[i], want) {
					t.Errorf("%q does not say %q", got.Reasons[i], want)
				}
			}
			if test.status == "" && got.Subject == "" {
				t.Error("what it is is not said")
			}
		})
	}
}

// What is let in with a warning is warned of before it is uploaded, too.
func TestCheckWarns(t *testing.T) {
	const key = "modules/acme/vpc/aws/1.0.0.zip"
	file := publishtest.ZipOf(map[string]string{"main.tf": "", "terraform.tfstate": "{}"})
	got, err := new(publish.Checker).Check(t.Context(), key, bytes.NewReader(file), int64(len(file)))
	if want := (inbox.Outcome{Key: key, Subject: "module acme/vpc/aws 1.0.0", Warnings: []string{stateWarning}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// A file that cannot be read is not said to be a bad one.
func TestCheckOfUnreadableFile(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := new(publish.Checker).Check(cancelled, checkedProvider+"linux_amd64.zip", bytes.NewReader(publishtest.Widget("fine")), 10); !errors.Is(err, context.Canceled) || got.Status != "" {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	for _, key := range []string{checkedProvider + "linux_amd64.zip", checkedProvider + "docs.zip", checkedProvider + "manifest.json"} {
		if got, err := new(publish.Checker).Check(t.Context(), key, brokenFile{}, 10); !errors.Is(err, io.ErrClosedPipe) || got.Status != "" {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
}

type brokenFile struct{}

func (brokenFile) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

// Documentation need not be in the SHA256SUMS beside it. If it is, it must be the same, and it is
// warned of documentation that is listed there and does not come.
func TestCheckDocsBesideSHA256SUMS(t *testing.T) {
	const name = "terraform-provider-widget_1.0.0_docs.zip"
	const missing = "it lists " + name + ", which is not among the files: without it, the version has no documentation."
	docs := publishtest.Docs("fine")
	line := func(sha string) []byte { return []byte(sha + "  " + name + "\n") }
	for _, test := range []struct {
		name     string
		files    map[string][]byte
		rejected string // what it says of the documentation
		warned   bool   // of its absence
	}{
		{"the same", map[string][]byte{"docs.zip": docs, "SHA256SUMS": line(blob.SHA256(docs))}, "", false},
		{"another", map[string][]byte{"docs.zip": docs, "SHA256SUMS": line(strings.Repeat("0", 64))}, "lists " + name + " with another sha256", false},
		{"not listed", map[string][]byte{"docs.zip": docs, "SHA256SUMS": []byte(strings.Repeat("0", 64) + "  a.zip\n")}, "", false},
		{"listed, and not there", map[string][]byte{"SHA256SUMS": line(blob.SHA256(docs))}, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c publish.Checker
			for file, body := range test.files {
				if got, err := c.Check(t.Context(), checkedProvider+file, bytes.NewReader(body), int64(len(body))); err != nil || got.Status != "" {
					t.Fatalf("%s: %+v, %v", file, got, err)
				}
			}
			rejected, warned := "", false
			for _, o := range c.Together() {
				if o.Key == checkedProvider+"docs.zip" {
					rejected = strings.Join(o.Reasons, " ")
				}
				warned = warned || slices.Contains(o.Warnings, missing)
			}
			if (rejected == "") != (test.rejected == "") || !strings.Contains(rejected, test.rejected) || warned != test.warned {
				t.Errorf("rejected %q, warned: %v", rejected, warned)
			}
		})
	}
}
