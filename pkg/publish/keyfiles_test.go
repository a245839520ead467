package publish_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// keyMade is when authors made their keys.
var keyMade = time.Now().AddDate(-1, 0, 0).Truncate(time.Second)

// newAuthor is an author's own key pair, as gpg makes them: of Ed25519, if the
// settings do not name another algorithm. Making RSA keys is slow.
func newAuthor(t *testing.T, settings packet.Config) *openpgp.Entity {
	t.Helper()
	if settings.Algorithm == 0 {
		settings.Algorithm = packet.PubKeyAlgoEdDSA
	}
	settings.Time = func() time.Time { return keyMade }
	author, err := openpgp.NewEntity("Author", "", "author@example.com", &settings)
	if err != nil {
		t.Fatal(err)
	}
	return author
}

// expiring is an author's key with another time of expiry, as it is uploaded.
// Each form is signed a minute after the one before.
func expiring(t *testing.T, author *openpgp.Entity, expiry time.Time) []byte {
	t.Helper()
	lifetime := uint32(expiry.Sub(keyMade).Seconds())
	for name, identity := range author.Identities {
		self := identity.SelfSignature
		self.CreationTime, self.KeyLifetimeSecs = self.CreationTime.Add(time.Minute), &lifetime
		if err := self.SignUserId(name, author.PrimaryKey, author.PrivateKey, &packet.Config{Time: func() time.Time { return self.CreationTime }}); err != nil {
			t.Fatal(err)
		}
	}
	return armored(t, openpgp.PublicKeyType, author.Serialize)
}

func armored(t *testing.T, kind string, write func(io.Writer) error) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := armor.Encode(&file, kind, nil)
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// signedBy is a release of a version of acme/widget that an author has signed.
func signedBy(t *testing.T, author *openpgp.Entity, version string) release {
	t.Helper()
	r := newReleaseOf(t, "acme", version)
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, author, bytes.NewReader(r.sums), nil); err != nil {
		t.Fatal(err)
	}
	r.signature = signature.Bytes()
	return r
}

// uploadSigned uploads a release without a key, and returns the armored key that
// it is served with.
func (w *world) uploadSigned(author *openpgp.Entity, version string) string {
	w.Helper()
	r := signedBy(w.T, author, version)
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Published)
	return w.authorsKey(version)
}

// authorsKey is the armored key that a version is served with, which is its
// author's.
func (w *world) authorsKey(version string) string {
	w.Helper()
	s := w.provider("acme", "widget", version)
	if w.served(s); !s.Release.Author {
		w.Fatalf("%s is not served with its author's signature", version)
	}
	return s.Release.Keys[0].ASCIIArmor
}

// What is published keeps the form of the key that it was published with; what
// comes later has the newest form, also when an older one is uploaded again.
func TestKeyFilesALongerExpiryReplacesTheKey(t *testing.T) {
	w := newWorld(t)
	author := newAuthor(t, packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	short := expiring(t, author, time.Now().AddDate(0, 1, 0))
	long := expiring(t, author, time.Now().AddDate(2, 0, 0))
	const key = "keys/acme/author.asc"
	w.want(w.upload(key, short), inbox.Published)
	first := w.uploadSigned(author, "1.0.0")
	w.want(w.upload(key, long), inbox.Published)
	second := w.uploadSigned(author, "1.1.0")
	w.want(w.upload("keys/acme/old.asc", short), inbox.Published)
	third := w.uploadSigned(author, "1.2.0")
	if first == second || second != third {
		t.Errorf("served are with the first key\n%s\nwith the longer one\n%s\nafter the first came again\n%s", first, second, third)
	}
	if got := w.authorsKey("1.0.0"); got != first {
		t.Errorf("a published version's key has changed to\n%s", got)
	}
}

func TestKeyFilesWithSeveralKeysGiveThemAll(t *testing.T) {
	w := newWorld(t)
	authors := []*openpgp.Entity{newAuthor(t, packet.Config{}), newAuthor(t, packet.Config{}), newAuthor(t, packet.Config{})}
	var file []byte
	for _, author := range authors {
		file = append(append(file, expiring(t, author, time.Now().AddDate(1, 0, 0))...), '\n')
	}
	w.want(w.upload("keys/acme/team.asc", file), inbox.Published)
	if got := w.keysUnder(registry.AuthorKeysPrefix("acme")); len(got) != len(authors) {
		t.Errorf("the keys of acme are %q", got)
	}
	for n, author := range authors {
		w.uploadSigned(author, fmt.Sprintf("1.%d.0", n))
		want := fmt.Sprintf("%016X", author.PrimaryKey.KeyId)
		if got := w.provider("acme", "widget", fmt.Sprintf("1.%d.0", n)).Release.Keys; len(got) != 1 || got[0].KeyID != want {
			t.Errorf("1.%d.0 is served with the keys %+v, want %s alone", n, got, want)
		}
	}
}

// A file that is wrong in part is rejected as a whole: one bad key among those
// that are served fails every client.
func TestKeyFilesThatCannotBeServedAreRejected(t *testing.T) {
	w := newWorld(t)
	author := newAuthor(t, packet.Config{})
	good := expiring(t, author, time.Now().AddDate(1, 0, 0))
	private := armored(t, openpgp.PrivateKeyType, func(w io.Writer) error {
		return author.SerializePrivateWithoutSigning(w, nil)
	})
	for _, test := range []struct {
		name  string
		file  []byte
		words string
	}{
		{"junk", []byte("no key"), "no OpenPGP public key"},
		{"a private key", private, "revoke it"},
		{"a private key behind a public one", append(good, private...), "revoke it"},
		{"a text around the key", append([]byte("my key:\n"), good...), "not part of an armored key"},
		{"an expired key", expiring(t, newAuthor(t, packet.Config{}), time.Now().AddDate(0, -1, 0)), "expired"},
		{"a short key", expiring(t, newAuthor(t, packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 1024}), time.Now().AddDate(1, 0, 0)), "2048"},
		{"an algorithm that Terraform does not know", expiring(t, newAuthor(t, packet.Config{Algorithm: packet.PubKeyAlgoEd448}), time.Now().AddDate(1, 0, 0)), "algorithm"},
		{"half a key", good[:len(good)/2], "END"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := w.in(t)
			w.want(w.upload("keys/acme/author.asc", test.file), inbox.Rejected, test.words)
		})
	}
	if got := w.keysUnder(registry.AuthorKeysPrefix("acme")); len(got) != 0 {
		t.Errorf("keys of acme: %q", got)
	}
	r := signedBy(t, author, "1.0.0")
	w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, "keys/acme/")
	if s := w.provider("acme", "widget", "1.0.0"); s.Release.Author {
		t.Error("it is served with a key that was rejected")
	}
}

// What a key has signed stays as it is when its file goes; so does the key.
func TestKeyFilesThatAreDeletedBreakNothing(t *testing.T) {
	w := newWorld(t)
	author := newAuthor(t, packet.Config{})
	w.upload("keys/acme/author.asc", expiring(t, author, time.Now().AddDate(1, 0, 0)))
	key := w.uploadSigned(author, "1.0.0")
	w.s3.Delete(t, "keys/acme/author.asc")
	later := signedBy(t, author, "1.0.0")
	w.want(w.uploadFiles(later.inOrder("darwin_arm64.zip")), inbox.Published)
	if got := w.authorsKey("1.0.0"); got != key || strings.Count(w.served(w.provider("acme", "widget", "1.0.0")), "\n") != 3 {
		t.Errorf("it is served with the key\n%s\nwant\n%s", got, key)
	}
	w.wantListed("acme/widget", "1.0.0 darwin_arm64 linux_amd64")
	w.uploadSigned(author, "1.1.0")
}
