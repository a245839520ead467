package publish_test

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
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// What is damaged, or written by hand, is named and stands in nobody's way.

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
		if got := w.Walked(w.Reindex(t.Context(), "")); len(got) != 2 || !strings.Contains(got[0], "1.0.0 failed: ") || !strings.Contains(got[0], words) || got[1] != "provider acme/widget 1.1.0 changed" {
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
		outcome, err := w.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, manifest("6.0"), nil)})
		if err == nil || !strings.Contains(err.Error(), "read record registry/records/providers/acme/widget/1.0.0/00000001.json: ") || outcome.Status != "" {
			t.Errorf("the manifest is %q, %v", outcome.Status, err)
		}
	})
}

// Where others are always first, a publisher gives up, for the event to come again.
func TestARecordIsNotTriedForEver(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	tries := 0
	p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
		if strings.HasPrefix(name, "create "+registry.RecordsPrefix) {
			tries++
			return blob.ErrExists
		}
		return do()
	}))
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	_, err := p.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, publishtest.Widget("a"), nil)})
	if err == nil || !strings.Contains(err.Error(), "00000001.json: others were first 1000 times") || tries != 1000 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// restless is a catalog that others change before each of some corrections.
type restless struct {
	catalog.Index
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
		if got := w.Walked(w.PartsOn(w.Bucket, index, w.Key).Reindex(t.Context(), "")); !slices.Equal(got, want) || index.asked != 5 {
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
	if got := w.Walked(w.Reindex(t.Context(), "")); !slices.Equal(got, []string{"provider acme/widget 1.0.0 failed: sign SHA256SUMS: this publisher does not sign"}) {
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
			w.Walked(w.Reindex(t.Context(), ""))
			found, notes := w.Notes()
			if len(notes) > 0 || name != "two in one" && (len(found) != 1 || !strings.Contains(found[0], "The signature over its SHA256SUMS does not verify: ")) {
				t.Errorf("found %q, notes %q", found, notes)
			}
		})
	}
}

// A key of the registry's own that cannot be read is an error, and says which.
func TestAnOwnKeyThatCannotBeRead(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Put(registry.OwnKeyKey("F0"), []byte("no key"))
	if keys, err := w.OwnKeys(t.Context()); err == nil || !strings.Contains(err.Error(), "read the key "+registry.OwnKeyKey("F0")+": ") || keys != nil {
		t.Errorf("the registry's own keys are %v, %v", keys, err)
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

// A document beside a mirrored package that is none says nothing of it.
func TestAMirrorDocumentThatIsNoneSaysNothing(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for version, document := range map[string][]byte{"1.0.0": []byte("no JSON"), "1.1.0": bytes.Repeat([]byte(" "), 1<<20+1)} {
		w.Upload(publishtest.Mirrored+version+".json", document)
		w.Want(w.Upload(publishtest.Mirrored+publishtest.ProviderName("widget", version, "linux_amd64.zip"), publishtest.Widget("a")), inbox.Published)
	}
}

// An archive that cannot be unwrapped is tried again.
func TestAllOrNothingAModuleThatIsCutOff(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for _, name := range []string{"1.0.0.zip", "1.0.0.tar.gz"} {
		key, body := "modules/acme/vpc/aws/"+name, publishtest.ZipOf(map[string]string{"x/main.tf": ""})
		if strings.HasSuffix(name, ".tar.gz") {
			body = publishtest.TarOf(map[string]string{"x/main.tf": ""})
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
			if strings.HasPrefix(name, "catalog: read the listing") {
				defer cancel()
			}
			return do()
		}))
		_, err := p.Publish(ctx, blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "unwrap: ") || len(w.KeysUnder(registry.Prefix)) > 0 {
			t.Errorf("%s: %v, and there is %q", name, err, w.KeysUnder(registry.Prefix))
		}
	}
}

// What an earlier try has stored is not stored again, unless it is something else.
func TestWhatIsStoredAlreadyIsKept(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for key, body := range map[string][]byte{publishtest.PackageKey("1.0.0", "linux_amd64"): publishtest.Widget("a"), "modules/acme/vpc/aws/1.0.0.zip": publishtest.ZipOf(map[string]string{"main.tf": ""})} {
		object := blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)}
		try := func() (copied string) {
			p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
				if to, ok := strings.CutPrefix(name, "copy to "); ok {
					copied = to
				}
				if strings.HasPrefix(name, "create "+registry.RecordsPrefix) {
					return publishtest.ErrFault
				}
				return do()
			}))
			if _, err := p.Publish(t.Context(), object); !errors.Is(err, publishtest.ErrFault) {
				t.Errorf("%s: %v", key, err)
			}
			return copied
		}
		stored := try()
		if again := try(); stored == "" || again != "" {
			t.Errorf("%s is copied to %q, and again to %q", key, stored, again)
		}
		w.Put(stored, []byte("something else"))
		if again := try(); again != stored || !bytes.Equal(w.Read(stored), body) {
			t.Errorf("%s is copied to %q, and again to %q", key, stored, again)
		}
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

// No key that the registry has ever signed with is an author's.
func TestDistrustOfAFormerOwnKey(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.Put(registry.OwnKeyKey(publishtest.FingerprintOf(author)), publishtest.Exported(t, author))
	if changed, err := w.Keys.Distrust(t.Context(), publishtest.FingerprintOf(author)); changed || !errors.Is(err, authorkeys.ErrOwnKey) {
		t.Errorf("DistrustKey() = %v, %v", changed, err)
	}
	if got := w.KeysUnder(registry.UntrustedKeysPrefix); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}

// Nobody signs what is mirrored: a name that has no room in a SHA256SUMS is in no
// other package's way.
func TestWhatIsMirroredNeedNotBeSignable(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	a := registry.ProviderAddress{Hostname: "example.com", Namespace: "acme", Type: strings.Repeat("w", 64)}
	v := publishtest.MustVersion(t, "1.0.0-"+strings.Repeat("x", 100))
	pkg := registry.Package{Platform: registry.Platform{OS: strings.Repeat("o", 32), Arch: strings.Repeat("a", 32)}, SHA256: blob.SHA256(nil), H1: "h1:x"}
	record, err := json.Marshal(registry.Record{Kind: registry.KindPackage, Version: v, Time: time.Now(), Package: &pkg})
	if err != nil {
		t.Fatal(err)
	}
	w.Put(registry.RecordKey(registry.Subject{Address: a, Version: v}.LogPrefix(), 1), record)
	linux := registry.Platform{OS: "linux", Arch: "amd64"}
	w.Want(w.Upload(a.UploadKey(a.PackageFilename(v, linux)), publishtest.ZipOf(map[string]string{"terraform-provider-" + a.Type: "x"})), inbox.Published)
}

// A manifest that agrees with a package is not all that the package is judged by.
func TestAPackageBesideAManifestIsJudgedByAll(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	w.Want(w.UploadFiles(r.InOrder("author.asc", "linux_amd64.zip", "manifest.json", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "windows_amd64"), publishtest.Widget("a")), inbox.Rejected, "the author's SHA256SUMS does not list "+publishtest.ProviderName("widget", "1.0.0", "windows_amd64.zip"))
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
