package signing

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// FuzzParseKeyFile checks that a key, once accepted, is a fixed point: its own
// armor reads as the same key, and clients read it as one public key.
func FuzzParseKeyFile(f *testing.F) {
	entity := author(f, at(created, lifetime(2*365*24*time.Hour)))
	addSigningSubkey(f, entity, at(created))
	f.Add([]byte(export(f, entity)))
	f.Add([]byte(export(f, entity, author(f, at(created)))))
	f.Add([]byte(fixedKey(f).PublicKey().ASCIIArmor))
	f.Add([]byte(armored(f, openpgp.PrivateKeyType, exportPrivate(f, entity))))
	f.Add([]byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: 1\n\nmA==\n=AAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"))
	f.Add([]byte(armored(f, openpgp.PublicKeyType, revocationOf(f, entity))))
	f.Add([]byte("junk"))
	f.Fuzz(func(t *testing.T, data []byte) { checkKeyFile(t, data) })
}

// FuzzPackets is FuzzParseKeyFile below the armor, where the fuzzer gets further.
func FuzzPackets(f *testing.F) {
	entity := author(f, at(created))
	addSigningSubkey(f, entity, at(created))
	f.Add(unarmored(f, export(f, entity)))
	f.Add(unarmored(f, fixedKey(f).PublicKey().ASCIIArmor))
	f.Add(exportPrivate(f, entity))
	f.Add(append(unarmored(f, export(f, entity)), revocationOf(f, entity)...))
	f.Add(revocationOf(f, entity))
	revoked := author(f, at(created))
	revoked.Revocations = []*packet.Signature{readSignature(f, revocationOf(f, revoked))}
	f.Add(unarmored(f, export(f, revoked)))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkKeyFile(t, []byte(armored(t, openpgp.PublicKeyType, data)))
	})
}

func checkKeyFile(t *testing.T, data []byte) {
	file, err := ReadKeyFile(data)
	checkForms(t, file, err)
	keys, err := parseKeyFileAt(now, data)
	if err != nil {
		var found Violations
		if !errors.As(err, &found) || len(found) == 0 || len(found) > maxViolations+1 {
			t.Fatalf("error is %v", err)
		}
		return
	}
	if len(keys) == 0 {
		t.Fatal("neither keys nor an error")
	}
	for _, key := range keys {
		again, err := parseKeyFileAt(now, []byte(key.ASCIIArmor))
		if err != nil || len(again) != 1 || again[0] != key {
			t.Fatalf("the key %+v reads as %+v, error %v", key, again, err)
		}
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.ASCIIArmor))
		if err != nil || len(ring) != 1 || ring[0].PrivateKey != nil {
			t.Fatalf("a client reads %d keys, error %v", len(ring), err)
		}
	}
}

// checkForms checks that what is stored of a key reads as the same form of it
// again, and that the newest of them is one of them.
func checkForms(t *testing.T, file KeyFile, err error) {
	if err != nil {
		return
	}
	var live []PublicKey
	for _, key := range file.Keys {
		again, err := ReadKeyFile([]byte(key.ASCIIArmor))
		if err != nil || len(again.Keys) != 1 || len(again.Revocations) > 0 || again.Keys[0] != key {
			t.Fatalf("the key %+v reads as %+v, error %v", key, again, err)
		}
		if key.Revoked.IsZero() {
			live = append(live, key)
		}
	}
	newest, err := NewestForms(append(live, live...))
	if err != nil || len(newest) != len(live) {
		t.Fatalf("of %d keys the newest forms are %d, error %v", len(live), len(newest), err)
	}
	for _, revocation := range file.Revocations {
		for _, key := range live {
			if revoked, err := revocation.Revoke(key); err == nil && revoked.Fingerprint != key.Fingerprint {
				t.Fatalf("%s revokes %s", revocation.KeyID, revoked.Fingerprint)
			}
		}
	}
}

// FuzzOpenKey checks that whatever opens is the registry's own form of a key,
// which clients can use.
func FuzzOpenKey(f *testing.F) {
	good := fixedKey(f).PublicKey().ASCIIArmor
	f.Add(good)
	f.Add(good + good)
	f.Add(good[:len(good)-1])
	f.Add(export(f, author(f, at(created))))
	f.Fuzz(func(t *testing.T, text string) {
		key, err := OpenKey(&shySigner{shy: true}, text)
		if err != nil {
			return
		}
		if key.PublicKey().ASCIIArmor != text {
			t.Fatalf("%q opens as %q", text, key.PublicKey().ASCIIArmor)
		}
		if parsed := mustParse(t, text); len(parsed) != 1 || parsed[0] != key.PublicKey() {
			t.Fatalf("%q reads as %+v", text, parsed)
		}
	})
}

// FuzzVerify checks that no signature but the true one verifies, and that
// InspectSignature lets nothing through but what Verify reads as a signature.
func FuzzVerify(f *testing.F) {
	entity := author(f, at(created))
	good := detachSign(f, entity, at(signed))
	keys := mustParse(f, export(f, entity))
	keys = append(keys, fixedKey(f).PublicKey())
	byFixed, err := fixedKey(f).Sign(f.Context(), document)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, document)
	f.Add(byFixed, document)
	f.Add([]byte(armored(f, openpgp.SignatureType, good)), document)
	f.Add(append(good, good...), document)
	f.Add(good[:20], []byte{})
	f.Add(detachSign(f, entity, at(signed, func(c *packet.Config) { c.SigLifetimeSecs = 60 })), document)
	f.Fuzz(func(t *testing.T, signature, text []byte) {
		issuer, formErr := InspectSignature(signature)
		by, err := verifyAt(now, keys, text, signature)
		if err == nil && string(text) != string(document) {
			t.Fatalf("key %s verifies another document", by.KeyID)
		}
		if formErr == nil && (errors.Is(err, ErrSignatureForm) || errors.Is(err, ErrWeakHash) || len(issuer) != 16) {
			t.Fatalf("InspectSignature says %q; Verify refuses the form: %v", issuer, err)
		}
		if _, issuerErr := Issuer(keys, signature); err == nil && issuerErr != nil {
			t.Fatalf("it is verified, and its issuer is unknown: %v", issuerErr)
		}
		var unknown *UnknownIssuerError
		var wrong *InvalidSignatureError
		for _, err := range []error{err, formErr} {
			if err != nil && !errors.As(err, &unknown) && !errors.As(err, &wrong) {
				t.Fatalf("error is %v", err)
			}
		}
	})
}
