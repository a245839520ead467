package signing

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// A shySigner counts its signatures, and may keep its public key to itself.
type shySigner struct {
	*rsa.PrivateKey
	shy    bool
	signed int
}

func (s *shySigner) Public() crypto.PublicKey {
	if s.shy {
		return nil
	}
	return s.PrivateKey.Public()
}

func (s *shySigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	s.signed++
	return s.PrivateKey.Sign(rand, digest, opts)
}

func TestOpenKey(t *testing.T) {
	key, err := NewKey(t.Context(), rsaKey(), created, "Test")
	if err != nil {
		t.Fatal(err)
	}
	want, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	for name, shy := range map[string]bool{"known public key": false, "unknown public key": true} {
		t.Run(name, func(t *testing.T) {
			signer := &shySigner{PrivateKey: rsaKey(), shy: shy}
			opened, err := OpenKey(signer, key.PublicKey().ASCIIArmor)
			if err != nil {
				t.Fatal(err)
			}
			if signer.signed != 0 {
				t.Errorf("OpenKey signed %d times", signer.signed)
			}
			if opened.PublicKey() != key.PublicKey() {
				t.Errorf("PublicKey() = %+v, want %+v", opened.PublicKey(), key.PublicKey())
			}
			got, err := opened.Sign(t.Context(), document)
			if err != nil || !bytes.Equal(got, want) || signer.signed != 1 {
				t.Errorf("another signature, or error %v, after %d signatures instead of one", err, signer.signed)
			}
		})
	}
}

// A registry must open what it stored with an older go-crypto.
func TestOpenKeyGolden(t *testing.T) {
	key := fixedKey(t)
	opened, err := OpenKey(key.signer, key.PublicKey().ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	if opened.PublicKey() != key.PublicKey() {
		t.Errorf("PublicKey() = %+v, want %+v", opened.PublicKey(), key.PublicKey())
	}
}

func TestOpenKeySignsConcurrently(t *testing.T) {
	key := fixedKey(t)
	want, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := OpenKey(key.signer, key.PublicKey().ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := opened.Sign(t.Context(), document); err != nil || !bytes.Equal(got, want) {
				t.Errorf("signature differs, or error %v", err)
			}
		})
	}
	group.Wait()
}

// A key made with a fast clock, or long ago, opens at any time.
func TestOpenKeyFromTheFuture(t *testing.T) {
	key, err := NewKey(t.Context(), rsaKey(), time.Now().AddDate(1, 0, 0), "Test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKey(rsaKey(), key.PublicKey().ASCIIArmor); err != nil {
		t.Error(err)
	}
}

func TestOpenKeyOfAnotherSigner(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	stored := fixedKey(t).PublicKey()
	if _, err := OpenKey(other, stored.ASCIIArmor); err == nil ||
		!strings.Contains(err.Error(), "another signing key") || !strings.Contains(err.Error(), stored.KeyID) {
		t.Errorf("error is %v", err)
	}
	// One that does not know its public key is found out by its signature.
	opened, err := OpenKey(&shySigner{PrivateKey: other, shy: true}, stored.ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	if signature, err := opened.Sign(t.Context(), document); err == nil || signature != nil || !strings.Contains(err.Error(), "does not verify") {
		t.Errorf("Sign: error is %v", err)
	}
}

func TestOpenKeyRejects(t *testing.T) {
	good := fixedKey(t).PublicKey().ASCIIArmor
	subkeyed := author(t, at(created, rsaBits(2048)))
	addSigningSubkey(t, subkeyed, at(created))
	twoNames := author(t, at(created, rsaBits(2048)))
	if err := twoNames.AddUserId("Another", "", "", at(created)); err != nil {
		t.Fatal(err)
	}
	resigned := author(t, at(created, rsaBits(2048)))
	for name, identity := range resigned.Identities {
		identity.SelfSignature.CreationTime = signed
		if err := identity.SelfSignature.SignUserId(name, resigned.PrimaryKey, resigned.PrivateKey, at(signed)); err != nil {
			t.Fatal(err)
		}
	}
	certify := author(t, at(created, rsaBits(2048)))
	certifyOnly(t, certify)
	addSigningSubkey(t, certify, at(created))
	certifyAlone := author(t, at(created, rsaBits(2048)))
	certifyOnly(t, certifyAlone)
	forms := func(entities ...*openpgp.Entity) string { return export(t, entities...) }
	tests := map[string]struct{ armored, want string }{
		"empty":           {"", "empty"},
		"not a key":       {"<Error>AccessDenied</Error>", "no OpenPGP public key"},
		"too large":       {strings.Repeat("x", MaxKeyFile+1), "more than"},
		"cut short":       {good[:len(good)/2], "cut short"},
		"private":         {armored(t, openpgp.PrivateKeyType, exportPrivate(t, subkeyed)), "private key"},
		"two keys":        {good + good, "2 keys"},
		"ends in CRLF":    {strings.ReplaceAll(good, "\n", "\r\n"), "changed"},
		"more at end":     {good + "\n", "changed"},
		"damaged":         {damaged(t, good), "self-signatures do not verify"},
		"Ed25519":         {forms(author(t, at(created))), "not one that a registry made"},
		"with a subkey":   {forms(subkeyed), "not one that a registry made"},
		"two names":       {forms(twoNames), "not one that a registry made"},
		"expires":         {forms(author(t, at(created, rsaBits(2048), lifetime(time.Hour)))), "not one that a registry made"},
		"signed later":    {forms(resigned), "not one that a registry made"},
		"certifies":       {forms(certify), "not one that a registry made"},
		"certifies, only": {forms(certifyAlone), "not one that a registry made"},
		"short":           {forms(shortKey(t)), "fewer than 2048"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			signer := &shySigner{PrivateKey: rsaKey(), shy: true}
			key, err := OpenKey(signer, test.armored)
			if err == nil || key != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want it to say %q", err, test.want)
			}
		})
	}
}

// damaged returns the key with another last byte in its self-signature.
func damaged(t *testing.T, text string) string {
	t.Helper()
	body := unarmored(t, text)
	body[len(body)-1] ^= 1
	return armored(t, openpgp.PublicKeyType, body)
}

// shortKey returns a key of the registry's form with too few bits.
func shortKey(t *testing.T) *openpgp.Entity {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	entity := &openpgp.Entity{
		PrimaryKey: packet.NewRSAPublicKey(created, &private.PublicKey),
		PrivateKey: packet.NewRSAPrivateKey(created, private),
		Identities: make(map[string]*openpgp.Identity),
	}
	if err := entity.AddUserId("Test", "", "", config(created)); err != nil {
		t.Fatal(err)
	}
	return entity
}
