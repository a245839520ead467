package publishtest

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/pkg/inbox"
)

// KeyMade is when authors made their keys.
var KeyMade = time.Now().AddDate(-1, 0, 0).Truncate(time.Second)

// NewAuthor is an author's own key pair, as gpg makes them: of Ed25519, if the
// settings do not name another algorithm. Making RSA keys is slow.
func NewAuthor(t *testing.T, settings packet.Config) *openpgp.Entity {
	t.Helper()
	if settings.Algorithm == 0 {
		settings.Algorithm = packet.PubKeyAlgoEdDSA
	}
	settings.Time = func() time.Time { return KeyMade }
	author, err := openpgp.NewEntity("Author", "", "author@example.com", &settings)
	if err != nil {
		t.Fatal(err)
	}
	return author
}

// Armored is what is written, armored as gpg does it.
func Armored(t *testing.T, kind string, write func(io.Writer) error) []byte {
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

// SignedBy is a release of a version of acme/widget that an author has signed.
func SignedBy(t *testing.T, author *openpgp.Entity, version string) Release {
	t.Helper()
	r := NewReleaseOf(t, "acme", version)
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, author, bytes.NewReader(r.Sums), nil); err != nil {
		t.Fatal(err)
	}
	r.Signature = signature.Bytes()
	return r
}

// UploadSigned uploads a release without a key, and returns the armored key that
// it is served with.
func (w *World) UploadSigned(author *openpgp.Entity, version string) string {
	w.Helper()
	r := SignedBy(w.T, author, version)
	w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Published)
	return w.AuthorsKey(version)
}

// AuthorsKey is the armored key that a version is served with, which is its
// author's.
func (w *World) AuthorsKey(version string) string {
	w.Helper()
	s := w.Provider("acme", "widget", version)
	if w.Served(s); !s.Release.Author {
		w.Fatalf("%s is not served with its author's signature", version)
	}
	return s.Release.Keys[0].ASCIIArmor
}

// AuthorFile is the key of the author's key in the inbox.
const AuthorFile = "keys/acme/author.asc"

// Exported is an author's key as gpg --armor --export writes it.
func Exported(t *testing.T, author *openpgp.Entity) []byte {
	t.Helper()
	return Armored(t, openpgp.PublicKeyType, author.Serialize)
}

// Revoked is an author's key after its owner has revoked it.
func Revoked(t *testing.T, author *openpgp.Entity) []byte {
	t.Helper()
	gone := *author
	if err := gone.RevokeKey(packet.KeyRetired, "", nil); err != nil {
		t.Fatal(err)
	}
	return Exported(t, &gone)
}

// Certificate is a revocation without the key, as gpg --gen-revoke writes it.
func Certificate(t *testing.T, author *openpgp.Entity) []byte {
	t.Helper()
	gone := *author
	if err := gone.RevokeKey(packet.KeyCompromised, "stolen", nil); err != nil {
		t.Fatal(err)
	}
	return Armored(t, openpgp.PublicKeyType, func(w io.Writer) error { return gone.Revocations[0].Serialize(w) })
}

// FingerprintOf is the fingerprint of an author's key, as gpg prints it.
func FingerprintOf(author *openpgp.Entity) string {
	return fmt.Sprintf("%X", author.PrimaryKey.Fingerprint)
}

// WantRegistrysOwn wants a version to be served with the registry's signature.
func (w *World) WantRegistrysOwn(version string) {
	w.Helper()
	if s := w.Provider("acme", "widget", version); s.Release == nil || s.Release.Author || s.Release.Keys[0].KeyID != w.Key.PublicKey().KeyID {
		w.Errorf("%s is served with %+v, want the registry's own signature", version, s.Release)
	}
}

// Notes is what a verification finds wrong, and what it says besides.
func (w *World) Notes() (problems, notes []string) {
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
