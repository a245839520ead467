package signing

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Terraform before 1.6 reads keys with an older library. That library refuses a key if it
// does not know something in a signature on the key. Then nothing that the key has signed
// could be installed.

var (
	// keyHashes are the hashes that every client knows, and that are safe in a
	// self-signature: SHA-1 and all of SHA-2.
	keyHashes = []byte{2, 8, 9, 10, 11}

	// criticalKeySubpackets are the types that every client knows: times, preferences,
	// issuer, primary user ID, key flags, reason, features, and the cross-signature.
	criticalKeySubpackets = []byte{subpacketCreated, subpacketLifetime, 9, 11, subpacketIssuer, 21, 22, 25, 27, 29, 30, subpacketEmbedded}
)

const adviceKey = "make a key without further options (gpg --quick-generate-key), and sign with that one"

// unreadable says why some clients cannot read the signatures that are published with the
// key.
func (c certificate) unreadable() (problems []string) {
	add := func(on, why string) {
		if why != "" {
			problems = append(problems, fmt.Sprintf("has %s whose self-signature %s: %s", on, why, adviceKey))
		}
	}
	for _, identity := range c.identities {
		add("a user ID", unreadableCertification(identity.SelfSignature))
	}
	for _, subkey := range c.subkeys {
		add("a signing subkey", unreadableSignature(subkey.Sig))
		for _, revocation := range subkey.Revocations {
			add("a signing subkey", unreadableSignature(revocation))
		}
	}
	return problems
}

// unreadableCertification is unreadableSignature for a signature over a user ID.
func unreadableCertification(signature *packet.Signature) string {
	if t := signature.SigType; t != packet.SigTypeGenericCert && t != packet.SigTypePositiveCert {
		return fmt.Sprintf("is of type 0x%x, which Terraform before 1.6 does not take for one", byte(t))
	}
	signed, unsigned, _ := splitSubpackets(contents(signature))
	if !slices.ContainsFunc(slices.Concat(signed, unsigned), ofKind(subpacketIssuer)) {
		return "does not name the ID of the key, which Terraform before 1.6 needs"
	}
	return unreadableSignature(signature)
}

// unreadableSignature says why some clients cannot read a signature on a key, or "".
func unreadableSignature(signature *packet.Signature) string {
	return unreadableContents(contents(signature))
}

func unreadableContents(contents []byte) string {
	signed, unsigned, ok := splitSubpackets(contents)
	if !ok {
		return "has damaged subpackets"
	}
	if hash := contents[3]; !slices.Contains(keyHashes, hash) {
		return fmt.Sprintf("has the hash algorithm %d, which Terraform before 1.6 does not know", hash)
	}
	if slices.ContainsFunc(unsigned, ofKind(subpacketCreated)) {
		return "says beside what is signed when it was made, which Terraform before 1.6 refuses"
	}
	for _, s := range slices.Concat(signed, unsigned) {
		if s.critical && !slices.Contains(criticalKeySubpackets, s.kind) {
			return fmt.Sprintf("marks a subpacket of type %d, such as a notation or a policy, as critical, which Terraform before 1.6 refuses", s.kind)
		}
		if s.kind == subpacketEmbedded {
			if why := unreadableContents(s.body); why != "" {
				return "holds one by the subkey that " + why
			}
		}
	}
	return ""
}

// contents returns the contents of the signature's packet, and nil if it cannot be
// written.
func contents(signature *packet.Signature) []byte {
	var written bytes.Buffer
	if signature.Serialize(&written) != nil {
		return nil
	}
	p, err := packet.NewOpaqueReader(&written).Next()
	if err != nil {
		return nil
	}
	return p.Contents
}
