package signing

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rsa"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func TestParseKeyFileAccepts(t *testing.T) {
	for name, config := range map[string]*packet.Config{
		"Ed25519":  at(created),
		"P-256":    at(created, algorithm(packet.PubKeyAlgoECDSA, packet.CurveNistP256)),
		"P-384":    at(created, algorithm(packet.PubKeyAlgoECDSA, packet.CurveNistP384)),
		"P-521":    at(created, algorithm(packet.PubKeyAlgoECDSA, packet.CurveNistP521)),
		"RSA 2048": at(created, rsaBits(2048)),
	} {
		t.Run(name, func(t *testing.T) {
			entity := author(t, config)
			keys := mustParse(t, export(t, entity))
			if len(keys) != 1 {
				t.Fatalf("%d keys", len(keys))
			}
			key := keys[0]
			if key.KeyID != keyID(entity.PrimaryKey.KeyId) || key.Fingerprint != fingerprint(entity.PrimaryKey) ||
				!strings.HasSuffix(key.Fingerprint, key.KeyID) || len(key.Fingerprint) != 40 {
				t.Errorf("key is %s, %s", key.KeyID, key.Fingerprint)
			}
			if !key.Expires.IsZero() || !key.SelfSigned.Equal(created) {
				t.Errorf("expires %s, self-signed %s", key.Expires, key.SelfSigned)
			}
			if again := mustParse(t, key.ASCIIArmor); again[0] != key {
				t.Errorf("the key's own armor reads as %+v, want %+v", again[0], key)
			}
			if _, err := verifyAt(now, keys, document, detachSign(t, entity, at(signed))); err != nil {
				t.Error(err)
			}
		})
	}
}

// The key for publication holds what verifies a document and nothing else.
func TestParseKeyFileCleans(t *testing.T) {
	entity := author(t, at(created)) // comes with an encryption subkey
	signing := addSigningSubkey(t, entity, at(created)).PublicKey.KeyId
	friend := author(t, at(created))
	for name := range entity.Identities {
		if err := entity.SignIdentity(name, friend, at(signed)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"Another Name", "Third Name", "Fourth Name"} {
		if err := entity.AddUserId(name, "", "", at(created)); err != nil {
			t.Fatal(err)
		}
		// One of a kind that has no place here must not spoil the key.
		stray := signatureBy(friend, packet.SignatureType(0x40))
		if err := stray.SignUserId(name, entity.PrimaryKey, friend.PrivateKey, config(signed)); err != nil {
			t.Fatal(err)
		}
		entity.Identities[name].Signatures = append(entity.Identities[name].Signatures, stray)
	}
	key := mustParse(t, export(t, entity))[0]
	for range 10 { // the order of user IDs in the upload says nothing
		if again := mustParse(t, export(t, entity))[0]; again != key {
			t.Fatalf("the same key is exported as %+v and as %+v", key, again)
		}
	}
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.ASCIIArmor))
	if err != nil || len(ring) != 1 {
		t.Fatalf("%d keys, error %v", len(ring), err)
	}
	if got := ring[0].Subkeys; len(got) != 1 || got[0].PublicKey.KeyId != signing {
		t.Errorf("%d subkeys, want the one for signing", len(got))
	}
	if len(ring[0].Identities) != 4 {
		t.Errorf("%d user IDs, want 4", len(ring[0].Identities))
	}
	for name, identity := range ring[0].Identities {
		if len(identity.Signatures) != 1 {
			t.Errorf("%d signatures on %q, want the self-signature alone", len(identity.Signatures), name)
		}
	}
}

func TestParseKeyFileSeveralKeys(t *testing.T) {
	a, b, c := author(t, at(created)), author(t, at(created)), author(t, at(created))
	file := export(t, a, b) + "\n \r\n" + strings.ReplaceAll(export(t, c), "\n", "\r\n")
	keys := mustParse(t, file)
	want := []*openpgp.Entity{a, b, c}
	if len(keys) != len(want) {
		t.Fatalf("%d keys, want %d", len(keys), len(want))
	}
	for i, key := range keys {
		if key.Fingerprint != fingerprint(want[i].PrimaryKey) {
			t.Errorf("key %d is %s", i, key.KeyID)
		}
		if strings.Count(key.ASCIIArmor, beginMark) != 1 || len(mustParse(t, key.ASCIIArmor)) != 1 {
			t.Errorf("key %d is not armored alone", i)
		}
	}
}

func TestParseKeyFileToleratesArmorForms(t *testing.T) {
	text := export(t, author(t, at(created)))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for name, file := range map[string]string{
		"headers":           strings.Replace(text, "\n\n", "\nVersion: GnuPG v2\nComment: mine\n\n", 1),
		"no checksum":       strings.Join(append(lines[:len(lines)-2:len(lines)-2], lines[len(lines)-1]), "\n"),
		"wrong checksum":    strings.Replace(text, lines[len(lines)-2], "=AAAA", 1),
		"blank around":      "\n\n" + text + "\n\n",
		"no last line feed": strings.TrimSpace(text),
	} {
		t.Run(name, func(t *testing.T) { mustParse(t, file) })
	}
}

// What says nothing of a key, or what a reader may pass over, does not spoil it.
func TestParseKeyFilePassesOverPackets(t *testing.T) {
	text := export(t, author(t, at(created)))
	want, body := mustParse(t, text)[0], unarmored(t, text)
	for name, passed := range map[string][]byte{
		"a marker":            {0xc0 | tagMarker, 3, 'P', 'G', 'P'},
		"trust":               {0xc0 | tagTrust, 1, 0},
		"a packet of type 40": {0xc0 | tagNonCritical, 1, 0},
		"a packet of type 60": {0xc0 | 60, 1, 0},
	} {
		for place, file := range map[string][]byte{"before": append(bytes.Clone(passed), body...), "after": append(bytes.Clone(body), passed...)} {
			keys, err := parseKeyFileAt(now, []byte(armored(t, openpgp.PublicKeyType, file)))
			if err != nil || len(keys) != 1 || keys[0] != want {
				t.Errorf("%s %s: %+v, error %v", name, place, keys, err)
			}
		}
	}
}

func TestParseKeyFileDates(t *testing.T) {
	const year = 365 * 24 * time.Hour
	tests := map[string]struct {
		make       func(t *testing.T) *openpgp.Entity
		expires    time.Time
		selfSigned time.Time
	}{
		"primary expires": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, lifetime(2*year)))
		}, created.Add(2 * year), created},
		"the primary user ID decides": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created, lifetime(2*year)))
			if err := entity.AddUserId("Later", "", "", at(signed)); err != nil {
				t.Fatal(err)
			}
			return entity
		}, created.Add(2 * year), signed},
		"subkey outlives no primary": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created, lifetime(2*year)))
			addSigningSubkey(t, entity, at(signed, lifetime(5*year)))
			return entity
		}, created.Add(2 * year), signed},
		"only the subkey signs": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			addSigningSubkey(t, entity, at(created, lifetime(2*year)))
			return entity
		}, created.Add(2 * year), created},
		"the later of two subkeys": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			addSigningSubkey(t, entity, at(created, lifetime(year/2)))
			addSigningSubkey(t, entity, at(signed, lifetime(year)))
			return entity
		}, signed.Add(year), signed},
		"the second of two subkeys never expires": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			addSigningSubkey(t, entity, at(created, lifetime(2*year)))
			addSigningSubkey(t, entity, at(created))
			return entity
		}, time.Time{}, created},
		"expired subkey of a primary that signs": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			addSigningSubkey(t, entity, at(created, lifetime(time.Hour)))
			return entity
		}, time.Time{}, created},
		"a revoked subkey that would live longer": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			addSigningSubkey(t, entity, at(created, lifetime(2*year)))
			revokeSubkey(t, entity, addSigningSubkey(t, entity, at(created)))
			return entity
		}, created.Add(2 * year), signed},
		"a user ID that is later than a subkey": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			addSigningSubkey(t, entity, at(created))
			resign(t, entity, signed, 0)
			return entity
		}, time.Time{}, signed},
		"revoked subkey": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			revokeSubkey(t, entity, addSigningSubkey(t, entity, at(created, lifetime(2*year))))
			return entity
		}, time.Time{}, signed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			key := mustParse(t, export(t, test.make(t)))[0]
			if !key.Expires.Equal(test.expires) || !key.SelfSigned.Equal(test.selfSigned) {
				t.Errorf("expires %s, self-signed %s; want %s, %s", key.Expires, key.SelfSigned, test.expires, test.selfSigned)
			}
		})
	}
}

func revokeSubkey(t *testing.T, entity *openpgp.Entity, subkey *openpgp.Subkey) {
	t.Helper()
	if err := entity.RevokeSubkey(subkey, packet.KeySuperseded, "", at(signed)); err != nil {
		t.Fatal(err)
	}
}

// A key uploaded again with a longer life is the later one, whichever comes
// first.
func TestExtendedKeyIsLater(t *testing.T) {
	entity := author(t, at(created, lifetime(400*24*time.Hour)))
	short := mustParse(t, export(t, entity))[0]
	longer := uint32(4 * 365 * 24 * 60 * 60)
	for name, identity := range entity.Identities {
		identity.SelfSignature.CreationTime, identity.SelfSignature.KeyLifetimeSecs = signed, &longer
		if err := identity.SelfSignature.SignUserId(name, entity.PrimaryKey, entity.PrivateKey, at(signed)); err != nil {
			t.Fatal(err)
		}
	}
	long := mustParse(t, export(t, entity))[0]
	if long.Fingerprint != short.Fingerprint || !long.SelfSigned.After(short.SelfSigned) || !long.Expires.After(short.Expires) {
		t.Errorf("before %+v\nafter %+v", short, long)
	}
}

func TestParseKeyFileRejectsFiles(t *testing.T) {
	entity := author(t, at(created))
	good := export(t, entity)
	body := unarmored(t, good)
	private := exportPrivate(t, entity)
	lines := strings.SplitAfter(good, "\n")
	utf16 := []byte("\xff\xfe")
	for _, r := range []byte(good) {
		utf16 = append(utf16, r, 0)
	}
	utf16Private := []byte("\xff\xfe")
	for _, r := range armored(t, openpgp.PrivateKeyType, private) {
		utf16Private = append(utf16Private, byte(r), 0)
	}
	var message bytes.Buffer
	w, err := openpgp.Sign(nopCloser{&message}, entity, nil, at(signed))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	userID := []byte{0xc0 | tagUserID, 3, 'A', 'd', 'a'}
	unreadable := []byte{0xc0 | tagSignature, 1, 3}
	anonymous := bytes.Clone(withoutIssuer(t))
	anonymous[3] = byte(packet.SigTypeKeyRevocation)
	const exposed = "consider the key exposed, revoke it, and upload the output of gpg --armor --export"
	tests := map[string]struct {
		file string
		want []string
	}{
		"empty":                    {"", []string{"the file is empty"}},
		"too large":                {strings.Repeat("x", MaxKeyFile+1), []string{"262145 bytes, more than the 262144"}},
		"plain text":               {"hello\n", []string{"holds no OpenPGP public key in armor"}},
		"binary":                   {string(body), []string{"not armored but binary"}},
		"UTF-16":                   {string(utf16), []string{"UTF-16"}},
		"UTF-16, big end first":    {"\xfe\xff\x00-\x00-", []string{"UTF-16"}},
		"as large as may be":       {strings.Repeat("x", MaxKeyFile), []string{"holds no OpenPGP public key in armor"}},
		"a line that is no header": {strings.Replace(good, "\n\n", "\nno header\n\n", 1), []string{"lacks the blank line"}},
		"SSH key":                  {"ssh-ed25519 AAAA me@example.com\n", []string{"holds no OpenPGP public key in armor"}},
		"private":                  {armored(t, openpgp.PrivateKeyType, private), []string{exposed}},
		"private, binary":          {string(private), []string{exposed}},
		"private, UTF-16":          {string(utf16Private), []string{exposed}},
		"private subkey alone":     {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagPrivateSubkey, 1, 4)), []string{exposed}},
		"private, version 1":       {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagPrivateSubkey, 1, 1)), []string{"holds something else than public keys"}},
		"private, version 2":       {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagPrivateSubkey, 1, 2)), []string{exposed}},
		"private, version 6":       {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagPrivateSubkey, 1, 6)), []string{exposed}},
		"private, version 7":       {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagPrivateSubkey, 1, 7)), []string{"holds something else than public keys"}},
		"private, without body":    {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagPrivateSubkey, 0)), []string{"holds something else than public keys"}},
		"a packet of type 39":      {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), 0xc0|tagNonCritical-1, 1, 1)), []string{"of type 39"}},
		"private, cut short":       {string(private[:len(private)/8]), []string{exposed}},
		"private, armor cut":       {"-----BEGIN PGP PRIVATE KEY BLOCK-----\n", []string{exposed}},
		"private, named public":    {armored(t, openpgp.PublicKeyType, private), []string{exposed}},
		"private after public":     {good + armored(t, openpgp.PrivateKeyType, private), []string{exposed}},
		"private amid public":      {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), private...)), []string{exposed}},
		"private, other format":    {good + "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n", []string{exposed}},
		"junk before":              {"Here is my key:\nBest regards\n" + good, []string{"line 1 is not part of an armored key"}},
		"junk after":               {good + "-- \nMe\n", []string{"is not part of an armored key"}},
		"junk between, twice":      {good + "a\n" + good + "b\n", []string{"is not part of", "is not part of", "stands in the file more than once"}},
		"byte order mark":          {"\ufeff" + good, []string{"line 1 is not part of an armored key"}},
		"indented":                 {" " + good, []string{"line 1 is not part of an armored key"}},
		"no END line":              {strings.Join(lines[:len(lines)-2], ""), []string{"begins on line 1 has no END line"}},
		"second block in first":    {strings.Join(lines[:5], "") + good, []string{"begins on line 1 has no END line"}},
		"other END line":           {strings.Replace(good, "END PGP PUBLIC", "END PGP", 1), []string{"no END line"}},
		"lines missing":            {lines[0] + lines[1] + lines[2] + lines[len(lines)-2], []string{"begins on line 1 is damaged or was cut short"}},
		"not base64":               {strings.Replace(good, lines[2], "!"+lines[2], 1), []string{"not base64"}},
		"text after checksum":      {strings.Replace(good, "\n-----END", "\nmore\n-----END", 1), []string{"not base64"}},
		"no blank line":            {strings.Replace(good, "\n\n", "\n", 1), []string{"lacks the blank line"}},
		"no keys":                  {lines[0] + "\n" + lines[len(lines)-2], []string{"the file holds no keys"}},
		"signature block":          {armored(t, openpgp.SignatureType, detachSign(t, entity, at(signed))), []string{"is not a PGP PUBLIC KEY BLOCK"}},
		"signature, named key":     {armored(t, openpgp.PublicKeyType, detachSign(t, entity, at(signed))), []string{"certificate number 1 is a signature of another kind"}},
		"message, named key":       {armored(t, openpgp.PublicKeyType, message.Bytes()), []string{"does not begin with a public key"}},
		"signature, then key":      {armored(t, openpgp.PublicKeyType, append(detachSign(t, entity, at(signed)), body...)), []string{"is a signature of another kind"}},
		"signature, then user":     {armored(t, openpgp.PublicKeyType, append(detachSign(t, entity, at(signed)), userID...)), []string{"does not begin with a public key", "is a signature of another kind"}},
		"unreadable signature":     {armored(t, openpgp.PublicKeyType, unreadable), []string{"certificate number 1 cannot be read"}},
		"anonymous revocation":     {armored(t, openpgp.PublicKeyType, anonymous), []string{"does not name the key that it revokes"}},
		"revocation alone":         {armored(t, openpgp.PublicKeyType, revocationOf(t, author(t, at(created)))), []string{"holds a revocation certificate"}},
		"key, then message":        {armored(t, openpgp.PublicKeyType, append(bytes.Clone(body), message.Bytes()...)), []string{"holds something else than public keys"}},
		"junk and no keys":         {"junk\n" + lines[0] + "\n" + lines[len(lines)-2], []string{"line 1 is not part of an armored key"}},
		"a checksum alone":         {lines[0] + "\n=AAAA\n" + lines[len(lines)-2], []string{"the file holds no keys"}},
		"twice the same":           {good + good, []string{"stands in the file more than once"}},
		"certificate of the web":   {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", []string{"is not a PGP PUBLIC KEY BLOCK"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			keys, err := parseKeyFileAt(now, []byte(test.file))
			checkViolations(t, err, test.want...)
			if keys != nil {
				t.Errorf("keys are %v", keys)
			}
		})
	}
}

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

func TestParseKeyFileRejectsKeys(t *testing.T) {
	tests := map[string]struct {
		make func(t *testing.T) *openpgp.Entity
		want string
	}{
		"RSA 1024": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, rsaBits(1024)))
		}, "RSA key of fewer than 2048"},
		"secp256k1": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, algorithm(packet.PubKeyAlgoECDSA, packet.CurveSecP256k1)))
		}, "ECDSA key over the curve SecP256k1"},
		"brainpool": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, algorithm(packet.PubKeyAlgoECDSA, packet.CurveBrainpoolP256)))
		}, "ECDSA key over the curve"},
		"EdDSA over Curve448": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, algorithm(packet.PubKeyAlgoEdDSA, packet.Curve448)))
		}, "EdDSA key over the curve"},
		"Ed25519 of RFC 9580": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, algorithm(packet.PubKeyAlgoEd25519, "")))
		}, "public-key algorithm 27"},
		"Ed448": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, algorithm(packet.PubKeyAlgoEd448, "")))
		}, "public-key algorithm 28"},
		"version 6": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, algorithm(packet.PubKeyAlgoEd25519, ""), func(c *packet.Config) { c.V6Keys = true }))
		}, "key number 1 is an OpenPGP key of version 6"},
		"revoked": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			if err := entity.RevokeKey(packet.KeyRetired, "", at(signed)); err != nil {
				t.Fatal(err)
			}
			return entity
		}, "is revoked"},
		"user IDs revoked": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			revokeIdentities(t, entity)
			return entity
		}, "no user ID that is not revoked: to end the trust"},
		"expired": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(created, lifetime(24*time.Hour)))
		}, "expired on 2025-01-02 12:00:00 UTC: extend it"},
		"only signing subkey expired": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			addSigningSubkey(t, entity, at(created, lifetime(24*time.Hour)))
			return entity
		}, "expired on 2025-01-02 12:00:00 UTC"},
		"only signing subkey revoked": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			revokeSubkey(t, entity, addSigningSubkey(t, entity, at(created)))
			return entity
		}, "cannot sign"},
		"cannot sign": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			certifyOnly(t, entity)
			return entity
		}, "cannot sign"},
		"weak signing subkey": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			addSigningSubkey(t, entity, at(created, rsaBits(1024)))
			return entity
		}, "which is an RSA key of fewer than 2048"},
		"signing subkey without cross-signature": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			subkey := addSigningSubkey(t, entity, at(created))
			subkey.Sig.EmbeddedSignature = nil
			if err := subkey.Sig.SignKey(subkey.PublicKey, entity.PrivateKey, at(created)); err != nil {
				t.Fatal(err)
			}
			return entity
		}, "self-signatures do not verify"},
		"user ID of another key": {func(t *testing.T) *openpgp.Entity {
			entity := author(t, at(created))
			entity.Identities = author(t, at(created)).Identities
			return entity
		}, "self-signatures do not verify"},
		"created in the future": {func(t *testing.T) *openpgp.Entity {
			return author(t, at(now.Add(clockSkew+time.Second)))
		}, "created in the future"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseKeyFileAt(now, []byte(export(t, test.make(t))))
			checkViolations(t, err, test.want)
		})
	}
}

func revokeIdentities(t *testing.T, entity *openpgp.Entity) {
	t.Helper()
	for name, identity := range entity.Identities {
		revocation := signatureBy(entity, packet.SigTypeCertificationRevocation)
		if err := revocation.SignUserId(name, entity.PrimaryKey, entity.PrivateKey, at(signed)); err != nil {
			t.Fatal(err)
		}
		identity.Signatures = append(identity.Signatures, revocation)
	}
}

func signatureBy(entity *openpgp.Entity, kind packet.SignatureType) *packet.Signature {
	return &packet.Signature{
		Version:      4,
		SigType:      kind,
		PubKeyAlgo:   entity.PrimaryKey.PubKeyAlgo,
		Hash:         crypto.SHA512,
		CreationTime: signed,
		IssuerKeyId:  &entity.PrimaryKey.KeyId,
	}
}

// The latest binding says what a subkey is for.
func TestParseKeyFileSubkeyThatSignsNoMore(t *testing.T) {
	entity := author(t, at(created))
	certifyOnly(t, entity)
	subkey := addSigningSubkey(t, entity, at(created))
	binding := signatureBy(entity, packet.SigTypeSubkeyBinding)
	binding.FlagsValid, binding.FlagAuthenticate = true, true
	if err := binding.SignKey(subkey.PublicKey, entity.PrivateKey, config(signed)); err != nil {
		t.Fatal(err)
	}
	var latest bytes.Buffer
	if err := binding.Serialize(&latest); err != nil {
		t.Fatal(err)
	}
	body := append(unarmored(t, export(t, entity)), latest.Bytes()...) // the subkey stands last
	_, err := parseKeyFileAt(now, []byte(armored(t, openpgp.PublicKeyType, body)))
	checkViolations(t, err, "cannot sign")
}

func TestParseKeyFileReportsEveryKey(t *testing.T) {
	expired := author(t, at(created, lifetime(time.Hour)))
	good := author(t, at(created))
	weak := author(t, at(created, rsaBits(1024)))
	_, err := parseKeyFileAt(now, []byte(export(t, expired, good)+export(t, weak)+"junk\n"))
	checkViolations(t, err,
		"is not part of an armored key",
		"key "+keyID(expired.PrimaryKey.KeyId)+" expired on",
		"key "+keyID(weak.PrimaryKey.KeyId)+" is an RSA key")
}

// All problems of a key are reported, also if it is in the file twice, or if other keys
// cannot be read.
func TestParseKeyFileSaysOfAKeyWhatIsWrongWithIt(t *testing.T) {
	expired, weak := author(t, at(created, lifetime(time.Hour))), author(t, at(created, rsaBits(1024)))
	_, err := parseKeyFileAt(now, []byte(export(t, expired, expired, weak, weak)))
	checkViolations(t, err, "expired on", "expired on", "is an RSA key", "is an RSA key")
}

// A user ID with a revocation and no signature does not count.
func TestParseKeyFileLeavesOutRevokedUserIDs(t *testing.T) {
	entity := author(t, at(created))
	want := mustParse(t, export(t, entity))[0]
	revocation := signatureBy(entity, packet.SigTypeCertificationRevocation)
	if err := revocation.SignUserId("Another Name", entity.PrimaryKey, entity.PrivateKey, at(signed)); err != nil {
		t.Fatal(err)
	}
	var another bytes.Buffer
	for _, p := range []serializer{packet.NewUserId("Another Name", "", ""), revocation} {
		if err := p.Serialize(&another); err != nil {
			t.Fatal(err)
		}
	}
	body := append(unarmored(t, export(t, entity)), another.Bytes()...)
	if keys := mustParse(t, armored(t, openpgp.PublicKeyType, body)); len(keys) != 1 || keys[0] != want {
		t.Errorf("it reads as %+v, want %+v", keys, want)
	}
}

// Of these, the whole sentence is what the author reads.
func TestParseKeyFileInWholeSentences(t *testing.T) {
	entity := author(t, at(created))
	lone := armored(t, openpgp.PublicKeyType, revocationOf(t, entity))
	revokeIdentities(t, entity)
	for want, text := range map[string]string{
		"invalid key file: the file holds a revocation certificate": lone,
		"invalid key file: key " + keyID(entity.PrimaryKey.KeyId) +
			" has no user ID that is not revoked: to end the trust in a key, revoke the key itself": export(t, entity),
	} {
		if _, err := parseKeyFileAt(now, []byte(text)); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// Of two user IDs the one that is marked as primary comes first, or else the later one. A
// mark with the value false does not count.
func TestCompareIdentities(t *testing.T) {
	yes, no := true, false
	id := func(name string, when time.Time, primary *bool) *openpgp.Identity {
		return &openpgp.Identity{Name: name, SelfSignature: &packet.Signature{CreationTime: when, IsPrimaryId: primary}}
	}
	inOrder := []*openpgp.Identity{id("z", created, &yes), id("y", signed, nil), id("a", created, &no), id("b", created, nil), id("c", created, &no)}
	for i, a := range inOrder {
		for k, b := range inOrder {
			if got := compareIdentities(a, b); got != cmp.Compare(i, k) {
				t.Errorf("%s, %s: %d", a.Name, b.Name, got)
			}
		}
	}
}

// An old subkey that nobody may sign with any more does not spoil the key.
func TestParseKeyFileDropsRevokedWeakSubkey(t *testing.T) {
	entity := author(t, at(created))
	revokeSubkey(t, entity, addSigningSubkey(t, entity, at(created, rsaBits(1024))))
	if key := mustParse(t, export(t, entity))[0]; !key.SelfSigned.Equal(created) {
		t.Errorf("self-signed %s", key.SelfSigned)
	}
}

// A revocation that cannot be read is not ignored.
func TestParseKeyFileRejectsUnreadableRevocations(t *testing.T) {
	entity := author(t, at(created))
	addSigningSubkey(t, entity, at(created))
	if err := entity.RevokeKey(packet.KeyRetired, "", at(signed)); err != nil {
		t.Fatal(err)
	}
	var revocation, primary bytes.Buffer
	if err := entity.Revocations[0].Serialize(&revocation); err != nil {
		t.Fatal(err)
	}
	if err := entity.PrimaryKey.Serialize(&primary); err != nil {
		t.Fatal(err)
	}
	entity.Revocations = nil
	body := unarmored(t, export(t, entity))
	unreadable := revocation.Bytes()
	unreadable[2] = 3 // the version, after tag and length
	for name, file := range map[string]struct {
		body []byte
		want string
	}{
		"of the key":    {bytes.Join([][]byte{primary.Bytes(), unreadable, body[primary.Len():]}, nil), "carries a signature, perhaps its revocation"},
		"of the subkey": {append(bytes.Clone(body), unreadable...), "has the signing subkey"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseKeyFileAt(now, []byte(armored(t, openpgp.PublicKeyType, file.body)))
			checkViolations(t, err, file.want)
		})
	}
}

func TestViolationsAreBounded(t *testing.T) {
	text := strings.Repeat("-----BEGIN X-----\n-----END X-----\n", 1000)
	_, err := parseKeyFileAt(now, []byte(text))
	want := make([]string, maxViolations, maxViolations+1)
	checkViolations(t, err, append(want, "more problems")...)
}

func TestUnusable(t *testing.T) {
	one := big.NewInt(1)
	bits := func(n uint) *packet.PublicKey {
		return packet.NewRSAPublicKey(created, &rsa.PublicKey{N: new(big.Int).Lsh(one, n-1), E: 65537})
	}
	for name, test := range map[string]struct {
		key  *packet.PublicKey
		want string // "": usable
	}{
		"RSA, just short enough": {bits(maxRSABits), ""},
		"DSA":                    {&packet.PublicKey{PubKeyAlgo: packet.PubKeyAlgoDSA}, "is a DSA key"},
		"RSA, too short":         {bits(minRSABits - 1), "is an RSA key of fewer"},
		"RSA, just enough":       {bits(minRSABits), ""},
		"RSA, just too long":     {bits(maxRSABits + 1), "or more than 16384 bits"},
	} {
		if why := unusable(test.key); !strings.Contains(why, test.want) || (why == "") != (test.want == "") {
			t.Errorf("%s: the key %q, want %q", name, why, test.want)
		}
	}
}

// A key is served in lines, also where its file has none, and must be small enough
// then.
func TestReadKeyFileLargestKey(t *testing.T) {
	named := func(length int) string {
		entity, err := openpgp.NewEntity(strings.Repeat("x", length), "", "", at(created))
		if err != nil {
			t.Fatal(err)
		}
		entity.Subkeys = nil
		return export(t, entity)
	}
	length := MaxKeyFile/65*48 - 1000 // of a name: 48 bytes are a line of 64 letters
	for text := named(length); len(text) <= MaxKeyFile+20; text = named(length) {
		if len(text) < MaxKeyFile-100 {
			length += 48
			continue
		}
		length++
		file, err := ReadKeyFile(inOneLine(text))
		if len(text) > MaxKeyFile {
			checkViolations(t, err, fmt.Sprintf("takes %d bytes as it would be served, with its user IDs", len(text)))
			continue
		}
		if err != nil || file.Keys[0].ASCIIArmor != text {
			t.Fatalf("of %d bytes: error %v", len(text), err)
		}
		if again := readFile(t, text); again.Keys[0] != file.Keys[0] {
			t.Error("the largest key is another one, read again")
		}
	}
	for length, fits := range map[int]bool{MaxKeyFile: true, MaxKeyFile + 1: false} {
		if got := (PublicKey{ASCIIArmor: strings.Repeat("x", length)}).TooLarge(); (got == "") != fits {
			t.Errorf("of a key of %d bytes it is said that it %s", length, got)
		}
	}
}

// inOneLine is an armored key with all of its data in one line, and no checksum.
func inOneLine(text string) []byte {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := len(lines) - 1
	return []byte(strings.Join(lines[:2], "\n") + "\n" + strings.Join(lines[2:last-1], "") + "\n" + lines[last])
}
