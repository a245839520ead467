package signing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// A Revocation is a revocation certificate without the key that it revokes.
type Revocation struct {
	// KeyID is the ID of the key that it names: 16 upper-case hexadecimal digits.
	KeyID string

	signature *packet.Signature
}

// addRevocation adds a signature without a key, which must be a revocation.
func (f *KeyFile) addRevocation(g keyGroup) error {
	signatures, complete := g[0].parseSignatures()
	if !complete {
		return errors.New("cannot be read")
	}
	signature := signatures[0]
	switch {
	case signature.SigType != packet.SigTypeKeyRevocation:
		return errors.New("is a signature of another kind: upload the key that it belongs to, the output of gpg --armor --export")
	case signature.IssuerKeyId == nil:
		return errors.New("does not name the key that it revokes: import it into a keyring (gpg --import), and upload the output of gpg --armor --export")
	}
	f.Revocations = append(f.Revocations, Revocation{keyID(*signature.IssuerKeyId), signature})
	return nil
}

// Revoke returns the key revoked by the certificate, which the key itself must have made.
func (r Revocation) Revoke(key PublicKey) (PublicKey, error) {
	ring, err := readRing(key)
	if err != nil {
		return PublicKey{}, err
	}
	if err := ring[0].PrimaryKey.VerifyRevocationSignature(r.signature); err != nil {
		return PublicKey{}, fmt.Errorf("the revocation certificate was not made by the key %s, which it names (%w)", key.Fingerprint, err)
	}
	return revokedKey(ring[0].PrimaryKey, r.signature)
}

func readRing(key PublicKey) (openpgp.EntityList, error) {
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.ASCIIArmor))
	if err != nil {
		return nil, fmt.Errorf("read public key %s: %w", key.KeyID, err)
	}
	return ring, nil
}

// Issuer returns the one of the keys that a signature names, itself or by a subkey. It does
// not verify that the key made the signature: [Verify] does.
//
// Errors: those of Verify.
func Issuer(keys []PublicKey, signature []byte) (PublicKey, error) {
	parsed, _, err := parseSignature(signature)
	if err != nil {
		return PublicKey{}, err
	}
	for _, key := range keys {
		ring, err := readRing(key)
		if err != nil {
			return PublicKey{}, err
		}
		if len(ring.KeysById(*parsed.IssuerKeyId)) > 0 {
			return key, nil
		}
	}
	return PublicKey{}, &UnknownIssuerError{KeyID: keyID(*parsed.IssuerKeyId)}
}

// NewestForms returns for each key the form that its owner signed last, among those that
// were uploaded. A subkey that is revoked in any form is revoked in the result, too. The
// forms may be in any order.
//
// No key may be revoked. The error says that the armor of a key cannot be read.
func NewestForms(forms []PublicKey) ([]PublicKey, error) {
	forms = slices.Clone(forms)
	slices.SortFunc(forms, func(a, b PublicKey) int {
		return cmp.Or(
			cmp.Compare(a.Fingerprint, b.Fingerprint),
			b.SelfSigned.Compare(a.SelfSigned),
			cmp.Compare(a.ASCIIArmor, b.ASCIIArmor))
	})
	var newest []PublicKey
	for len(forms) > 0 {
		n := 1
		for n < len(forms) && forms[n].Fingerprint == forms[0].Fingerprint {
			n++
		}
		key, err := withRevokedSubkeys(forms[0], forms[1:n])
		if err != nil {
			return nil, err
		}
		newest = append(newest, key)
		forms = forms[n:]
	}
	return newest, nil
}

// withRevokedSubkeys returns a form of a key with the revocations of subkeys from older
// forms. The owner may have extended the key on a machine that did not have them.
func withRevokedSubkeys(form PublicKey, older []PublicKey) (PublicKey, error) {
	if !slices.ContainsFunc(older, func(key PublicKey) bool { return key.RevokedSubkeys }) {
		return form, nil
	}
	ring, err := readRing(form)
	if err != nil {
		return PublicKey{}, err
	}
	c := newCertificate(ring[0])
	for _, key := range older {
		ring, err := readRing(key)
		if err != nil {
			return PublicKey{}, err
		}
		c.revokeSubkeys(newCertificate(ring[0]))
	}
	return c.export()
}

// revokeSubkeys adds the revocations of another form of the certificate.
func (c certificate) revokeSubkeys(other certificate) {
	for i := range c.subkeys {
		mine := &c.subkeys[i]
		for _, theirs := range other.subkeys {
			if len(mine.Revocations) == 0 && slices.Equal(mine.PublicKey.Fingerprint, theirs.PublicKey.Fingerprint) {
				mine.Revocations = theirs.Revocations
			}
		}
	}
}
