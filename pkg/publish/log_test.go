package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// Whatever an operator has to know is a line of the log, once.
func TestTheLogSaysWhatHappens(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	p, logged := w.Logging(w.Index)
	author := publishtest.NewAuthor(t, packet.Config{})
	upload := func(key string, body []byte, tags map[string]string) string {
		t.Helper()
		version := w.S3.Upload(t, key, body, tags)
		if _, err := p.Publish(t.Context(), blob.Object{Key: key, Version: version, By: "ci"}); err != nil {
			t.Fatal(err)
		}
		return version
	}
	want := func(when string, lines ...string) {
		t.Helper()
		if got := logged(); !slices.Equal(got, lines) {
			t.Errorf("%s there is logged\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(lines, "\n"))
		}
	}
	line := func(level string, status inbox.Status, key, version, subject, reasons string, body []byte) string {
		return fmt.Sprintf(`level=%s msg="upload %s" key=%s version_id=%s status=%s subject=%q reasons=%s sha256=%s by=ci`, level, status, key, version, status, subject, reasons, blob.SHA256(body))
	}

	module, body := "modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""})
	version := upload(module, body, nil)
	want("once a module is published", line("INFO", inbox.Published, module, version, "module acme/vpc/aws 1.0.0", "[]", body))
	version = upload(publishtest.AuthorFile, []byte("no key"), nil)
	want("once a file is rejected", line("WARN", inbox.Rejected, publishtest.AuthorFile, version, "signing keys of acme", `"[the file holds no OpenPGP public key in armor: upload the output of gpg --armor --export]"`, []byte("no key")))

	full := map[string]string{}
	for n := range 10 {
		full[fmt.Sprint("tag", n)] = "x"
	}
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	version = upload(key, publishtest.Widget("a"), full)
	want("beside ten tags", fmt.Sprintf(`level=WARN msg="the upload has no room for the tags of its outcome" key=%s version_id=%s by=ci`, key, version),
		line("INFO", inbox.Published, key, version, "provider acme/widget 1.0.0 for linux_amd64", "[]", publishtest.Widget("a")))

	for _, to := range []registry.Standing{publishtest.Deprecate("use 2.0.0"), publishtest.Deprecate("use 2.0.0"), publishtest.Restore} {
		_, _, err := p.SetStanding(t.Context(), registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}, to)
		if _, _, errToo := p.SetStanding(t.Context(), registry.Subject{Address: publishtest.VPC, Version: publishtest.MustVersion(t, "1.0.0")}, to); err != nil || errToo != nil {
			t.Error(err, errToo)
		}
	}
	want("of standings", `level=INFO msg="version deprecated" subject="provider acme/widget 1.0.0" message="use 2.0.0"`, `level=INFO msg="version deprecated" subject="module acme/vpc/aws 1.0.0" message="use 2.0.0"`,
		`level=INFO msg="version restored" subject="provider acme/widget 1.0.0" message=""`, `level=INFO msg="version restored" subject="module acme/vpc/aws 1.0.0" message=""`)

	upload(publishtest.AuthorFile, publishtest.Exported(t, author), nil)
	logged()
	for range 2 {
		if _, err := p.Keys.Distrust(t.Context(), publishtest.FingerprintOf(author)); err != nil {
			t.Error(err)
		}
	}
	want("of a key that is distrusted twice", `level=WARN msg="an author's key is not trusted for new releases any more" fingerprint=`+publishtest.FingerprintOf(author))

	unreadable := registry.AuthorKeyKey("acme", publishtest.FingerprintOf(author), strings.Repeat("0", 64))
	w.Put(unreadable, []byte("of a newer larder"))
	upload("keys/acme/again.asc", publishtest.Exported(t, author), nil)
	if got := logged(); len(got) < 2 || !strings.HasPrefix(got[0], `level=WARN msg="an author's key cannot be used" key=`+unreadable+` reason="`) {
		t.Errorf("of a key that cannot be read there is logged %q", got)
	}
}

// Every field of an outcome is right, of every kind of upload, in what is returned
// and in the document, also in that of a file that another one completed.
func TestTheWordBackIsWhole(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	module, wrapped := publishtest.ZipOf(map[string]string{"main.tf": ""}), publishtest.ZipOf(map[string]string{"x/main.tf": ""})
	linux, manifestName := publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.ProviderName("widget", "1.0.0", "manifest.json")
	document := []byte(`{"archives":{}}`)
	missing := []string{"its SHA256SUMS.sig is not here yet; until it comes, the registry's own SHA256SUMS is served"}
	written := func(key string) (o inbox.Outcome) {
		t.Helper()
		if err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &o); err != nil {
			t.Error(err)
		}
		return o
	}
	before := time.Now().Truncate(time.Second)
	same := func(got, want inbox.Outcome) bool {
		timely := !got.Time.Before(before) && !got.Time.After(time.Now()) && got.Time.Equal(got.Time.Truncate(time.Second))
		got.Time = time.Time{}
		return timely && reflect.DeepEqual(got, want)
	}
	var sums inbox.Outcome
	for n, test := range []struct {
		key     string
		body    []byte
		status  inbox.Status
		subject string
		reasons []string
	}{
		{publishtest.AuthorFile, r.Uploads()[publishtest.AuthorFile], inbox.Published, "signing keys of acme", nil},
		{publishtest.WidgetFolder + linux, r.Files[linux], inbox.Published, "provider acme/widget 1.0.0 for linux_amd64", nil},
		{publishtest.WidgetFolder + manifestName, r.Files[manifestName], inbox.Published, "manifest of provider acme/widget 1.0.0", nil},
		{r.SumsKey(), r.Sums, inbox.Pending, "SHA256SUMS of provider acme/widget 1.0.0", missing},
		{r.SumsKey() + ".sig", r.Signature, inbox.Published, "signature of provider acme/widget 1.0.0", nil},
		{"modules/acme/vpc/aws/1.0.0.zip", module, inbox.Published, "module acme/vpc/aws 1.0.0", nil},
		{"modules/acme/vpc/aws/1.1.0.zip", wrapped, inbox.Published, "module acme/vpc/aws 1.1.0", nil},
		{publishtest.Mirrored + "1.0.0.json", document, inbox.Ignored, "mirror document of provider registry.terraform.io/acme/widget 1.0.0", []string{"a mirror's documents follow from its packages"}},
		{publishtest.Mirrored + linux, publishtest.Widget("a"), inbox.Published, "provider registry.terraform.io/acme/widget 1.0.0 for linux_amd64", nil},
	} {
		want := inbox.Outcome{Key: test.key, Version: w.S3.Upload(t, test.key, test.body, nil), Status: test.status, Subject: test.subject, Reasons: test.reasons, SHA256: blob.SHA256(test.body), By: fmt.Sprint("uploader ", n)}
		got, err := w.Publish(t.Context(), blob.Object{Key: test.key, Version: want.Version, By: want.By})
		if err != nil || !same(got, want) {
			t.Errorf("%s: the outcome is %+v, %v, want %+v", test.key, got, err, want)
		}
		if got := written(test.key); !same(got, want) {
			t.Errorf("%s: the document is %+v, want %+v", test.key, got, want)
		}
		if test.key == r.SumsKey() {
			sums = want
		}
	}
	sums.Status, sums.Reasons = inbox.Published, nil
	if got := written(r.SumsKey()); !same(got, sums) {
		t.Errorf("once the signature is here, the document of SHA256SUMS is %+v, want %+v", got, sums)
	}
	if stray, err := w.Publish(t.Context(), blob.Object{Key: "x", Version: w.S3.Upload(t, "x", nil, nil)}); err != nil || stray.Subject != "" || stray.SHA256 != "" {
		t.Errorf("a stray file's outcome is %+v, %v", stray, err)
	}
	if _, err := w.Publish(t.Context(), blob.Object{Key: registry.RecordsPrefix + "x"}); err == nil || !strings.Contains(err.Error(), "is the registry's own, not an upload") {
		t.Errorf("what is the registry's own: %v", err)
	}
}

// A publisher may die when a release is served, and its other file is not told yet:
// that is made up for when the event comes again.
func TestTheWordBackToTheOtherFileIsMadeUpFor(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	signature := r.SumsKey() + ".sig"
	w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS.sig")), inbox.Pending)
	object := blob.Object{Key: r.SumsKey(), Version: w.S3.Upload(t, r.SumsKey(), r.Sums, nil)}
	f := &publishtest.Faults{Hits: publishtest.Point{Name: "put " + registry.OutcomeKey(signature), Number: 1}.Hits, Kind: publishtest.Killed}
	if _, err := w.Through(f).Publish(t.Context(), object); !errors.Is(err, publishtest.ErrFault) {
		t.Fatal(err)
	}
	w.Want(w.Deliver(object.Key, object.Version), inbox.Published)
	var told inbox.Outcome
	if err := json.Unmarshal(w.Read(registry.OutcomeKey(signature)), &told); err != nil || told.Status != inbox.Published {
		t.Errorf("the signature is told %+v, %v", told, err)
	}
}

// Who uploaded an object version is told of that version alone: the last who was
// named with it, also where nobody is named when it is reported again.
func TestTheWordBackNamesTheUploaderOfItsVersion(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	first, second := w.S3.Upload(t, key, publishtest.Widget("a"), nil), w.S3.Upload(t, key, publishtest.Widget("a"), nil)
	for _, step := range []struct{ version, by, want string }{
		{first, "one", "one"}, {first, "", "one"}, {first, "two", "two"}, {second, "", ""}, {second, "three", "three"},
	} {
		if _, err := w.Publish(t.Context(), blob.Object{Key: key, Version: step.version, By: step.by}); err != nil {
			t.Fatal(err)
		}
		var written inbox.Outcome
		if err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &written); err != nil || written.By != step.want || written.Version != step.version {
			t.Errorf("%+v: the document is %+v, %v", step, written, err)
		}
	}
}
