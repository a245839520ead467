package signing

import (
	"crypto"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Terraform before 1.6 can read only the accepted ones of these keys.
func TestReadKeyFileRejectsSelfSignaturesThatOldClientsCannotRead(t *testing.T) {
	noIssuer := func(s *packet.Signature) { s.IssuerKeyId = nil }
	ofHash := func(hash crypto.Hash) func(*packet.Signature) {
		return func(s *packet.Signature) { s.Hash = hash }
	}
	ofType := func(kind packet.SignatureType) func(*packet.Signature) {
		return func(s *packet.Signature) { s.SigType = kind }
	}
	withNotation := func(critical bool) func(*packet.Signature) {
		return func(s *packet.Signature) {
			s.Notations = []*packet.Notation{{Name: "release@example.com", Value: []byte("1"), IsCritical: critical, IsHumanReadable: true}}
		}
	}
	for name, test := range map[string]struct {
		userID, subkey, cross, revocation func(*packet.Signature)
		want                              string // "": it is accepted
	}{
		"a user ID with SHA-224":                 {userID: ofHash(crypto.SHA224)},
		"a user ID with SHA-256":                 {userID: ofHash(crypto.SHA256)},
		"a user ID with SHA-384":                 {userID: ofHash(crypto.SHA384)},
		"a user ID with SHA3-512":                {userID: ofHash(crypto.SHA3_512), want: "a user ID whose self-signature has the hash algorithm 14"},
		"a user ID of type generic":              {userID: ofType(packet.SigTypeGenericCert)},
		"a user ID of type persona":              {userID: ofType(packet.SigTypePersonaCert), want: "a user ID whose self-signature is of type 0x11"},
		"a user ID of type casual":               {userID: ofType(packet.SigTypeCasualCert), want: "a user ID whose self-signature is of type 0x12"},
		"a user ID with a fingerprint alone":     {userID: noIssuer, want: "a user ID whose self-signature does not name the ID of the key"},
		"a user ID with a notation":              {userID: withNotation(false)},
		"a user ID with a critical notation":     {userID: withNotation(true), want: "a user ID whose self-signature marks a subpacket of type 20"},
		"a subkey":                               {subkey: func(*packet.Signature) {}},
		"a subkey with a fingerprint alone":      {subkey: noIssuer},
		"a subkey with SHA3-256":                 {subkey: ofHash(crypto.SHA3_256), want: "a signing subkey whose self-signature has the hash algorithm 12"},
		"a subkey with a notation":               {subkey: withNotation(false)},
		"a subkey with a critical notation":      {subkey: withNotation(true), want: "a signing subkey whose self-signature marks a subpacket of type 20"},
		"a cross-signature with SHA3-256":        {cross: ofHash(crypto.SHA3_256), want: "holds one by the subkey that has the hash algorithm 12"},
		"a cross-signature, critical notation":   {cross: withNotation(true), want: "holds one by the subkey that marks a subpacket of type 20"},
		"a revoked subkey":                       {revocation: func(*packet.Signature) {}},
		"a revoked subkey, SHA3-256":             {revocation: ofHash(crypto.SHA3_256), want: "a signing subkey whose self-signature has the hash algorithm 12"},
		"a revoked subkey with critical details": {revocation: withNotation(true), want: "a signing subkey whose self-signature marks a subpacket of type 20"},
	} {
		t.Run(name, func(t *testing.T) {
			entity := author(t, at(created))
			if test.userID != nil {
				certify(t, entity, test.userID)
			}
			if test.subkey != nil || test.cross != nil || test.revocation != nil {
				bind(t, entity, addSigningSubkey(t, entity, at(created)), test.subkey, test.cross, test.revocation)
			}
			_, err := parseKeyFileAt(now, []byte(export(t, entity)))
			if test.want != "" {
				checkViolations(t, err, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// certify signs the user IDs anew, with a change.
func certify(t *testing.T, entity *openpgp.Entity, change func(*packet.Signature)) {
	t.Helper()
	for name, identity := range entity.Identities {
		signature := identity.SelfSignature
		signature.IssuerFingerprint = entity.PrimaryKey.Fingerprint
		change(signature)
		if err := signature.SignUserId(name, entity.PrimaryKey, entity.PrivateKey, at(created)); err != nil {
			t.Fatal(err)
		}
	}
}

// bind signs a subkey anew, with changes to the signatures on it.
func bind(t *testing.T, entity *openpgp.Entity, subkey *openpgp.Subkey, change, cross, revocation func(*packet.Signature)) {
	t.Helper()
	if cross != nil {
		cross(subkey.Sig.EmbeddedSignature)
		if err := subkey.Sig.EmbeddedSignature.CrossSignKey(subkey.PublicKey, entity.PrimaryKey, subkey.PrivateKey, at(created)); err != nil {
			t.Fatal(err)
		}
	}
	subkey.Sig.IssuerFingerprint = entity.PrimaryKey.Fingerprint
	if change != nil {
		change(subkey.Sig)
	}
	if err := subkey.Sig.SignKey(subkey.PublicKey, entity.PrivateKey, at(created)); err != nil {
		t.Fatal(err)
	}
	if revocation != nil {
		signature := signatureBy(entity, packet.SigTypeSubkeyRevocation)
		revocation(signature)
		if err := signature.RevokeSubkey(subkey.PublicKey, entity.PrivateKey, at(signed)); err != nil {
			t.Fatal(err)
		}
		subkey.Revocations = append(subkey.Revocations, signature)
	}
}

func TestUnreadableContents(t *testing.T) {
	for name, test := range map[string]struct {
		contents string
		want     string
	}{
		"empty":                       {"", "has damaged subpackets"},
		"cut short":                   {"\x04\x13\x01\x08\x00\x07\x05\x02", "has damaged subpackets"},
		"none":                        {"\x04\x13\x01\x08\x00\x00\x00\x00", ""},
		"SHA-1":                       {"\x04\x13\x01\x02\x00\x00\x00\x00", ""},
		"RIPEMD-160":                  {"\x04\x13\x01\x03\x00\x00\x00\x00", "has the hash algorithm 3"},
		"created":                     {"\x04\x13\x01\x08\x00\x06\x05\x02aaaa\x00\x00", ""},
		"created, critical":           {"\x04\x13\x01\x08\x00\x06\x05\x82aaaa\x00\x00", ""},
		"created, beside":             {"\x04\x13\x01\x08\x00\x00\x00\x06\x05\x02aaaa", "says beside what is signed when it was made"},
		"policy":                      {"\x04\x13\x01\x08\x00\x03\x02\x1aa\x00\x00", ""},
		"policy, critical":            {"\x04\x13\x01\x08\x00\x03\x02\x9aa\x00\x00", "marks a subpacket of type 26"},
		"policy, critical, beside":    {"\x04\x13\x01\x08\x00\x00\x00\x03\x02\x9aa", "marks a subpacket of type 26"},
		"fingerprint, critical":       {"\x04\x13\x01\x08\x00\x02\x01\xa1\x00\x00", "marks a subpacket of type 33"},
		"embedded":                    {"\x04\x18\x01\x08\x00\x0a\x09\x20\x04\x19\x01\x08\x00\x00\x00\x00\x00\x00", ""},
		"embedded of SHA3":            {"\x04\x18\x01\x08\x00\x0a\x09\x20\x04\x19\x01\x0c\x00\x00\x00\x00\x00\x00", "holds one by the subkey that has the hash algorithm 12"},
		"embedded of SHA3, beside":    {"\x04\x18\x01\x08\x00\x00\x00\x0a\x09\x20\x04\x19\x01\x0c\x00\x00\x00\x00", "holds one by the subkey that has the hash algorithm 12"},
		"embedded, of too few bytes":  {"\x04\x18\x01\x08\x00\x05\x04\x20\x04\x19\x01\x00\x00", "holds one by the subkey that has damaged subpackets"},
		"all that is known, critical": {"\x04\x13\x01\x08\x00\x14\x01\x83\x01\x89\x01\x8b\x01\x90\x01\x95\x01\x96\x01\x99\x01\x9b\x01\x9d\x01\x9e\x00\x00", ""},
	} {
		got := unreadableContents([]byte(test.contents))
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
