package authorkeys_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// release uploads a release of acme/widget without a key, and returns the outcome
// of its signature, which comes last.
func (w *world) release(author *openpgp.Entity, version string) inbox.Outcome {
	w.Helper()
	r := publishtest.SignedBy(w.T, author, version)
	return w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig"))
}

// A signature that ends to be valid would take the version away from everybody on
// that day, and no other signature could take its place.
func TestSignaturesWithALifetimeAreRejected(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	r := publishtest.NewReleaseOf(t, "acme", "1.0.0")
	for _, order := range [][]string{{"SHA256SUMS", "SHA256SUMS.sig"}, {"SHA256SUMS.sig", "SHA256SUMS"}} {
		var signature bytes.Buffer
		if err := openpgp.DetachSign(&signature, author, bytes.NewReader(r.Sums), &packet.Config{SigLifetimeSecs: 365 * 24 * 60 * 60}); err != nil {
			t.Fatal(err)
		}
		r.Signature = signature.Bytes()
		w.UploadFiles(r.InOrder(append([]string{"linux_amd64.zip"}, order...)...))
		if got := w.Status(r.SumsKey() + ".sig"); got != inbox.Rejected {
			t.Errorf("%q: the signature is %s", order, got)
		}
		var o inbox.Outcome
		if err := json.Unmarshal(w.Read(registry.OutcomeKey(r.SumsKey()+".sig")), &o); err != nil {
			t.Fatal(err)
		}
		w.Want(o, inbox.Rejected, "lifetime", "gpg --default-sig-expire 0")
		w.WantRegistrysOwn("1.0.0")
	}
	w.Want(w.release(author, "1.0.0"), inbox.Published)
	w.AuthorsKey("1.0.0")
}

// recordRelease has a version be served with another release, as if a publisher had
// recorded it.
func (w *world) recordRelease(s registry.ProviderVersion, release registry.Release) {
	w.Helper()
	record, err := json.Marshal(registry.Record{Kind: registry.KindRelease, Version: s.Version, Release: &release})
	if err != nil {
		w.Fatal(err)
	}
	w.Put(s.NextRecordKey(), record)
	if err := w.Recover(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// An earlier release of the registry took a signature with a lifetime in. That is
// named before the day comes, until the version is withdrawn.
func TestVerifyNamesSignaturesThatEnd(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.UploadSigned(author, "1.0.0")
	s := w.Provider("acme", "widget", "1.0.0")
	if problems, notes := w.Notes(); len(problems)+len(notes) > 0 {
		t.Fatalf("%q, %q", problems, notes)
	}
	var signature bytes.Buffer
	sums := w.Read(s.Address.SHA256SUMSKey(s.Version, *s.Release))
	if err := openpgp.DetachSign(&signature, author, bytes.NewReader(sums), &packet.Config{SigLifetimeSecs: 365 * 24 * 60 * 60}); err != nil {
		t.Fatal(err)
	}
	release := *s.Release
	release.Signature = blob.SHA256(signature.Bytes())
	w.Put(s.Address.SignatureKey(s.Version, release), signature.Bytes())
	w.recordRelease(s, release)
	_, notes := w.Notes()
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "provider acme/widget 1.0.0: ") || !strings.Contains(notes[0], "lifetime") || !strings.Contains(notes[0], "larder withdraw") {
		t.Errorf("%q", notes)
	}
	standing, err := registry.NewStanding(registry.Withdrawn, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.SetStanding(t.Context(), s.Subject(), standing); err != nil {
		t.Fatal(err)
	}
	if _, notes := w.Notes(); len(notes) > 0 {
		t.Errorf("it is withdrawn: %q", notes)
	}
}

// What a key signed before it expired stays right.
func TestVerifyKnowsThatKeysExpire(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{Time: func() time.Time { return time.Now().Add(-48 * time.Hour) }})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.UploadSigned(author, "1.0.0")
	s := w.Provider("acme", "widget", "1.0.0")
	release := *s.Release
	release.Keys = slices.Clone(release.Keys)
	release.Keys[0].ASCIIArmor = string(expiring(t, author, time.Now().Add(-time.Hour)))
	w.recordRelease(s, release)
	keys := []signing.PublicKey{{KeyID: release.Keys[0].KeyID, ASCIIArmor: release.Keys[0].ASCIIArmor}}
	sums, signature := w.Read(s.Address.SHA256SUMSKey(s.Version, release)), w.Read(s.Address.SignatureKey(s.Version, release))
	if _, err := signing.Verify(keys, sums, signature); !errors.Is(err, signing.ErrKeyExpired) {
		t.Fatalf("the key has not expired: %v", err)
	}
	if problems, _ := w.Notes(); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
}

// Of a key's forms the one that its owner signed last counts. That it has expired
// does not bring back one that has not.
func TestAnExpiredFormDoesNotBringBackAnOlderOne(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Published)
	r := publishtest.SignedBy(t, author, "1.0.0")
	// It was accepted, and expired an hour ago.
	file, err := signing.ReadKeyFile(expiring(t, author, time.Now().Add(-time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	short := file.Keys[0]
	w.Put(registry.AuthorKeyKey("acme", short.Fingerprint, strings.Repeat("0", 64)), []byte(short.ASCIIArmor))
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, short.KeyID, "expired on", "gpg --quick-set-expire")
	w.WantRegistrysOwn("1.0.0")
	w.Want(w.Upload("keys/acme/longer.asc", expiring(t, author, time.Now().AddDate(1, 0, 0))), inbox.Published)
	w.AuthorsKey("1.0.0")
}

// An expired form is taken where it ends what an older one allowed, however often
// it comes, and is rejected where it ends nothing.
func TestAnExpiredFormThatIsUploaded(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	forever, r := publishtest.Exported(t, author), publishtest.SignedBy(t, author, "1.0.0")
	expired := expiring(t, author, time.Now().Add(-time.Hour))
	w.Want(w.Upload(publishtest.AuthorFile, expired), inbox.Rejected, "expired on", "extend it")
	w.Want(w.Upload(publishtest.AuthorFile, forever), inbox.Published)
	for range 2 {
		w.Want(w.Upload(publishtest.AuthorFile, expired), inbox.Published, publishtest.FingerprintOf(author), "is not trusted for new releases until", "expired on")
	}
	w.Want(w.Upload(publishtest.AuthorFile, forever), inbox.Published) // the same bytes again
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, "expired on")
	w.WantRegistrysOwn("1.0.0")
	other := publishtest.NewAuthor(t, packet.Config{})
	expired, longer := expiring(t, other, time.Now().Add(-time.Hour)), expiring(t, other, time.Now().AddDate(1, 0, 0))
	w.Want(w.Upload("keys/labs/longer.asc", longer), inbox.Published)
	w.Want(w.Upload("keys/labs/expired.asc", expired), inbox.Rejected, "expired on", "extend it")
}

// However a revocation comes, it ends the trust in the key: for good, in every
// namespace, and for what is new.
func TestRevokedKeysAreNotTrustedAnyMore(t *testing.T) {
	for name, revoke := range map[string]func(*testing.T, *openpgp.Entity) []byte{"as a key": publishtest.Revoked, "as a certificate": publishtest.Certificate} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			author := publishtest.NewAuthor(t, packet.Config{})
			w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
			w.Upload("keys/other/author.asc", publishtest.Exported(t, author))
			key := w.UploadSigned(author, "1.0.0")
			document := w.Served(w.Provider("acme", "widget", "1.0.0"))

			file := revoke(t, author)
			for range 2 {
				outcome := w.Upload("keys/acme/revocation.asc", file)
				w.Want(outcome, inbox.Published, publishtest.FingerprintOf(author), "is revoked by its owner", "goes on being served", "another key")
				if tag := w.S3.Tags(t, outcome.Key, outcome.Version)[inbox.ReasonTag]; !strings.Contains(tag, "is revoked by its owner") {
					t.Errorf("the tag says %q", tag)
				}
			}
			w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Rejected, publishtest.FingerprintOf(author), "is revoked by its owner: sign with another key")
			w.Want(w.Upload("keys/other/again.asc", publishtest.Exported(t, author)), inbox.Rejected, "is revoked by its owner")
			w.Want(w.Upload(publishtest.AuthorFile, expiring(t, author, time.Now().AddDate(9, 0, 0))), inbox.Rejected, "is revoked by its owner")
			w.Want(w.release(author, "1.1.0"), inbox.Rejected, publishtest.FingerprintOf(author), "is revoked by its owner: sign again with another key")
			w.WantRegistrysOwn("1.1.0")
			if got := w.Status("providers/acme/widget/" + publishtest.ProviderName("widget", "1.1.0", "SHA256SUMS")); got != inbox.Pending {
				t.Errorf("SHA256SUMS is %s beside a signature that is rejected", got)
			}

			if w.AuthorsKey("1.0.0") != key || w.Served(w.Provider("acme", "widget", "1.0.0")) != document {
				t.Error("what was released has changed")
			}
			late := publishtest.SignedBy(t, author, "1.0.0")
			w.Want(w.UploadFiles(late.InOrder("darwin_arm64.zip")), inbox.Published)
			w.WantListed("acme/widget", "1.0.0 darwin_arm64 linux_amd64", "1.1.0 linux_amd64")

			next := publishtest.NewAuthor(t, packet.Config{})
			w.Want(w.Upload("keys/acme/next.asc", publishtest.Exported(t, next)), inbox.Published)
			w.UploadSigned(next, "1.1.0")
		})
	}
}

// The revocation may come before the key, or with it.
func TestRevocationsInAnyOrder(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	t.Run("the revoked key first", func(t *testing.T) {
		w, author := w.in(t), publishtest.NewAuthor(t, packet.Config{})
		w.Want(w.Upload("keys/acme/gone.asc", publishtest.Revoked(t, author)), inbox.Published, "is revoked by its owner")
		w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Rejected, "is revoked by its owner")
	})
	t.Run("the certificate first", func(t *testing.T) {
		w, author := w.in(t), publishtest.NewAuthor(t, packet.Config{})
		const waiting = "keys/acme/certificate.asc"
		w.Want(w.Upload(waiting, publishtest.Certificate(t, author)), inbox.Pending, fmt.Sprintf("%016X", author.PrimaryKey.KeyId), "keys/acme/", "gpg --armor --export")
		w.Want(w.release(author, "3.0.0"), inbox.Pending)
		w.Upload("keys/acme/stranger.asc", publishtest.Exported(t, publishtest.NewAuthor(t, packet.Config{})))
		if got := w.Status(waiting); got != inbox.Pending {
			t.Errorf("after another key the certificate is %s", got)
		}
		w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
		if got := w.Status(waiting); got != inbox.Published {
			t.Errorf("after its key the certificate is %s", got)
		}
		w.WantRegistrysOwn("3.0.0")
	})
	t.Run("both in one file", func(t *testing.T) {
		w, author := w.in(t), publishtest.NewAuthor(t, packet.Config{})
		file := slices.Concat(publishtest.Exported(t, author), []byte("\n"), publishtest.Certificate(t, author), []byte("\n"))
		w.Want(w.Upload("keys/acme/both.asc", file), inbox.Published, "is revoked by its owner")
		w.Want(w.release(author, "3.1.0"), inbox.Rejected, "is revoked by its owner")
	})
	t.Run("with a key that is not", func(t *testing.T) {
		w, author, next := w.in(t), publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{})
		file := slices.Concat(publishtest.Revoked(t, author), []byte("\n"), publishtest.Exported(t, next), []byte("\n"))
		w.Want(w.Upload("keys/acme/team.asc", file), inbox.Published, publishtest.FingerprintOf(author)+" is revoked")
		w.UploadSigned(next, "3.2.0")
	})
	t.Run("of another key", func(t *testing.T) {
		w, author, other := w.in(t), publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{})
		w.Upload("keys/acme/of-author.asc", publishtest.Exported(t, author))
		forged := *author
		if err := forged.RevokeKey(packet.KeyRetired, "", nil); err != nil {
			t.Fatal(err)
		}
		if err := forged.Revocations[0].RevokeKey(other.PrimaryKey, other.PrivateKey, &packet.Config{}); err != nil {
			t.Fatal(err)
		}
		forged.Revocations[0].IssuerKeyId, forged.Revocations[0].IssuerFingerprint = &author.PrimaryKey.KeyId, author.PrimaryKey.Fingerprint
		w.Want(w.Upload("keys/acme/forged.asc", publishtest.Exported(t, &forged)), inbox.Rejected, "the key itself has not made")
		w.UploadSigned(author, "3.3.0")
	})
	t.Run("at once", func(t *testing.T) {
		w, author := w.in(t), publishtest.NewAuthor(t, packet.Config{})
		files := map[string][]byte{"keys/acme/a.asc": publishtest.Exported(t, author), "keys/acme/b.asc": publishtest.Revoked(t, author), "keys/acme/c.asc": publishtest.Certificate(t, author), "keys/acme/d.asc": publishtest.Certificate(t, author)}
		var all sync.WaitGroup
		for key, body := range files {
			version := w.S3.Upload(t, key, body, nil)
			all.Go(func() {
				if _, err := w.Publish(t.Context(), blob.Object{Key: key, Version: version}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.Status("keys/acme/b.asc"); got != inbox.Published {
			t.Errorf("the revoked key is %s", got)
		}
		if got := w.KeysUnder(registry.UntrustedKeyPrefix(publishtest.FingerprintOf(author))); len(got) != 1 {
			t.Errorf("of its revocation there is %q", got)
		}
		if got := w.release(author, "3.4.0"); got.Status == inbox.Published {
			t.Error("the key is trusted")
		}
	})
}

// A subkey that is revoked does not come back with a form that does not know of
// it.
func TestRevokedSubkeysAreNotTrustedAnyMore(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	if err := author.AddSigningSubkey(&packet.Config{Time: func() time.Time { return publishtest.KeyMade }}); err != nil {
		t.Fatal(err)
	}
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.UploadSigned(author, "1.0.0")
	old := publishtest.SignedBy(t, author, "1.1.0") // as whoever has the subkey still signs
	subkey := &author.Subkeys[len(author.Subkeys)-1]
	if err := author.RevokeSubkey(subkey, packet.KeyCompromised, "", &packet.Config{Time: func() time.Time { return publishtest.KeyMade.Add(time.Second) }}); err != nil {
		t.Fatal(err)
	}
	w.Want(w.Upload("keys/acme/less.asc", publishtest.Exported(t, author)), inbox.Published)
	revocations := subkey.Revocations
	subkey.Revocations = nil
	w.Want(w.Upload("keys/acme/longer.asc", expiring(t, author, time.Now().AddDate(3, 0, 0))), inbox.Published)
	w.Want(w.UploadFiles(old.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Rejected, "revoked")
	w.WantRegistrysOwn("1.1.0")
	subkey.Revocations = revocations
	w.Want(w.release(author, "1.1.0"), inbox.Published) // with the primary key
	if found, notes := w.Notes(); len(found) > 0 || len(notes) != 1 || !strings.HasPrefix(notes[0], "provider acme/widget 1.0.0: It is signed by key "+publishtest.FingerprintOf(author)) || !strings.Contains(notes[0], "subkey") {
		t.Errorf("found %q, notes %q", found, notes)
	}
}

// A key is served with the revocations of subkeys from all of its forms, so all of
// them together must have room where it is kept. Others are not kept from being used.
func TestAKeyThatGrows(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author, other := publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{})
	for n := range 3 {
		if err := author.AddSigningSubkey(&packet.Config{Time: func() time.Time { return publishtest.KeyMade }}); err != nil {
			t.Fatal(err)
		}
		subkey := &author.Subkeys[len(author.Subkeys)-1]
		note := packet.Notation{Name: "note@example.com", Value: bytes.Repeat([]byte("x"), 60_000), IsHumanReadable: true}
		for range 1 + n/2 { // the last one has two
			if err := author.RevokeSubkey(subkey, packet.KeyRetired, "", &packet.Config{
				Time: func() time.Time { return publishtest.KeyMade.Add(time.Second) }, SignatureNotations: []*packet.Notation{&note}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := slices.Clone(author.Subkeys)
	var file []byte
	for n, want := range []inbox.Status{inbox.Published, inbox.Published, inbox.Rejected} {
		for i := range all {
			if author.Subkeys[i] = all[i]; i != n+1 && i > 0 {
				author.Subkeys[i].Revocations = nil
			}
		}
		file = expiring(t, author, time.Now().AddDate(1+n, 0, 0))
		o := w.Upload(fmt.Sprintf("keys/acme/%d.asc", n), file)
		w.Want(o, want)
		if want == inbox.Rejected {
			w.Want(o, want, "key "+publishtest.FingerprintOf(author)[24:], "together with what was uploaded of it before, takes", "more than the 262144 that are allowed")
		}
	}
	w.Want(w.Upload("keys/acme/other.asc", publishtest.Exported(t, other)), inbox.Published)
	w.UploadSigned(other, "1.0.0")
	author.Subkeys = nil // so it signs with its primary key
	w.UploadSigned(author, "1.1.0")
	for fingerprint, before := range map[string][]byte{publishtest.FingerprintOf(author): file, strings.Repeat("0", 40): bytes.Repeat([]byte("x"), signing.MaxKeyFile+1)} {
		w.Put(registry.AuthorKeyKey("acme", fingerprint, "before-there-was-a-limit"), before)
	}
	w.Want(w.Upload("keys/acme/again.asc", publishtest.Exported(t, other)), inbox.Published)
	w.UploadSigned(other, "1.2.0")
}

// A key whose only signing subkey is revoked signs nothing any more, also where
// nobody has seen another form of it.
func TestAKeyWhoseOnlySubkeyIsRevoked(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	for name, identity := range author.Identities {
		identity.SelfSignature.FlagSign = false
		if err := identity.SelfSignature.SignUserId(name, author.PrimaryKey, author.PrivateKey, &packet.Config{Time: func() time.Time { return publishtest.KeyMade }}); err != nil {
			t.Fatal(err)
		}
	}
	w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Rejected, "cannot sign")
	if err := author.AddSigningSubkey(&packet.Config{Time: func() time.Time { return publishtest.KeyMade }}); err != nil {
		t.Fatal(err)
	}
	before, r := publishtest.Exported(t, author), publishtest.SignedBy(t, author, "1.0.0")
	if err := author.RevokeSubkey(&author.Subkeys[len(author.Subkeys)-1], packet.KeyRetired, "", nil); err != nil {
		t.Fatal(err)
	}
	w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Published, "is not trusted for new releases until", "cannot sign")
	w.Want(w.Upload("keys/acme/before.asc", before), inbox.Published)
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, "cannot sign")
	w.WantRegistrysOwn("1.0.0")
}

// Whoever is told that the trust in a key has ended can rely on it: whichever call
// fails on the way, that is an error, and the next attempt ends the trust.
func TestEndingTrustMayFailAnywhere(t *testing.T) {
	type ending = func(w *world, author *openpgp.Entity) func(*publishtest.Parts) error
	uploaded := func(file func(*testing.T, *openpgp.Entity) []byte) ending {
		return func(w *world, author *openpgp.Entity) func(*publishtest.Parts) error {
			const key = "keys/acme/end.asc"
			object := blob.Object{Key: key, Version: w.S3.Upload(w.T, key, file(w.T, author), nil)}
			return func(p *publishtest.Parts) error {
				_, err := p.Publish(w.Context(), object)
				return err
			}
		}
	}
	for name, prepare := range map[string]ending{
		"a revoked key": uploaded(publishtest.Revoked),
		"a certificate": uploaded(publishtest.Certificate),
		"by an operator": func(w *world, author *openpgp.Entity) func(*publishtest.Parts) error {
			return func(p *publishtest.Parts) error {
				_, err := p.Keys.Distrust(w.Context(), publishtest.FingerprintOf(author))
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			author := publishtest.NewAuthor(t, packet.Config{})
			for n, hit := 1, true; hit; n++ {
				w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
				w.Want(w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author)), inbox.Published)
				f, end := &publishtest.Faults{Hits: publishtest.Nth(n)}, prepare(w, author)
				if err := end(w.Through(f)); f.Hit != errors.Is(err, publishtest.ErrFault) {
					t.Errorf("call %d, %q, fails, and it ends with %v", n, f.Calls[len(f.Calls)-1], err)
				}
				if err := end(w.Parts); err != nil {
					t.Error(err)
				}
				if got := w.KeysUnder(registry.UntrustedKeyPrefix(publishtest.FingerprintOf(author))); len(got) != 1 {
					t.Errorf("after call %d failed, of the end of the trust there is %q", n, got)
				}
				hit = f.Hit
			}
		})
	}
}

func TestDistrustKey(t *testing.T) {
	w := newWorld(t)
	author, other := publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, slices.Concat(publishtest.Exported(t, author), []byte("\n"), publishtest.Exported(t, other), []byte("\n")))
	w.Upload("keys/labs/author.asc", publishtest.Exported(t, author))
	key := w.UploadSigned(author, "1.0.0")
	pending := publishtest.SignedBy(t, author, "1.1.0")
	w.UploadFiles(pending.InOrder("linux_amd64.zip", "SHA256SUMS"))

	for fingerprint, want := range map[string]error{strings.Repeat("0", 40): registry.ErrNotFound, w.Key.PublicKey().Fingerprint: authorkeys.ErrOwnKey} {
		if changed, err := w.Keys.Distrust(t.Context(), fingerprint); changed || !errors.Is(err, want) {
			t.Errorf("DistrustKey(%s) = %v, %v; want %v", fingerprint, changed, err, want)
		}
	}
	for _, want := range []bool{true, false} {
		if changed, err := w.Keys.Distrust(t.Context(), publishtest.FingerprintOf(author)); changed != want || err != nil {
			t.Errorf("DistrustKey() = %v, %v; want %v", changed, err, want)
		}
	}
	const words = "is not trusted any more, by decision of an operator"
	w.Want(w.UploadFiles(pending.InOrder("SHA256SUMS.sig")), inbox.Rejected, publishtest.FingerprintOf(author), words)
	w.WantRegistrysOwn("1.1.0")
	w.Want(w.Upload("keys/new/author.asc", publishtest.Exported(t, author)), inbox.Rejected, words)
	if w.AuthorsKey("1.0.0") != key {
		t.Error("what was released has changed")
	}
	w.UploadSigned(other, "1.1.0")
	w.Want(w.Upload("keys/new/gone.asc", publishtest.Revoked(t, author)), inbox.Published, "is revoked")
	gone := publishtest.NewAuthor(t, packet.Config{})
	w.Upload("keys/new/gone-too.asc", publishtest.Revoked(t, gone))

	w.Put(registry.UntrustedKeyPrefix(publishtest.FingerprintOf(author))+"elsewhat.asc", nil)
	w.Put(registry.AuthorKeysPrefix("acme")+"elsewhat.asc", nil)
	all := w.authorsKeys("")
	last := authorkeys.Fact{Fingerprint: publishtest.FingerprintOf(gone), Revoked: true}
	want := []authorkeys.Fact{
		{Fingerprint: publishtest.FingerprintOf(author), Namespace: "acme"},
		{Fingerprint: publishtest.FingerprintOf(other), Namespace: "acme"},
		{Fingerprint: publishtest.FingerprintOf(author), Namespace: "labs"},
		{Fingerprint: publishtest.FingerprintOf(author), Distrusted: true},
		{Fingerprint: publishtest.FingerprintOf(author), Revoked: true},
	}
	if want[0].Fingerprint > want[1].Fingerprint {
		want[0], want[1] = want[1], want[0]
	}
	if last.Fingerprint > want[3].Fingerprint {
		want = append(want, last)
	} else {
		want = slices.Insert(want, 3, last)
	}
	for i, key := range all {
		if rest := w.authorsKeys(key.After); len(rest) != len(all)-i-1 || !slices.Equal(rest, all[i+1:]) {
			t.Errorf("after %s there are %+v", key.After, rest)
		}
		all[i].After = ""
	}
	if !slices.Equal(all, want) {
		t.Errorf("the authors' keys are %+v, want %+v", all, want)
	}
}

// authorsKeys is what is known of authors' keys after a cursor.
func (w *world) authorsKeys(after string) (all []authorkeys.Fact) {
	w.Helper()
	for key, err := range w.Keys.All(w.Context(), after) {
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, key)
	}
	return all
}

// What was released while its key was trusted is not wrong, and is named.
func TestVerifyNamesWhatKeysSignedThatAreNotTrusted(t *testing.T) {
	w := newWorld(t)
	for n, end := range []func(*openpgp.Entity){
		func(*openpgp.Entity) {},
		func(author *openpgp.Entity) { w.Upload("keys/acme/gone.asc", publishtest.Revoked(t, author)) },
		func(author *openpgp.Entity) {
			w.Upload("keys/acme/certificate.asc", publishtest.Certificate(t, author))
		},
		func(author *openpgp.Entity) {
			if _, err := w.Keys.Distrust(t.Context(), publishtest.FingerprintOf(author)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		author := publishtest.NewAuthor(t, packet.Config{})
		w.Upload(fmt.Sprintf("keys/acme/%d.asc", n), publishtest.Exported(t, author))
		w.UploadSigned(author, fmt.Sprintf("1.%d.0", n))
		end(author)
	}
	w.Upload(publishtest.PackageKey("2.0.0", "linux_amd64"), publishtest.Widget("a"))
	subjects := func() (all []string) {
		found, notes := w.Notes()
		if len(found) > 0 {
			t.Errorf("found %q", found)
		}
		for _, note := range notes {
			subject, text, _ := strings.Cut(note, ": ")
			if !strings.Contains(text, "larder withdraw") {
				t.Errorf("the note is %q", note)
			}
			all = append(all, subject)
		}
		return all
	}
	if got, want := subjects(), []string{"provider acme/widget 1.1.0", "provider acme/widget 1.2.0", "provider acme/widget 1.3.0"}; !slices.Equal(got, want) {
		t.Errorf("notes are of %q, want %q", got, want)
	}
	standing, err := registry.NewStanding(registry.Withdrawn, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.SetStanding(t.Context(), registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}, Version: publishtest.MustVersion(t, "1.2.0")}, standing); err != nil {
		t.Fatal(err)
	}
	if got, want := subjects(), []string{"provider acme/widget 1.1.0", "provider acme/widget 1.3.0"}; !slices.Equal(got, want) {
		t.Errorf("notes are of %q, want %q: one is withdrawn", got, want)
	}
	// What is said to be published is looked for.
	for _, key := range w.KeysUnder(registry.UntrustedKeysPrefix) {
		if strings.HasSuffix(key, ".asc") {
			w.S3.Delete(t, key)
		}
	}
	found, _ := w.Notes()
	if len(found) != 2 || !strings.HasPrefix(found[0], "upload keys/acme/certificate.asc: Its outcome is") || !strings.HasPrefix(found[1], "upload keys/acme/gone.asc: Its outcome is") {
		t.Errorf("found %q", found)
	}
}

// A form that cannot be read may be the one that ends trust.
func TestAKeyWithAFormThatCannotBeRead(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.Put(registry.AuthorKeyKey("acme", publishtest.FingerprintOf(author), strings.Repeat("0", 64)), []byte("of a newer larder"))
	w.Want(w.release(author, "1.0.0"), inbox.Pending, "is not under keys/acme/ yet")
	w.WantRegistrysOwn("1.0.0")
}
