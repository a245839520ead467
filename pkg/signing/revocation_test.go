package signing

import (
	"bytes"
	"crypto"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// revocationOf is a revocation certificate that the key has made, alone.
func revocationOf(t testing.TB, entity *openpgp.Entity) []byte {
	t.Helper()
	other := *entity
	other.Revocations = nil
	if err := other.RevokeKey(packet.KeyRetired, "", at(signed)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := other.Revocations[0].Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readSignature(t testing.TB, data []byte) *packet.Signature {
	t.Helper()
	p, err := packet.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return p.(*packet.Signature)
}

// revokedForm is a revoked key as its owner exports it.
func revokedForm(t testing.TB, entity *openpgp.Entity, revocations ...[]byte) string {
	t.Helper()
	other := *entity
	for _, revocation := range revocations {
		other.Revocations = append(other.Revocations, readSignature(t, revocation))
	}
	return export(t, &other)
}

func readFile(t testing.TB, text string) KeyFile {
	t.Helper()
	file, err := ReadKeyFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadKeyFileReadsRevokedKeys(t *testing.T) {
	expired := author(t, at(created, lifetime(time.Hour)))
	withSubkey := author(t, at(created))
	addSigningSubkey(t, withSubkey, at(created))
	for name, entity := range map[string]*openpgp.Entity{
		"revoked":             author(t, at(created)),
		"expired and revoked": expired,
		"with a subkey":       withSubkey,
		"RSA":                 author(t, at(created, rsaBits(2048))),
	} {
		t.Run(name, func(t *testing.T) {
			file := readFile(t, revokedForm(t, entity, revocationOf(t, entity)))
			if len(file.Keys) != 1 || len(file.Revocations) > 0 {
				t.Fatalf("the file reads as %+v", file)
			}
			key := file.Keys[0]
			want := PublicKey{
				KeyID: keyID(entity.PrimaryKey.KeyId), Fingerprint: fingerprint(entity.PrimaryKey), ASCIIArmor: key.ASCIIArmor,
				SelfSigned: signed, Revoked: signed, created: created,
			}
			if key != want {
				t.Errorf("the key is %+v, want %+v", key, want)
			}
			if again := readFile(t, key.ASCIIArmor); len(again.Keys) != 1 || again.Keys[0] != key {
				t.Errorf("its own armor reads as %+v", again)
			}
			if problem := key.Problem(now); !strings.Contains(problem, "is revoked") {
				t.Errorf("its problem is %q", problem)
			}
		})
	}
}

// A revocation counts only if the key itself has made it, whatever other signatures there
// are.
func TestReadKeyFileVerifiesRevocations(t *testing.T) {
	entity, other := author(t, at(created)), author(t, at(created))
	own, foreign := revocationOf(t, entity), revocationOf(t, other)
	const words = "a revocation that the key itself has not made"
	_, err := ReadKeyFile([]byte(revokedForm(t, entity, foreign)))
	checkViolations(t, err, words)
	for name, text := range map[string]string{
		"own first":     revokedForm(t, entity, own, foreign),
		"foreign first": revokedForm(t, entity, foreign, own),
	} {
		if file := readFile(t, text); file.Keys[0].Revoked.IsZero() {
			t.Errorf("%s: the key is not revoked", name)
		}
	}
}

func TestRevocationCertificates(t *testing.T) {
	entity, other := author(t, at(created)), author(t, at(created))
	key := mustParse(t, export(t, entity))[0]
	revocation := revocationOf(t, entity) // each is made with other random bytes
	lone := armored(t, openpgp.PublicKeyType, revocation)
	file := readFile(t, lone+export(t, other))
	if len(file.Keys) != 1 || len(file.Revocations) != 1 || file.Revocations[0].KeyID != key.KeyID {
		t.Fatalf("the file reads as %+v", file)
	}
	revoked, err := file.Revocations[0].Revoke(key)
	if err != nil || revoked != readFile(t, revokedForm(t, entity, revocation)).Keys[0] {
		t.Errorf("the revoked key is %+v, error %v", revoked, err)
	}
	if _, err := file.Revocations[0].Revoke(mustParse(t, export(t, other))[0]); err == nil || !strings.Contains(err.Error(), "was not made by the key "+fingerprint(other.PrimaryKey)) {
		t.Errorf("another key: error is %v", err)
	}
	if _, err := file.Revocations[0].Revoke(PublicKey{KeyID: "0123456789ABCDEF", ASCIIArmor: "damaged"}); err == nil || !strings.Contains(err.Error(), "0123456789ABCDEF") {
		t.Errorf("an unreadable key: error is %v", err)
	}
	two := readFile(t, armored(t, openpgp.PublicKeyType, slices.Concat(revocationOf(t, entity), revocationOf(t, other))))
	if len(two.Revocations) != 2 || two.Revocations[1].KeyID != keyID(other.PrimaryKey.KeyId) {
		t.Errorf("two certificates in one block read as %+v", two)
	}
}

func TestProblem(t *testing.T) {
	expires := created.AddDate(1, 0, 0)
	for name, test := range map[string]struct {
		key  PublicKey
		at   time.Time
		want string
	}{
		"good":                    {PublicKey{created: created}, now, ""},
		"expires in a second":     {PublicKey{created: created, Expires: expires}, expires.Add(-time.Second), ""},
		"expires now":             {PublicKey{created: created, Expires: expires}, expires, "expired on 2026-01-01"},
		"revoked":                 {PublicKey{created: created, Revoked: signed}, now, "is revoked"},
		"cannot sign":             {PublicKey{created: created, cannotSign: true}, now, "cannot sign"},
		"made with a clock ahead": {PublicKey{created: now.Add(clockSkew)}, now, ""},
		"made in the future":      {PublicKey{created: now.Add(clockSkew + time.Second)}, now, "was created in the future"},
	} {
		if got := test.key.Problem(test.at); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: the problem is %q, want %q", name, got, test.want)
		}
	}
}

func TestIssuer(t *testing.T) {
	entity := author(t, at(created))
	addSigningSubkey(t, entity, at(created))
	other := mustParse(t, export(t, author(t, at(created))))[0]
	key := mustParse(t, export(t, entity))[0]
	bySubkey := detachSign(t, entity, at(signed))
	if by, err := Issuer([]PublicKey{other, key}, bySubkey); err != nil || by != key {
		t.Errorf("Issuer() = %s, %v", by.KeyID, err)
	}
	var unknown *UnknownIssuerError
	if _, err := Issuer([]PublicKey{other}, bySubkey); !errors.As(err, &unknown) || unknown.KeyID != keyID(entity.Subkeys[1].PublicKey.KeyId) {
		t.Errorf("error is %v, want the ID of the subkey", err)
	}
	_, err := Issuer([]PublicKey{key}, []byte("junk"))
	checkInvalid(t, err, ErrSignatureForm, "damaged")
	if _, err := Issuer([]PublicKey{{KeyID: "0123456789ABCDEF", ASCIIArmor: "damaged"}}, bySubkey); err == nil || !strings.Contains(err.Error(), "0123456789ABCDEF") {
		t.Errorf("error is %v, want one that blames the key", err)
	}
}

// resign gives the key's user IDs a self-signature of another time and lifetime.
func resign(t *testing.T, entity *openpgp.Entity, when time.Time, life time.Duration) {
	t.Helper()
	seconds := uint32(life / time.Second)
	for name, identity := range entity.Identities {
		identity.SelfSignature.CreationTime, identity.SelfSignature.KeyLifetimeSecs = when, &seconds
		if err := identity.SelfSignature.SignUserId(name, entity.PrimaryKey, entity.PrivateKey, at(when)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewestForms(t *testing.T) {
	entity := author(t, at(created))
	forever := mustParse(t, export(t, entity))[0]
	resign(t, entity, signed, 400*24*time.Hour)
	short := mustParse(t, export(t, entity))[0]
	other := mustParse(t, export(t, author(t, at(created))))[0]
	for _, forms := range [][]PublicKey{{forever, short, other}, {other, short, forever}, {short, forever, other, short, forever}} {
		before := slices.Clone(forms)
		newest, err := NewestForms(forms)
		if !slices.Equal(forms, before) {
			t.Errorf("the caller's forms have another order: %+v", forms)
		}
		if err != nil || len(newest) != 2 || !slices.Contains(newest, short) || !slices.Contains(newest, other) {
			t.Errorf("the newest forms are %+v, error %v", newest, err)
		}
	}
	if newest, err := NewestForms(nil); err != nil || len(newest) > 0 {
		t.Errorf("of nothing: %+v, %v", newest, err)
	}
}

// Whoever extends a key from a keyring that does not know of the revocation of a
// subkey does not take it back.
func TestNewestFormsKeepRevocationsOfSubkeys(t *testing.T) {
	entity := author(t, at(created))
	addSigningSubkey(t, entity, at(created))
	kept := mustParse(t, export(t, entity))[0]
	subkey := &entity.Subkeys[1]
	bySubkey := detachSign(t, entity, at(signed))
	revokeSubkey(t, entity, subkey)
	revoked := mustParse(t, export(t, entity))[0]
	subkey.Revocations = nil
	resign(t, entity, signed.Add(time.Hour), 4*400*24*time.Hour)
	extended := mustParse(t, export(t, entity))[0]
	if kept.RevokedSubkeys || !revoked.RevokedSubkeys || extended.RevokedSubkeys {
		t.Errorf("subkeys are revoked in %v, %v, %v", kept.RevokedSubkeys, revoked.RevokedSubkeys, extended.RevokedSubkeys)
	}
	for _, forms := range [][]PublicKey{{kept, revoked, extended}, {extended, revoked, kept}} {
		newest, err := NewestForms(forms)
		if err != nil || len(newest) != 1 || !newest[0].RevokedSubkeys || !newest[0].Expires.Equal(extended.Expires) {
			t.Fatalf("the newest form is %+v, error %v", newest, err)
		}
		if again := mustParse(t, newest[0].ASCIIArmor); again[0] != newest[0] {
			t.Errorf("its own armor reads as %+v, want %+v", again[0], newest[0])
		}
		_, err = verifyAt(now, newest, document, bySubkey)
		checkInvalid(t, err, ErrKeyRevoked, "another key")
	}
	if _, err := verifyAt(now, []PublicKey{extended}, document, bySubkey); err != nil {
		t.Errorf("the form that does not know of it: %v", err)
	}
	unreadable := PublicKey{KeyID: extended.KeyID, Fingerprint: extended.Fingerprint, ASCIIArmor: "damaged"}
	for _, newestOne := range []bool{false, true} {
		forms := []PublicKey{extended, unreadable, revoked}
		if forms[1].RevokedSubkeys = true; newestOne {
			forms[1].RevokedSubkeys, forms[1].SelfSigned = false, extended.SelfSigned.Add(time.Second)
		}
		if newest, err := NewestForms(forms); err == nil || !strings.Contains(err.Error(), extended.KeyID) || newest != nil {
			t.Errorf("a form that cannot be read is left out: %+v, error %v", newest, err)
		}
	}
	// Where no subkey is revoked, older forms are not read.
	if newest, err := NewestForms([]PublicKey{extended, unreadable}); err != nil || len(newest) != 1 || newest[0] != extended {
		t.Errorf("the newest form is %+v, error %v", newest, err)
	}
}

// Of two subkeys the one that is revoked is, and the other is not.
func TestNewestFormsRevokeTheSubkeyThatIsMeant(t *testing.T) {
	entity := author(t, at(created))
	first := addSigningSubkey(t, entity, at(created)).PublicKey.KeyId
	byFirst := detachSign(t, entity, at(signed))
	addSigningSubkey(t, entity, at(created.Add(time.Hour)))
	bySecond := detachSign(t, entity, at(signed))
	kept := mustParse(t, export(t, entity))[0]
	second := &entity.Subkeys[2]
	revokeSubkey(t, entity, second)
	revoked := mustParse(t, export(t, entity))[0]
	second.Revocations = nil
	resign(t, entity, signed.Add(time.Hour), 0)
	newest, err := NewestForms([]PublicKey{kept, revoked, mustParse(t, export(t, entity))[0]})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := InspectSignature(byFirst); err != nil || id != keyID(first) {
		t.Fatalf("made by %s, error %v", id, err)
	}
	if _, err := verifyAt(now, newest, document, byFirst); err != nil {
		t.Errorf("the subkey that is not revoked: %v", err)
	}
	_, err = verifyAt(now, newest, document, bySecond)
	checkInvalid(t, err, ErrKeyRevoked, "another key")
}

// A signature of the key over itself is not a revocation, although it is made over
// the same bytes.
func TestReadKeyFileTellsDirectSignaturesFromRevocations(t *testing.T) {
	entity := author(t, at(created))
	direct := signatureBy(entity, packet.SigTypeDirectSignature)
	if err := direct.SignDirectKeyBinding(entity.PrimaryKey, entity.PrivateKey, at(signed)); err != nil {
		t.Fatal(err)
	}
	entity.Signatures = append(entity.Signatures, direct)
	if file := readFile(t, export(t, entity)); len(file.Keys) != 1 || !file.Keys[0].Revoked.IsZero() || file.Keys[0].Problem(now) != "" {
		t.Errorf("the file reads as %+v", file)
	}
}

// A user ID that is signed again after its revocation counts again.
func TestReadKeyFileUserIDSignedAnew(t *testing.T) {
	entity := author(t, at(created))
	revokeIdentities(t, entity)
	resign(t, entity, signed.Add(time.Second), 0)
	if key := mustParse(t, export(t, entity))[0]; !key.SelfSigned.Equal(signed.Add(time.Second)) {
		t.Errorf("self-signed %s", key.SelfSigned)
	}
}

func TestOpenKeyRejectsRevocations(t *testing.T) {
	signer := rsaKey()
	key, err := NewKey(t.Context(), signer, created, "Test")
	if err != nil {
		t.Fatal(err)
	}
	entity, _ := key.entity(t.Context())
	own := &openpgp.Entity{PrimaryKey: entity.PrimaryKey, PrivateKey: packet.NewRSAPrivateKey(created, signer), Identities: entity.Identities}
	lone := revocationOf(t, own)
	for name, test := range map[string]struct{ text, want string }{
		"a revoked key": {readFile(t, revokedForm(t, own, lone)).Keys[0].ASCIIArmor, "is revoked"},
		"a certificate": {armored(t, openpgp.PublicKeyType, lone), "instead of one"},
	} {
		if _, err := OpenKey(signer, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// A revocation's date says when its maker says that it was made. It counts
// whatever it says, and so does one that is said to end.
func TestVerifyWithRevocationsOfAnyDate(t *testing.T) {
	for name, change := range map[string]func(*packet.Config){
		"tomorrow":       func(c *packet.Config) { c.Time = func() time.Time { return now.AddDate(1, 0, 0) } },
		"for an hour":    func(c *packet.Config) { c.SigLifetimeSecs = 3600 },
		"before the key": func(c *packet.Config) { c.Time = func() time.Time { return created.AddDate(-1, 0, 0) } },
	} {
		t.Run(name, func(t *testing.T) {
			entity := author(t, at(created))
			subkey := addSigningSubkey(t, entity, at(created))
			signature := detachSign(t, entity, at(signed))
			if err := entity.RevokeSubkey(subkey, packet.KeySuperseded, "", at(signed, change)); err != nil {
				t.Fatal(err)
			}
			_, err := verifyAt(now, mustParse(t, export(t, entity)), document, signature)
			checkInvalid(t, err, ErrKeyRevoked, "another key")

			if err := entity.RevokeKey(packet.KeySuperseded, "", at(signed, change)); err != nil {
				t.Fatal(err)
			}
			key := mustParse(t, export(t, author(t, at(created))))[0]
			key.ASCIIArmor = export(t, entity)
			byPrimary := signRaw(t, entity, signed, crypto.SHA512, packet.SigTypeBinary)
			_, err = verifyAt(now, []PublicKey{key}, document, byPrimary)
			checkInvalid(t, err, ErrKeyRevoked, "another key")
			if file := readFile(t, export(t, entity)); file.Keys[0].Revoked.IsZero() {
				t.Error("the key is not revoked")
			}
		})
	}
}
