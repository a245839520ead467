package upkeep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// listing is a catalog with another listing of providers.
type listing struct {
	publishing.Index
	all registry.Listing
}

func (l listing) Listing(ctx context.Context, a registry.Address, _ *access.Lookup) (catalog.Snapshot[*registry.Listing], error) {
	if a.Folder() == registry.Modules {
		return l.Index.Listing(ctx, a, nil)
	}
	return catalogtest.Snapshot[*registry.Listing](l.all)
}

// What is listed and cannot be served is told of.
func TestVerifyNamesWhatIsListedWithoutAPackage(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Want(w.UploadFiles([]publishtest.File{{Key: publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "manifest.json"), Body: []byte(publishtest.ManifestJSON)}}), inbox.Published)
	l, _ := registry.Listing(nil).With(registry.Listed{Version: publishtest.MustVersion(t, "1.0.0"), Revision: 1})
	found := w.Walked(w.PartsOn(w.Bucket, listing{w.Index, l}, w.Key).Verify(t.Context(), "", true))
	if want := "provider acme/widget 1.0.0: It is listed, and nothing of it can be served."; !slices.Equal(found, []string{want}) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// A certificate whose key is gone is not what its outcome says.
func TestVerifyNamesARevocationWithoutItsKey(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.Want(w.Upload("keys/acme/certificate.asc", publishtest.Certificate(t, author)), inbox.Published)
	for _, key := range w.KeysUnder(registry.AllAuthorKeysPrefix) {
		w.S3.Delete(t, key)
	}
	var of []string
	found, _ := w.Notes()
	for _, line := range found {
		subject, _, _ := strings.Cut(line, ":")
		of = append(of, subject)
	}
	if want := []string{"upload " + publishtest.AuthorFile, "upload keys/acme/certificate.asc"}; !slices.Equal(of, want) {
		t.Errorf("found %q, want one line each of %q", found, want)
	}
}

// outcome writes by hand what became of an upload.
func (w *world) outcome(o inbox.Outcome) {
	w.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		w.Fatal(err)
	}
	w.Put(registry.OutcomeKey(o.Key), data)
}

// found is what a quick verification finds wrong.
func (w *world) found(ctx context.Context) (lines []string) {
	w.Helper()
	return w.Walked(w.Verify(ctx, "", true))
}

// A file of keys that is said to be published, and of which something was not taken
// in, is told of; of one that is gone nothing can be said.
func TestVerifyNamesKeysThatWereNotTakenIn(t *testing.T) {
	author, stranger := publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{})
	gone := *author
	if err := gone.RevokeKey(packet.KeyRetired, "", nil); err != nil {
		t.Fatal(err)
	}
	var forged bytes.Buffer
	if err := gone.Revocations[0].Serialize(&forged); err != nil {
		t.Fatal(err)
	}
	forged.Bytes()[forged.Len()-1] ^= 1
	for name, test := range map[string]struct {
		file []byte
		told bool
	}{
		"a key that is held":                      {publishtest.Exported(t, author), false},
		"a key that is not":                       {publishtest.Exported(t, stranger), true},
		"one that is held, and one that is not":   {slices.Concat(publishtest.Exported(t, author), []byte("\n"), publishtest.Exported(t, stranger), []byte("\n")), true},
		"no key":                                  {[]byte("no key"), true},
		"a revoked key":                           {publishtest.Revoked(t, author), true},
		"a certificate":                           {publishtest.Certificate(t, author), true},
		"a certificate of a key that is not held": {publishtest.Certificate(t, stranger), true},
		"a forged certificate":                    {publishtest.Armored(t, openpgp.PublicKeyType, func(w io.Writer) error { _, err := w.Write(forged.Bytes()); return err }), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
			w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Published)
			const key = "keys/acme/other.asc"
			version := w.S3.Upload(t, key, test.file, nil)
			w.outcome(inbox.Outcome{Key: key, Version: version, Status: inbox.Published})
			var want []string
			if test.told {
				want = []string{"upload " + key + ": Its outcome is that it is published, and what is published is something else."}
			}
			if got := w.found(t.Context()); !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
			w.S3.Upload(t, key, test.file, nil)
			w.S3.(*blobtest.Memory).Expire(key, version)
			if got := w.found(t.Context()); len(got) != 1 || !strings.Contains(got[0], "has no outcome yet") {
				t.Errorf("once it is gone, found %q", got)
			}
		})
	}
}

// What is said to be published, and is nothing that can be, is told of.
func TestVerifyNamesOutcomesOfNothing(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	uploads, want := map[string]string{}, []string(nil)
	for _, key := range []string{publishtest.Mirrored + "1.0.0.json", "modules/acme/vpc/aws/1.0.0.zip", "modules/stray", publishtest.PackageKey("1.0.0", "linux_amd64"),
		publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "SHA256SUMS"), publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "SHA256SUMS.sig"), publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "manifest.json")} {
		uploads[key] = w.S3.Upload(t, key, []byte("x"), nil)
		want = append(want, "upload "+key+": Its outcome is that it is published, and what is published is something else.")
	}
	slices.Sort(want)
	for _, files := range [][]string{nil, {"author.asc", "linux_amd64.zip", "manifest.json", "SHA256SUMS.sig", "SHA256SUMS"}} {
		r := publishtest.NewRelease(t, "acme")
		for _, f := range r.InOrder(files...) {
			w.Upload(strings.Replace(f.Key, "/widget/", "/widget/1.0.0/", 1), f.Body)
		}
		for key, version := range uploads {
			w.outcome(inbox.Outcome{Key: key, Version: version, Status: inbox.Published, SHA256: blob.SHA256([]byte("x"))})
		}
		got := w.found(t.Context())
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("after %q: found %q, want %q", files, got, want)
		}
	}
}

// Records that cannot be read are of their version, and of no other: none counts,
// and whatever would follow on them is an error.
func TestRecordsThatCannotBeRead(t *testing.T) {
	for body, words := range map[string]string{"no JSON": "read record registry/records/providers/acme/widget/1.0.0/00000003.json: ", `{"kind":"frobnicated"}`: "newer"} {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
		w.Upload(publishtest.PackageKey("1.1.0", "linux_amd64"), publishtest.Widget("a"))
		w.Put(registry.RecordKey(registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}.LogPrefix(), 3), []byte(body))
		key := publishtest.PackageKey("1.0.0", "linux_arm64")
		if _, err := w.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, publishtest.Widget("b"), nil)}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("after %q a package ends with %v", body, err)
		}
		w.Empty()
		if got := w.Walked(w.Reindex(t.Context(), "", false)); len(got) != 2 || !strings.Contains(got[0], "1.0.0 failed: ") || !strings.Contains(got[0], words) || got[1] != "provider acme/widget 1.1.0 changed" {
			t.Errorf("after %q: reindexed %q", body, got)
		}
	}
	t.Run("however many", func(t *testing.T) {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		for n := range 12 {
			w.Put(registry.RecordKey(registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "aaa"}, Version: publishtest.MustVersion(t, fmt.Sprintf("1.%d.0", n))}.LogPrefix(), 1), []byte("no JSON"))
		}
		w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
		w.Empty()
		if err := w.Recover(t.Context()); err != nil {
			t.Error(err)
		}
		w.WantListed("acme/widget", "1.0.0 linux_amd64")
	})
	t.Run("of the first package", func(t *testing.T) {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
		w.Put(registry.RecordKey(registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}.LogPrefix(), 1), []byte("no JSON"))
		key := publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "manifest.json")
		outcome, err := w.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, []byte(publishtest.ManifestJSON), nil)})
		if err == nil || !strings.Contains(err.Error(), "read record registry/records/providers/acme/widget/1.0.0/00000001.json: ") || outcome.Status != "" {
			t.Errorf("the manifest is %q, %v", outcome.Status, err)
		}
	})
}

// restless is a catalog that others change before each of some corrections.
type restless struct {
	publishing.Index
	left, asked int
}

func (r *restless) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	if r.asked++; r.left > 0 {
		r.left--
		return catalog.ErrChanged
	}
	return r.Index.Replace(ctx, s, seen)
}

// Whoever always comes before a correction brings the version up to its records, too.
func TestAReindexGivesWayToOthers(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	for left, want := range map[int][]string{4: {"provider acme/widget 1.0.0 changed"}, 5: nil} {
		index := &restless{Index: w.NewCatalog(), left: left}
		if got := w.Walked(w.PartsOn(w.Bucket, index, w.Key).Reindex(t.Context(), "", false)); !slices.Equal(got, want) || index.asked != 5 {
			t.Errorf("others are first %d times: reindexed %q, after %d tries", left, got, index.asked)
		}
	}
}

// unsigned makes a package that is accepted, and not signed.
func (w *world) unsigned() {
	w.Helper()
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	p := w.PartsOn(w.Bucket, w.Index, publishtest.RefusingSigner{Key: w.Key})
	if _, err := p.Publish(w.Context(), blob.Object{Key: key, Version: w.S3.Upload(w.T, key, publishtest.Widget("a"), nil)}); err == nil {
		w.Fatal("a publisher that does not sign published a package")
	}
}

// A signer that is out of order is an error, and no reason to write half a version.
func TestAReindexThatCannotSign(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.unsigned()
	w.Parts = w.PartsOn(w.Bucket, w.Index, publishtest.RefusingSigner{Key: w.Key})
	if got := w.Walked(w.Reindex(t.Context(), "", false)); !slices.Equal(got, []string{"provider acme/widget 1.0.0 failed: sign SHA256SUMS: this publisher does not sign"}) {
		t.Errorf("reindexed %q", got)
	}
	if s := w.Provider("acme", "widget", "1.0.0"); s.Revision != 0 {
		t.Errorf("the catalog has %+v", s)
	}
}

// What is accepted and not signed is told of, by its platform.
func TestVerifyNamesWhatIsNotSigned(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.unsigned()
	var problems []string
	for step, err := range w.Verify(t.Context(), "records:", true) {
		if err != nil || step.Leg != "records" {
			break
		}
		problems = step.Problems
	}
	if want := []string{"The catalog does not have it.", "Its package for linux_amd64 is accepted, and not signed yet: larder reindex signs it."}; !slices.Equal(problems, want) {
		t.Errorf("it says %q, want %q", problems, want)
	}
}

// Whoever is cut off while a difference may still go away is not told of it, and
// asks for nothing more.
func TestAVerificationThatIsCutOffWhileItWaits(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}))
	w.Index = w.NewCatalog()
	ctx, cancel := context.WithCancel(t.Context())
	calls, start := 0, time.Now()
	p := w.PartsOn(w.Bucket, publishtest.FaultyIndex{Caller: publishtest.CallFunc(func(name string, do func() error) error {
		if calls++; strings.HasPrefix(name, "catalog: read the listing") {
			defer cancel()
		}
		return do()
	}), Index: w.Index}, w.Key)
	for step, err := range p.Verify(ctx, "", true) {
		if step.Leg == "records" && (!errors.Is(err, context.Canceled) || calls != 2) {
			t.Errorf("after %d calls it is told %q, %v", calls, step.Problems, err)
		}
		if step.Leg == "records" && time.Since(start) > time.Minute {
			t.Error("it waits all the same")
		}
		break
	}
}

// A release whose keys cannot be read does not verify, and that is all that is said.
func TestVerifyNamesAReleaseWithoutAReadableKey(t *testing.T) {
	author := publishtest.NewAuthor(t, packet.Config{})
	one := string(publishtest.Exported(t, author))
	two := one + "\n" + string(publishtest.Exported(t, publishtest.NewAuthor(t, packet.Config{}))) + "\n"
	for name, keys := range map[string][]registry.SigningKey{"no key": nil, "an unreadable one": {{KeyID: "0", ASCIIArmor: "x"}}, "two in one": {{KeyID: "0", ASCIIArmor: two}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
			w.Upload(publishtest.AuthorFile, []byte(one))
			w.UploadSigned(author, "1.0.0")
			if _, err := w.Keys.Distrust(t.Context(), publishtest.FingerprintOf(author)); err != nil {
				t.Fatal(err)
			}
			s := w.Provider("acme", "widget", "1.0.0")
			if s.Release == nil || !s.Release.Author {
				t.Fatalf("it is %+v", s)
			}
			log := w.KeysUnder(registry.Subject{Address: publishtest.Widgets, Version: s.Version}.LogPrefix())
			last := log[len(log)-1]
			var record registry.Record
			if err := json.Unmarshal(w.Read(last), &record); err != nil || record.Kind != registry.KindRelease {
				t.Fatalf("%s is %+v, %v", last, record, err)
			}
			record.Release.Keys = keys
			data, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			w.Put(last, data)
			w.Walked(w.Reindex(t.Context(), "", false))
			found, notes := w.Notes()
			if len(notes) > 0 || name != "two in one" && (len(found) != 1 || !strings.Contains(found[0], "The signature over its SHA256SUMS does not verify: ")) {
				t.Errorf("found %q, notes %q", found, notes)
			}
		})
	}
}

// Whoever has seen enough of the signatures is shown no more.
func TestSignaturesCanBeLeft(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Mixed()
	for range w.Signatures(t.Context(), "") {
		break
	}
}

// A listing may be long: a walk asks for it once, however many versions it has.
func TestAVerificationReadsAListingOnce(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Mixed()
	f := &publishtest.Faults{}
	if found := w.Walked(w.Through(f).Verify(t.Context(), "", true)); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	for _, address := range []string{"acme/widget", "acme/vpc/aws"} {
		asked := 0
		for _, call := range f.Calls {
			if call == "catalog: read the listing of "+address {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("the listing of %s is asked for %d times", address, asked)
		}
	}
}

// What is stored and not signed is signed by the next recovery.
func TestARecoverySignsWhatIsNot(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.unsigned()
	s := registry.ProviderVersion{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}
	var record registry.Record
	err := json.Unmarshal(w.Read(s.NextRecordKey()), &record)
	if err == nil {
		err = s.Apply(record)
	}
	if err == nil {
		err = catalogtest.Put(t.Context(), w.Index, s)
	}
	if err == nil {
		err = w.Recover(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.WantListed("acme/widget", "1.0.0 linux_amd64")
	w.Served(w.Provider("acme", "widget", "1.0.0"))
}
