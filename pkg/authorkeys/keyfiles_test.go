package authorkeys_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// expiring is an author's key with another time of expiry, as it is uploaded.
// Each form is signed a minute after the one before.
func expiring(t *testing.T, author *openpgp.Entity, expiry time.Time) []byte {
	t.Helper()
	lifetime := uint32(expiry.Sub(publishtest.KeyMade).Seconds())
	for name, identity := range author.Identities {
		self := identity.SelfSignature
		self.CreationTime, self.KeyLifetimeSecs = self.CreationTime.Add(time.Minute), &lifetime
		if err := self.SignUserId(name, author.PrimaryKey, author.PrivateKey, &packet.Config{Time: func() time.Time { return self.CreationTime }}); err != nil {
			t.Fatal(err)
		}
	}
	return publishtest.Armored(t, openpgp.PublicKeyType, author.Serialize)
}

// What is published keeps the form of the key that it was published with; what
// comes later has the newest form, also when an older one is uploaded again.
func TestKeyFilesALongerExpiryReplacesTheKey(t *testing.T) {
	w := newWorld(t)
	author := publishtest.NewAuthor(t, packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	short := expiring(t, author, time.Now().AddDate(0, 1, 0))
	long := expiring(t, author, time.Now().AddDate(2, 0, 0))
	const key = "keys/acme/author.asc"
	w.Want(w.Upload(key, short), inbox.Published)
	first := w.UploadSigned(author, "1.0.0")
	w.Want(w.Upload(key, long), inbox.Published)
	second := w.UploadSigned(author, "1.1.0")
	w.Want(w.Upload("keys/acme/old.asc", short), inbox.Published)
	third := w.UploadSigned(author, "1.2.0")
	if first == second || second != third {
		t.Errorf("served are with the first key\n%s\nwith the longer one\n%s\nafter the first came again\n%s", first, second, third)
	}
	if got := w.AuthorsKey("1.0.0"); got != first {
		t.Errorf("a published version's key has changed to\n%s", got)
	}
}

func TestKeyFilesWithSeveralKeysGiveThemAll(t *testing.T) {
	w := newWorld(t)
	authors := []*openpgp.Entity{publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{}), publishtest.NewAuthor(t, packet.Config{})}
	var file []byte
	for _, author := range authors {
		file = append(append(file, expiring(t, author, time.Now().AddDate(1, 0, 0))...), '\n')
	}
	w.Want(w.Upload("keys/acme/team.asc", file), inbox.Published)
	if got := w.KeysUnder(registry.AuthorKeysPrefix("acme")); len(got) != len(authors) {
		t.Errorf("the keys of acme are %q", got)
	}
	for n, author := range authors {
		w.UploadSigned(author, fmt.Sprintf("1.%d.0", n))
		want := fmt.Sprintf("%016X", author.PrimaryKey.KeyId)
		if got := w.Provider("acme", "widget", fmt.Sprintf("1.%d.0", n)).Release.Keys; len(got) != 1 || got[0].KeyID != want {
			t.Errorf("1.%d.0 is served with the keys %+v, want %s alone", n, got, want)
		}
	}
}

// A file that is wrong in part is rejected as a whole: one bad key among those
// that are served fails every client.
func TestKeyFilesThatCannotBeServedAreRejected(t *testing.T) {
	w := newWorld(t)
	author := publishtest.NewAuthor(t, packet.Config{})
	good := expiring(t, author, time.Now().AddDate(1, 0, 0))
	private := publishtest.Armored(t, openpgp.PrivateKeyType, func(w io.Writer) error {
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
		{"an expired key", expiring(t, publishtest.NewAuthor(t, packet.Config{}), time.Now().AddDate(0, -1, 0)), "expired"},
		{"a short key", expiring(t, publishtest.NewAuthor(t, packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 1024}), time.Now().AddDate(1, 0, 0)), "2048"},
		{"an algorithm that Terraform does not know", expiring(t, publishtest.NewAuthor(t, packet.Config{Algorithm: packet.PubKeyAlgoEd448}), time.Now().AddDate(1, 0, 0)), "algorithm"},
		{"half a key", good[:len(good)/2], "END"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := w.in(t)
			w.Want(w.Upload("keys/acme/author.asc", test.file), inbox.Rejected, test.words)
		})
	}
	if got := w.KeysUnder(registry.AuthorKeysPrefix("acme")); len(got) != 0 {
		t.Errorf("keys of acme: %q", got)
	}
	r := publishtest.SignedBy(t, author, "1.0.0")
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Pending, "keys/acme/")
	if s := w.Provider("acme", "widget", "1.0.0"); s.Release.Author {
		t.Error("it is served with a key that was rejected")
	}
}

// What a key has signed stays as it is when its file goes; so does the key.
func TestKeyFilesThatAreDeletedBreakNothing(t *testing.T) {
	w := newWorld(t)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload("keys/acme/author.asc", expiring(t, author, time.Now().AddDate(1, 0, 0)))
	key := w.UploadSigned(author, "1.0.0")
	w.S3.Delete(t, "keys/acme/author.asc")
	later := publishtest.SignedBy(t, author, "1.0.0")
	w.Want(w.UploadFiles(later.InOrder("darwin_arm64.zip")), inbox.Published)
	if got := w.AuthorsKey("1.0.0"); got != key || strings.Count(w.Served(w.Provider("acme", "widget", "1.0.0")), "\n") != 3 {
		t.Errorf("it is served with the key\n%s\nwant\n%s", got, key)
	}
	w.WantListed("acme/widget", "1.0.0 darwin_arm64 linux_amd64")
	w.UploadSigned(author, "1.1.0")
}
