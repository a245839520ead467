package signing

import (
	"bytes"
	"crypto"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func TestVerifyAccepts(t *testing.T) {
	other := mustParse(t, export(t, author(t, at(created))))[0]
	withSubkey := author(t, at(created))
	certifyOnly(t, withSubkey)
	addSigningSubkey(t, withSubkey, at(created))
	for name, test := range map[string]struct {
		entity *openpgp.Entity
		config *packet.Config
	}{
		"primary key":         {author(t, at(created)), at(signed)},
		"signing subkey":      {withSubkey, at(signed)},
		"RSA":                 {author(t, at(created, rsaBits(2048))), at(signed)},
		"SHA-256":             {author(t, at(created)), at(signed, hash(crypto.SHA256))},
		"SHA-384":             {author(t, at(created)), at(signed, hash(crypto.SHA384))},
		"SHA-512":             {author(t, at(created)), at(signed, hash(crypto.SHA512))},
		"with a life to come": {author(t, at(created)), at(signed, func(c *packet.Config) { c.SigLifetimeSecs = 1 << 30 })},
		"clock a bit ahead":   {author(t, at(created)), at(now.Add(clockSkew))},
		"key and clock ahead": {author(t, at(now.Add(time.Minute))), at(now.Add(time.Minute))},
	} {
		t.Run(name, func(t *testing.T) {
			key := mustParse(t, export(t, test.entity))[0]
			signature := detachSign(t, test.entity, test.config)
			by, err := verifyAt(now, []PublicKey{other, key}, document, signature)
			if err != nil || by != key {
				t.Fatalf("by %s, error %v; want %s", by.KeyID, err, key.KeyID)
			}
			if name == "with a life to come" {
				_, err := InspectSignature(signature)
				checkInvalid(t, err, ErrSignatureLifetime, "gpg --default-sig-expire 0")
				return
			}
			made, _ := test.entity.SigningKey(test.config.Now())
			if id, err := InspectSignature(signature); err != nil || id != keyID(made.PublicKey.KeyId) {
				t.Errorf("InspectSignature() = %s, %v", id, err)
			}
		})
	}
}

func hash(h crypto.Hash) func(*packet.Config) {
	return func(c *packet.Config) { c.DefaultHash = h }
}

func TestVerifyUnknownIssuer(t *testing.T) {
	entity := author(t, at(created))
	subkey := addSigningSubkey(t, entity, at(created))
	signature := detachSign(t, entity, at(signed))
	for name, keys := range map[string][]PublicKey{
		"no keys":   nil,
		"other key": mustParse(t, export(t, author(t, at(created)))),
	} {
		_, err := verifyAt(now, keys, document, signature)
		var unknown *UnknownIssuerError
		if !errors.As(err, &unknown) || unknown.KeyID != keyID(subkey.PublicKey.KeyId) {
			t.Errorf("%s: error is %v, want the key ID of the subkey", name, err)
		}
		if !strings.Contains(err.Error(), unknown.KeyID) {
			t.Errorf("%s: %q does not name the key", name, err)
		}
	}
}

func TestVerifyRejects(t *testing.T) {
	entity := author(t, at(created))
	signature := detachSign(t, entity, at(signed))
	flipped := bytes.Clone(signature)
	flipped[len(flipped)-1] ^= 1

	keyExpired := author(t, at(created, lifetime(400*24*time.Hour)))
	subkeyExpired := author(t, at(created))
	addSigningSubkey(t, subkeyExpired, at(created, lifetime(400*24*time.Hour)))
	subkeyRevoked := author(t, at(created))
	addSigningSubkey(t, subkeyRevoked, at(created))
	bySubkey := detachSign(t, subkeyRevoked, at(signed))
	revokeSubkey(t, subkeyRevoked, &subkeyRevoked.Subkeys[len(subkeyRevoked.Subkeys)-1])
	noSign := author(t, at(created))
	byNoSign := detachSign(t, noSign, at(signed))
	certifyOnly(t, noSign)
	addSigningSubkey(t, noSign, at(created))
	young := author(t, at(signed))
	byYoung := signRaw(t, young, created, crypto.SHA512, packet.SigTypeBinary)

	ending := author(t, at(created))
	for name, identity := range ending.Identities {
		seconds := uint32(400 * 24 * 60 * 60) // of the signature, and not of the key
		identity.SelfSignature.SigLifetimeSecs = &seconds
		if err := identity.SelfSignature.SignUserId(name, ending.PrimaryKey, ending.PrivateKey, at(created)); err != nil {
			t.Fatal(err)
		}
	}

	later := created.Add(500 * 24 * time.Hour)
	tests := map[string]struct {
		entity    *openpgp.Entity
		document  []byte
		signature []byte
		at        time.Time
		want      error
		says      string
	}{
		"other document":     {entity, append([]byte("x"), document...), signature, now, ErrSignatureMismatch, keyID(entity.PrimaryKey.KeyId)},
		"empty document":     {entity, nil, signature, now, ErrSignatureMismatch, "not as they were signed"},
		"damaged signature":  {entity, document, flipped, now, ErrSignatureMismatch, "not as they were signed"},
		"key expired":        {keyExpired, document, detachSign(t, keyExpired, at(signed)), later, ErrKeyExpired, "extend it"},
		"subkey expired":     {subkeyExpired, document, detachSign(t, subkeyExpired, at(signed)), later, ErrKeyExpired, "extend it"},
		"subkey revoked":     {subkeyRevoked, document, bySubkey, now, ErrKeyRevoked, "another key"},
		"signature expired":  {entity, document, detachSign(t, entity, at(signed, func(c *packet.Config) { c.SigLifetimeSecs = 60 })), now, ErrSignatureTime, "has expired"},
		"signed tomorrow":    {entity, document, detachSign(t, entity, at(now.Add(24*time.Hour))), now, ErrSignatureTime, "in the future"},
		"clock far ahead":    {entity, document, detachSign(t, entity, at(now.Add(clockSkew+time.Second))), now, ErrSignatureTime, "in the future"},
		"older than its key": {young, document, byYoung, now, ErrSignatureTime, "before its key"},
		"other and older":    {young, append([]byte("x"), document...), byYoung, now, ErrSignatureMismatch, "not as they were signed"},
		"other, tomorrow":    {entity, append([]byte("x"), document...), detachSign(t, entity, at(now.Add(24*time.Hour))), now, ErrSignatureMismatch, "not as they were signed"},
		"other, and expired": {entity, append([]byte("x"), document...), detachSign(t, entity, at(signed, func(c *packet.Config) { c.SigLifetimeSecs = 60 })), now, ErrSignatureMismatch, "not as they were signed"},
		"key signed to end":  {ending, document, detachSign(t, ending, at(signed)), later, ErrKeyExpired, "extend it"},
		"key must not sign":  {noSign, document, byNoSign, now, ErrSignatureMismatch, "not marked for signing"},
		"SHA-1":              {entity, document, signRaw(t, entity, signed, crypto.SHA1, packet.SigTypeBinary), now, ErrWeakHash, "SHA-1"},
		"SHA-224":            {entity, document, signRaw(t, entity, signed, crypto.SHA224, packet.SigTypeBinary), now, ErrWeakHash, "SHA-224"},
		"text mode":          {entity, document, signRaw(t, entity, signed, crypto.SHA512, packet.SigTypeText), now, ErrSignatureForm, "--textmode"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			keys := mustParse(t, export(t, test.entity))
			by, err := verifyAt(test.at, keys, test.document, test.signature)
			checkInvalid(t, err, test.want, test.says)
			if by != (PublicKey{}) {
				t.Errorf("names the key %s all the same", by.KeyID)
			}
		})
	}
}

// The primary key was revoked, or its user ID, after its upload was accepted.
func TestVerifyWithRevokedKey(t *testing.T) {
	entity := author(t, at(created))
	signature := detachSign(t, entity, at(signed))
	key := mustParse(t, export(t, entity))[0]
	if err := entity.RevokeKey(packet.KeyCompromised, "", at(signed)); err != nil {
		t.Fatal(err)
	}
	key.ASCIIArmor = export(t, entity)
	_, err := verifyAt(now, []PublicKey{key}, document, signature)
	checkInvalid(t, err, ErrKeyRevoked, key.KeyID)

	entity.Revocations = nil
	revokeIdentities(t, entity)
	key.ASCIIArmor = export(t, entity)
	_, err = verifyAt(now, []PublicKey{key}, document, signature)
	checkInvalid(t, err, ErrKeyRevoked, key.KeyID)

	withSubkey := author(t, at(created))
	addSigningSubkey(t, withSubkey, at(created))
	bySubkey := detachSign(t, withSubkey, at(signed))
	if err := withSubkey.RevokeKey(packet.KeySuperseded, "", at(now.AddDate(1, 0, 0))); err != nil {
		t.Fatal(err)
	}
	_, err = verifyAt(now, []PublicKey{{ASCIIArmor: export(t, withSubkey)}}, document, bySubkey)
	checkInvalid(t, err, ErrKeyRevoked, keyID(withSubkey.Subkeys[1].PublicKey.KeyId))
}

// Of two forms of a key, the one that verifies counts, in whatever order.
func TestVerifyWithOldAndNewForm(t *testing.T) {
	entity := author(t, at(created, lifetime(400*24*time.Hour)))
	old := mustParse(t, export(t, entity))[0]
	forever := uint32(0)
	for name, identity := range entity.Identities {
		identity.SelfSignature.CreationTime, identity.SelfSignature.KeyLifetimeSecs = signed, &forever
		if err := identity.SelfSignature.SignUserId(name, entity.PrimaryKey, entity.PrivateKey, at(signed)); err != nil {
			t.Fatal(err)
		}
	}
	extended := mustParse(t, export(t, entity))[0]
	signature := detachSign(t, entity, at(signed))
	later := created.Add(500 * 24 * time.Hour)
	for _, keys := range [][]PublicKey{{old, extended}, {extended, old}} {
		if by, err := verifyAt(later, keys, document, signature); err != nil || by != extended {
			t.Errorf("by %+v, error %v", by, err)
		}
	}
}

func TestVerifyWithUnreadableKey(t *testing.T) {
	signature := detachSign(t, author(t, at(created)), at(signed))
	_, err := verifyAt(now, []PublicKey{{KeyID: "0123456789ABCDEF", ASCIIArmor: "damaged"}}, document, signature)
	var wrong *InvalidSignatureError
	if err == nil || errors.As(err, &wrong) || !strings.Contains(err.Error(), "0123456789ABCDEF") {
		t.Errorf("error is %v, want one that blames the key", err)
	}
}

func TestInspectSignatureRejects(t *testing.T) {
	entity := author(t, at(created))
	good := detachSign(t, entity, at(signed))
	contents := func(change func([]byte) []byte) []byte {
		p, err := packet.NewOpaqueReader(bytes.NewReader(good)).Next()
		if err != nil {
			t.Fatal(err)
		}
		p.Contents = change(p.Contents)
		var b bytes.Buffer
		if err := p.Serialize(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	setByte := func(at int, value byte) []byte {
		return contents(func(c []byte) []byte { c[at] = value; return c })
	}
	tests := map[string]struct {
		signature []byte
		want      error
		says      string
	}{
		"empty":              {nil, ErrSignatureForm, "empty"},
		"too large":          {make([]byte, MaxSignature+1), ErrSignatureForm, "65537 bytes, more than the 65536"},
		"as large as may be": {make([]byte, MaxSignature), ErrSignatureForm, "damaged"},
		"armored":            {[]byte(armored(t, openpgp.SignatureType, good)), ErrSignatureForm, "gpg --detach-sign, without --armor"},
		"armored, indented":  {[]byte("\n " + armored(t, openpgp.SignatureType, good)), ErrSignatureForm, "gpg --detach-sign, without --armor"},
		"clear text":         {[]byte("-----BEGIN PGP SIGNED MESSAGE-----\n"), ErrSignatureForm, "armored text"},
		"not OpenPGP":        {[]byte("hello\n"), ErrSignatureForm, "damaged"},
		"cut short":          {good[:len(good)-1], ErrSignatureForm, "cut short"},
		"a packet's header":  {good[:1], ErrSignatureForm, "cut short"},
		"twice":              {append(bytes.Clone(good), good...), ErrSignatureForm, "more than one signature"},
		"followed by text":   {append(bytes.Clone(good), '\n'), ErrSignatureForm, "more than one signature"},
		"bytes inside":       {contents(func(c []byte) []byte { return append(c, 0) }), ErrSignatureForm, "no part of the signature"},
		"a key":              {unarmored(t, export(t, entity)), ErrSignatureForm, "packet of type 6"},
		"no contents":        {contents(func([]byte) []byte { return nil }), ErrSignatureForm, "version 4"},
		"a header cut short": {contents(func(c []byte) []byte { return c[:3] }), ErrSignatureForm, "version 4"},
		"a header alone":     {contents(func(c []byte) []byte { return c[:4] }), ErrSignatureForm, "damaged"},
		"version 3":          {setByte(0, 3), ErrSignatureForm, "version 4"},
		"version 6":          {setByte(0, 6), ErrSignatureForm, "version 4"},
		"over a key":         {setByte(1, byte(packet.SigTypeDirectSignature)), ErrSignatureForm, "signs a key"},
		"text mode":          {setByte(1, typeTextDocument), ErrSignatureForm, "--textmode"},
		"unknown algorithm":  {setByte(2, 99), ErrSignatureForm, "damaged"},
		"MD5":                {setByte(3, 1), ErrWeakHash, "MD5: sign with --digest-algo SHA512"},
		"SHA-1":              {setByte(3, 2), ErrWeakHash, "SHA-1"},
		"RIPEMD-160":         {setByte(3, 3), ErrWeakHash, "RIPEMD-160"},
		"SHA-224":            {setByte(3, 11), ErrWeakHash, "SHA-224"},
		"SHA3-512":           {setByte(3, 14), ErrWeakHash, "hash algorithm 14"},
		"no issuer":          {withoutIssuer(t), ErrSignatureForm, "does not name the key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			id, err := InspectSignature(test.signature)
			checkInvalid(t, err, test.want, test.says)
			if id != "" {
				t.Errorf("names the key %s all the same", id)
			}
			_, err = verifyAt(now, nil, document, test.signature)
			checkInvalid(t, err, test.want, test.says)
		})
	}
}

func checkInvalid(t *testing.T, err, want error, says string) {
	t.Helper()
	var wrong *InvalidSignatureError
	if !errors.As(err, &wrong) || !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("error is %v, want %q that says %q", err, want, says)
	}
}

// signRaw signs the document as openpgp.DetachSign would, were it not careful.
func signRaw(t *testing.T, entity *openpgp.Entity, when time.Time, h crypto.Hash, kind packet.SignatureType) []byte {
	t.Helper()
	signature := signatureBy(entity, kind)
	signature.Hash, signature.CreationTime = h, when
	digest := h.New()
	digest.Write(document)
	if err := signature.Sign(digest, entity.PrivateKey, config(when)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := signature.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withoutIssuer returns a signature packet whose only subpacket is its time.
func withoutIssuer(t *testing.T) []byte {
	t.Helper()
	p := packet.OpaquePacket{Tag: tagSignature, Contents: []byte{
		4, typeDocument, byte(packet.PubKeyAlgoRSA), 10,
		0, 6, 5, 2, 1, 2, 3, 4, // hashed: the creation time
		0, 0, // not hashed: nothing
		1, 2, // first bytes of the hash
		0, 8, 255, // the signature
	}}
	var b bytes.Buffer
	if err := p.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
