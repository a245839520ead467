package publish_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

const authorFile = "keys/acme/author.asc"

// exported is an author's key as gpg --armor --export writes it.
func exported(t *testing.T, author *openpgp.Entity) []byte {
	t.Helper()
	return armored(t, openpgp.PublicKeyType, author.Serialize)
}

// revoked is an author's key after its owner has revoked it.
func revoked(t *testing.T, author *openpgp.Entity) []byte {
	t.Helper()
	gone := *author
	if err := gone.RevokeKey(packet.KeyRetired, "", nil); err != nil {
		t.Fatal(err)
	}
	return exported(t, &gone)
}

// certificate is a revocation without the key, as gpg --gen-revoke writes it.
func certificate(t *testing.T, author *openpgp.Entity) []byte {
	t.Helper()
	gone := *author
	if err := gone.RevokeKey(packet.KeyCompromised, "stolen", nil); err != nil {
		t.Fatal(err)
	}
	return armored(t, openpgp.PublicKeyType, func(w io.Writer) error { return gone.Revocations[0].Serialize(w) })
}

func fingerprintOf(author *openpgp.Entity) string {
	return fmt.Sprintf("%X", author.PrimaryKey.Fingerprint)
}

// release uploads a release of acme/widget without a key, and returns the outcome
// of its signature, which comes last.
func (w *world) release(author *openpgp.Entity, version string) inbox.Outcome {
	w.Helper()
	r := signedBy(w.T, author, version)
	return w.uploadFiles(r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig"))
}

// wantRegistrysOwn wants a version to be served with the registry's signature.
func (w *world) wantRegistrysOwn(version string) {
	w.Helper()
	if s := w.provider("acme", "widget", version); s.Release == nil || s.Release.Author || s.Release.Keys[0].KeyID != w.key.PublicKey().KeyID {
		w.Errorf("%s is served with %+v, want the registry's own signature", version, s.Release)
	}
}

// A signature that ends to be valid would take the version away from everybody on
// that day, and no other signature could take its place.
func TestSignaturesWithALifetimeAreRejected(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	w.upload(authorFile, exported(t, author))
	r := newReleaseOf(t, "acme", "1.0.0")
	for _, order := range [][]string{{"SHA256SUMS", "SHA256SUMS.sig"}, {"SHA256SUMS.sig", "SHA256SUMS"}} {
		var signature bytes.Buffer
		if err := openpgp.DetachSign(&signature, author, bytes.NewReader(r.sums), &packet.Config{SigLifetimeSecs: 365 * 24 * 60 * 60}); err != nil {
			t.Fatal(err)
		}
		r.signature = signature.Bytes()
		w.uploadFiles(r.inOrder(append([]string{"linux_amd64.zip"}, order...)...))
		if got := w.status(r.sumsKey() + ".sig"); got != inbox.Rejected {
			t.Errorf("%q: the signature is %s", order, got)
		}
		var o inbox.Outcome
		if err := json.Unmarshal(w.read(registry.OutcomeKey(r.sumsKey()+".sig")), &o); err != nil {
			t.Fatal(err)
		}
		w.want(o, inbox.Rejected, "lifetime", "gpg --default-sig-expire 0")
		w.wantRegistrysOwn("1.0.0")
	}
	w.want(w.release(author, "1.0.0"), inbox.Published)
	w.authorsKey("1.0.0")
}

// recordRelease has a version be served with another release, as if a publisher had
// recorded it.
func (w *world) recordRelease(s registry.ProviderVersion, release registry.Release) {
	w.Helper()
	record, err := json.Marshal(registry.Record{Kind: registry.KindRelease, Version: s.Version, Release: &release})
	if err != nil {
		w.Fatal(err)
	}
	w.put(s.NextRecordKey(), record)
	if err := w.Recover(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// An earlier release of the registry took a signature with a lifetime in. That is
// named before the day comes, until the version is withdrawn.
func TestVerifyNamesSignaturesThatEnd(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	w.upload(authorFile, exported(t, author))
	w.uploadSigned(author, "1.0.0")
	s := w.provider("acme", "widget", "1.0.0")
	if problems, notes := w.notes(); len(problems)+len(notes) > 0 {
		t.Fatalf("%q, %q", problems, notes)
	}
	var signature bytes.Buffer
	sums := w.read(s.Address.SHA256SUMSKey(s.Version, *s.Release))
	if err := openpgp.DetachSign(&signature, author, bytes.NewReader(sums), &packet.Config{SigLifetimeSecs: 365 * 24 * 60 * 60}); err != nil {
		t.Fatal(err)
	}
	release := *s.Release
	release.Signature = shaOf(signature.Bytes())
	w.put(s.Address.SignatureKey(s.Version, release), signature.Bytes())
	w.recordRelease(s, release)
	_, notes := w.notes()
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
	if _, notes := w.notes(); len(notes) > 0 {
		t.Errorf("it is withdrawn: %q", notes)
	}
}

// What a key signed before it expired stays right.
func TestVerifyKnowsThatKeysExpire(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{Time: func() time.Time { return time.Now().Add(-48 * time.Hour) }})
	w.upload(authorFile, exported(t, author))
	w.uploadSigned(author, "1.0.0")
	s := w.provider("acme", "widget", "1.0.0")
	release := *s.Release
	release.Keys = slices.Clone(release.Keys)
	release.Keys[0].ASCIIArmor = string(expiring(t, author, time.Now().Add(-time.Hour)))
	w.recordRelease(s, release)
	keys := []signing.PublicKey{{KeyID: release.Keys[0].KeyID, ASCIIArmor: release.Keys[0].ASCIIArmor}}
	sums, signature := w.read(s.Address.SHA256SUMSKey(s.Version, release)), w.read(s.Address.SignatureKey(s.Version, release))
	if _, err := signing.Verify(keys, sums, signature); !errors.Is(err, signing.ErrKeyExpired) {
		t.Fatalf("the key has not expired: %v", err)
	}
	if problems, _ := w.notes(); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
}

// Of a key's forms the one that its owner signed last counts. That it has expired
// does not bring back one that has not.
func TestAnExpiredFormDoesNotBringBackAnOlderOne(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	w.want(w.upload(authorFile, exported(t, author)), inbox.Published)
	r := signedBy(t, author, "1.0.0")
	// It was accepted, and expired an hour ago.
	file, err := signing.ReadKeyFile(expiring(t, author, time.Now().Add(-time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	short := file.Keys[0]
	w.put(registry.AuthorKeyKey("acme", short.Fingerprint, strings.Repeat("0", 64)), []byte(short.ASCIIArmor))
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, short.KeyID, "expired on", "gpg --quick-set-expire")
	w.wantRegistrysOwn("1.0.0")
	w.want(w.upload("keys/acme/longer.asc", expiring(t, author, time.Now().AddDate(1, 0, 0))), inbox.Published)
	w.authorsKey("1.0.0")
}

// An expired form is taken where it ends what an older one allowed, however often
// it comes, and is rejected where it ends nothing.
func TestAnExpiredFormThatIsUploaded(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	forever, r := exported(t, author), signedBy(t, author, "1.0.0")
	expired := expiring(t, author, time.Now().Add(-time.Hour))
	w.want(w.upload(authorFile, expired), inbox.Rejected, "expired on", "extend it")
	w.want(w.upload(authorFile, forever), inbox.Published)
	for range 2 {
		w.want(w.upload(authorFile, expired), inbox.Published, fingerprintOf(author), "is not trusted for new releases until", "expired on")
	}
	w.want(w.upload(authorFile, forever), inbox.Published) // the same bytes again
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, "expired on")
	w.wantRegistrysOwn("1.0.0")
	other := newAuthor(t, packet.Config{})
	expired, longer := expiring(t, other, time.Now().Add(-time.Hour)), expiring(t, other, time.Now().AddDate(1, 0, 0))
	w.want(w.upload("keys/labs/longer.asc", longer), inbox.Published)
	w.want(w.upload("keys/labs/expired.asc", expired), inbox.Rejected, "expired on", "extend it")
}

// However a revocation comes, it ends the trust in the key: for good, in every
// namespace, and for what is new.
func TestRevokedKeysAreNotTrustedAnyMore(t *testing.T) {
	for name, revoke := range map[string]func(*testing.T, *openpgp.Entity) []byte{"as a key": revoked, "as a certificate": certificate} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			author := newAuthor(t, packet.Config{})
			w.upload(authorFile, exported(t, author))
			w.upload("keys/other/author.asc", exported(t, author))
			key := w.uploadSigned(author, "1.0.0")
			document := w.served(w.provider("acme", "widget", "1.0.0"))

			file := revoke(t, author)
			for range 2 {
				outcome := w.upload("keys/acme/revocation.asc", file)
				w.want(outcome, inbox.Published, fingerprintOf(author), "is revoked by its owner", "goes on being served", "another key")
				if tag := w.s3.Tags(t, outcome.Key, outcome.Version)[inbox.ReasonTag]; !strings.Contains(tag, "is revoked by its owner") {
					t.Errorf("the tag says %q", tag)
				}
			}
			w.want(w.upload(authorFile, exported(t, author)), inbox.Rejected, fingerprintOf(author), "is revoked by its owner: sign with another key")
			w.want(w.upload("keys/other/again.asc", exported(t, author)), inbox.Rejected, "is revoked by its owner")
			w.want(w.upload(authorFile, expiring(t, author, time.Now().AddDate(9, 0, 0))), inbox.Rejected, "is revoked by its owner")
			w.want(w.release(author, "1.1.0"), inbox.Rejected, fingerprintOf(author), "is revoked by its owner: sign again with another key")
			w.wantRegistrysOwn("1.1.0")
			if got := w.status("providers/acme/widget/" + providerName("widget", "1.1.0", "SHA256SUMS")); got != inbox.Pending {
				t.Errorf("SHA256SUMS is %s beside a signature that is rejected", got)
			}

			if w.authorsKey("1.0.0") != key || w.served(w.provider("acme", "widget", "1.0.0")) != document {
				t.Error("what was released has changed")
			}
			late := signedBy(t, author, "1.0.0")
			w.want(w.uploadFiles(late.inOrder("darwin_arm64.zip")), inbox.Published)
			w.wantListed("acme/widget", "1.0.0 darwin_arm64 linux_amd64", "1.1.0 linux_amd64")

			next := newAuthor(t, packet.Config{})
			w.want(w.upload("keys/acme/next.asc", exported(t, next)), inbox.Published)
			w.uploadSigned(next, "1.1.0")
		})
	}
}

// The revocation may come before the key, or with it.
func TestRevocationsInAnyOrder(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	t.Run("the revoked key first", func(t *testing.T) {
		w, author := w.in(t), newAuthor(t, packet.Config{})
		w.want(w.upload("keys/acme/gone.asc", revoked(t, author)), inbox.Published, "is revoked by its owner")
		w.want(w.upload(authorFile, exported(t, author)), inbox.Rejected, "is revoked by its owner")
	})
	t.Run("the certificate first", func(t *testing.T) {
		w, author := w.in(t), newAuthor(t, packet.Config{})
		const waiting = "keys/acme/certificate.asc"
		w.want(w.upload(waiting, certificate(t, author)), inbox.Pending, fmt.Sprintf("%016X", author.PrimaryKey.KeyId), "keys/acme/", "gpg --armor --export")
		w.want(w.release(author, "3.0.0"), inbox.Pending)
		w.upload("keys/acme/stranger.asc", exported(t, newAuthor(t, packet.Config{})))
		if got := w.status(waiting); got != inbox.Pending {
			t.Errorf("after another key the certificate is %s", got)
		}
		w.upload(authorFile, exported(t, author))
		if got := w.status(waiting); got != inbox.Published {
			t.Errorf("after its key the certificate is %s", got)
		}
		w.wantRegistrysOwn("3.0.0")
	})
	t.Run("both in one file", func(t *testing.T) {
		w, author := w.in(t), newAuthor(t, packet.Config{})
		file := slices.Concat(exported(t, author), []byte("\n"), certificate(t, author), []byte("\n"))
		w.want(w.upload("keys/acme/both.asc", file), inbox.Published, "is revoked by its owner")
		w.want(w.release(author, "3.1.0"), inbox.Rejected, "is revoked by its owner")
	})
	t.Run("with a key that is not", func(t *testing.T) {
		w, author, next := w.in(t), newAuthor(t, packet.Config{}), newAuthor(t, packet.Config{})
		file := slices.Concat(revoked(t, author), []byte("\n"), exported(t, next), []byte("\n"))
		w.want(w.upload("keys/acme/team.asc", file), inbox.Published, fingerprintOf(author)+" is revoked")
		w.uploadSigned(next, "3.2.0")
	})
	t.Run("of another key", func(t *testing.T) {
		w, author, other := w.in(t), newAuthor(t, packet.Config{}), newAuthor(t, packet.Config{})
		w.upload("keys/acme/of-author.asc", exported(t, author))
		forged := *author
		if err := forged.RevokeKey(packet.KeyRetired, "", nil); err != nil {
			t.Fatal(err)
		}
		if err := forged.Revocations[0].RevokeKey(other.PrimaryKey, other.PrivateKey, &packet.Config{}); err != nil {
			t.Fatal(err)
		}
		forged.Revocations[0].IssuerKeyId, forged.Revocations[0].IssuerFingerprint = &author.PrimaryKey.KeyId, author.PrimaryKey.Fingerprint
		w.want(w.upload("keys/acme/forged.asc", exported(t, &forged)), inbox.Rejected, "the key itself has not made")
		w.uploadSigned(author, "3.3.0")
	})
	t.Run("at once", func(t *testing.T) {
		w, author := w.in(t), newAuthor(t, packet.Config{})
		files := map[string][]byte{"keys/acme/a.asc": exported(t, author), "keys/acme/b.asc": revoked(t, author), "keys/acme/c.asc": certificate(t, author), "keys/acme/d.asc": certificate(t, author)}
		var all sync.WaitGroup
		for key, body := range files {
			version := w.s3.Upload(t, key, body, nil)
			all.Go(func() {
				if _, err := w.Publish(t.Context(), blob.Object{Key: key, Version: version}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.status("keys/acme/b.asc"); got != inbox.Published {
			t.Errorf("the revoked key is %s", got)
		}
		if got := w.keysUnder(registry.UntrustedKeyPrefix(fingerprintOf(author))); len(got) != 1 {
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
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	if err := author.AddSigningSubkey(&packet.Config{Time: func() time.Time { return keyMade }}); err != nil {
		t.Fatal(err)
	}
	w.upload(authorFile, exported(t, author))
	w.uploadSigned(author, "1.0.0")
	old := signedBy(t, author, "1.1.0") // as whoever has the subkey still signs
	subkey := &author.Subkeys[len(author.Subkeys)-1]
	if err := author.RevokeSubkey(subkey, packet.KeyCompromised, "", &packet.Config{Time: func() time.Time { return keyMade.Add(time.Second) }}); err != nil {
		t.Fatal(err)
	}
	w.want(w.upload("keys/acme/less.asc", exported(t, author)), inbox.Published)
	revocations := subkey.Revocations
	subkey.Revocations = nil
	w.want(w.upload("keys/acme/longer.asc", expiring(t, author, time.Now().AddDate(3, 0, 0))), inbox.Published)
	w.want(w.uploadFiles(old.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Rejected, "revoked")
	w.wantRegistrysOwn("1.1.0")
	subkey.Revocations = revocations
	w.want(w.release(author, "1.1.0"), inbox.Published) // with the primary key
	if found, notes := w.notes(); len(found) > 0 || len(notes) != 1 || !strings.HasPrefix(notes[0], "provider acme/widget 1.0.0: It is signed by key "+fingerprintOf(author)) || !strings.Contains(notes[0], "subkey") {
		t.Errorf("found %q, notes %q", found, notes)
	}
}

// A key is served with the revocations of subkeys from all of its forms, so all of
// them together must have room where it is kept. Others are not kept from being used.
func TestAKeyThatGrows(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author, other := newAuthor(t, packet.Config{}), newAuthor(t, packet.Config{})
	for n := range 3 {
		if err := author.AddSigningSubkey(&packet.Config{Time: func() time.Time { return keyMade }}); err != nil {
			t.Fatal(err)
		}
		subkey := &author.Subkeys[len(author.Subkeys)-1]
		note := packet.Notation{Name: "note@example.com", Value: bytes.Repeat([]byte("x"), 60_000), IsHumanReadable: true}
		for range 1 + n/2 { // the last one has two
			if err := author.RevokeSubkey(subkey, packet.KeyRetired, "", &packet.Config{
				Time: func() time.Time { return keyMade.Add(time.Second) }, SignatureNotations: []*packet.Notation{&note}}); err != nil {
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
		o := w.upload(fmt.Sprintf("keys/acme/%d.asc", n), file)
		w.want(o, want)
		if want == inbox.Rejected {
			w.want(o, want, "key "+fingerprintOf(author)[24:], "together with what was uploaded of it before, takes", "more than the 262144 that are allowed")
		}
	}
	w.want(w.upload("keys/acme/other.asc", exported(t, other)), inbox.Published)
	w.uploadSigned(other, "1.0.0")
	author.Subkeys = nil // so it signs with its primary key
	w.uploadSigned(author, "1.1.0")
	for fingerprint, before := range map[string][]byte{fingerprintOf(author): file, strings.Repeat("0", 40): bytes.Repeat([]byte("x"), signing.MaxKeyFile+1)} {
		w.put(registry.AuthorKeyKey("acme", fingerprint, "before-there-was-a-limit"), before)
	}
	w.want(w.upload("keys/acme/again.asc", exported(t, other)), inbox.Published)
	w.uploadSigned(other, "1.2.0")
}

// A key whose only signing subkey is revoked signs nothing any more, also where
// nobody has seen another form of it.
func TestAKeyWhoseOnlySubkeyIsRevoked(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	for name, identity := range author.Identities {
		identity.SelfSignature.FlagSign = false
		if err := identity.SelfSignature.SignUserId(name, author.PrimaryKey, author.PrivateKey, &packet.Config{Time: func() time.Time { return keyMade }}); err != nil {
			t.Fatal(err)
		}
	}
	w.want(w.upload(authorFile, exported(t, author)), inbox.Rejected, "cannot sign")
	if err := author.AddSigningSubkey(&packet.Config{Time: func() time.Time { return keyMade }}); err != nil {
		t.Fatal(err)
	}
	before, r := exported(t, author), signedBy(t, author, "1.0.0")
	if err := author.RevokeSubkey(&author.Subkeys[len(author.Subkeys)-1], packet.KeyRetired, "", nil); err != nil {
		t.Fatal(err)
	}
	w.want(w.upload(authorFile, exported(t, author)), inbox.Published, "is not trusted for new releases until", "cannot sign")
	w.want(w.upload("keys/acme/before.asc", before), inbox.Published)
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, "cannot sign")
	w.wantRegistrysOwn("1.0.0")
}

// Whoever is told that the trust in a key has ended can rely on it: whichever call
// fails on the way, that is an error, and the next attempt ends the trust.
func TestEndingTrustMayFailAnywhere(t *testing.T) {
	type ending = func(w *world, author *openpgp.Entity) func(*parts) error
	uploaded := func(file func(*testing.T, *openpgp.Entity) []byte) ending {
		return func(w *world, author *openpgp.Entity) func(*parts) error {
			const key = "keys/acme/end.asc"
			object := blob.Object{Key: key, Version: w.s3.Upload(w.T, key, file(w.T, author), nil)}
			return func(p *parts) error {
				_, err := p.Publish(w.Context(), object)
				return err
			}
		}
	}
	for name, prepare := range map[string]ending{
		"a revoked key": uploaded(revoked),
		"a certificate": uploaded(certificate),
		"by an operator": func(w *world, author *openpgp.Entity) func(*parts) error {
			return func(p *parts) error {
				_, err := p.Keys.Distrust(w.Context(), fingerprintOf(author))
				return err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			author := newAuthor(t, packet.Config{})
			for n, hit := 1, true; hit; n++ {
				w := newWorldOn(t, inMemory, onBolt)
				w.want(w.upload(authorFile, exported(t, author)), inbox.Published)
				f, end := &faults{hits: nth(n)}, prepare(w, author)
				if err := end(w.through(f)); f.hit != errors.Is(err, errFault) {
					t.Errorf("call %d, %q, fails, and it ends with %v", n, f.calls[len(f.calls)-1], err)
				}
				if err := end(w.parts); err != nil {
					t.Error(err)
				}
				if got := w.keysUnder(registry.UntrustedKeyPrefix(fingerprintOf(author))); len(got) != 1 {
					t.Errorf("after call %d failed, of the end of the trust there is %q", n, got)
				}
				hit = f.hit
			}
		})
	}
}

func TestDistrustKey(t *testing.T) {
	w := newWorld(t)
	author, other := newAuthor(t, packet.Config{}), newAuthor(t, packet.Config{})
	w.upload(authorFile, slices.Concat(exported(t, author), []byte("\n"), exported(t, other), []byte("\n")))
	w.upload("keys/labs/author.asc", exported(t, author))
	key := w.uploadSigned(author, "1.0.0")
	pending := signedBy(t, author, "1.1.0")
	w.uploadFiles(pending.inOrder("linux_amd64.zip", "SHA256SUMS"))

	for fingerprint, want := range map[string]error{strings.Repeat("0", 40): registry.ErrNotFound, w.key.PublicKey().Fingerprint: authorkeys.ErrOwnKey} {
		if changed, err := w.Keys.Distrust(t.Context(), fingerprint); changed || !errors.Is(err, want) {
			t.Errorf("DistrustKey(%s) = %v, %v; want %v", fingerprint, changed, err, want)
		}
	}
	for _, want := range []bool{true, false} {
		if changed, err := w.Keys.Distrust(t.Context(), fingerprintOf(author)); changed != want || err != nil {
			t.Errorf("DistrustKey() = %v, %v; want %v", changed, err, want)
		}
	}
	const words = "is not trusted any more, by decision of an operator"
	w.want(w.uploadFiles(pending.inOrder("SHA256SUMS.sig")), inbox.Rejected, fingerprintOf(author), words)
	w.wantRegistrysOwn("1.1.0")
	w.want(w.upload("keys/new/author.asc", exported(t, author)), inbox.Rejected, words)
	if w.authorsKey("1.0.0") != key {
		t.Error("what was released has changed")
	}
	w.uploadSigned(other, "1.1.0")
	w.want(w.upload("keys/new/gone.asc", revoked(t, author)), inbox.Published, "is revoked")
	gone := newAuthor(t, packet.Config{})
	w.upload("keys/new/gone-too.asc", revoked(t, gone))

	w.put(registry.UntrustedKeyPrefix(fingerprintOf(author))+"elsewhat.asc", nil)
	w.put(registry.AuthorKeysPrefix("acme")+"elsewhat.asc", nil)
	all := w.authorsKeys("")
	last := authorkeys.Known{Fingerprint: fingerprintOf(gone), Revoked: true}
	want := []authorkeys.Known{
		{Fingerprint: fingerprintOf(author), Namespace: "acme"},
		{Fingerprint: fingerprintOf(other), Namespace: "acme"},
		{Fingerprint: fingerprintOf(author), Namespace: "labs"},
		{Fingerprint: fingerprintOf(author), Distrusted: true},
		{Fingerprint: fingerprintOf(author), Revoked: true},
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
func (w *world) authorsKeys(after string) (all []authorkeys.Known) {
	w.Helper()
	for key, err := range w.Keys.All(w.Context(), after) {
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, key)
	}
	return all
}

// notes is what a verification finds wrong, and what it says besides.
func (w *world) notes() (problems, notes []string) {
	w.Helper()
	for step, err := range w.Verify(w.Context(), "", false) {
		if err != nil {
			w.Fatal(err)
		}
		for _, problem := range step.Problems {
			problems = append(problems, step.Subject+": "+problem)
		}
		for _, note := range step.Notes {
			notes = append(notes, step.Subject+": "+note)
		}
	}
	return problems, notes
}

// What was released while its key was trusted is not wrong, and is named.
func TestVerifyNamesWhatKeysSignedThatAreNotTrusted(t *testing.T) {
	w := newWorld(t)
	for n, end := range []func(*openpgp.Entity){
		func(*openpgp.Entity) {},
		func(author *openpgp.Entity) { w.upload("keys/acme/gone.asc", revoked(t, author)) },
		func(author *openpgp.Entity) { w.upload("keys/acme/certificate.asc", certificate(t, author)) },
		func(author *openpgp.Entity) {
			if _, err := w.Keys.Distrust(t.Context(), fingerprintOf(author)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		author := newAuthor(t, packet.Config{})
		w.upload(fmt.Sprintf("keys/acme/%d.asc", n), exported(t, author))
		w.uploadSigned(author, fmt.Sprintf("1.%d.0", n))
		end(author)
	}
	w.upload(packageKey("2.0.0", "linux_amd64"), widget("a"))
	subjects := func() (all []string) {
		found, notes := w.notes()
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
	if _, _, err := w.SetStanding(t.Context(), registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}, Version: mustVersion(t, "1.2.0")}, standing); err != nil {
		t.Fatal(err)
	}
	if got, want := subjects(), []string{"provider acme/widget 1.1.0", "provider acme/widget 1.3.0"}; !slices.Equal(got, want) {
		t.Errorf("notes are of %q, want %q: one is withdrawn", got, want)
	}
	// What is said to be published is looked for.
	for _, key := range w.keysUnder(registry.UntrustedKeysPrefix) {
		if strings.HasSuffix(key, ".asc") {
			w.s3.Delete(t, key)
		}
	}
	found, _ := w.notes()
	if len(found) != 2 || !strings.HasPrefix(found[0], "upload keys/acme/certificate.asc: Its outcome is") || !strings.HasPrefix(found[1], "upload keys/acme/gone.asc: Its outcome is") {
		t.Errorf("found %q", found)
	}
}

// A form that cannot be read may be the one that ends trust.
func TestAKeyWithAFormThatCannotBeRead(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	w.upload(authorFile, exported(t, author))
	w.put(registry.AuthorKeyKey("acme", fingerprintOf(author), strings.Repeat("0", 64)), []byte("of a newer larder"))
	w.want(w.release(author, "1.0.0"), inbox.Pending, "is not under keys/acme/ yet")
	w.wantRegistrysOwn("1.0.0")
}
