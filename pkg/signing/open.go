package signing

import (
	"crypto"
	"crypto/rsa"
	"errors"
	"fmt"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// OpenKey returns a key that [NewKey] made, from the ASCIIArmor of its [PublicKey] and its
// signer. Its public key and signatures are the same, byte for byte. OpenKey does not
// sign.
//
// The signer's Public method may return nil, if it would have to send a request. [Key.Sign]
// checks every signature, so that none of another key is returned.
//
// It fails if armored is not as NewKey wrote it, or is not the signer's.
func OpenKey(signer crypto.Signer, armored string) (*Key, error) {
	entity, public, err := readOwnKey(armored)
	if err != nil {
		return nil, fmt.Errorf("stored public key: %w", err)
	}
	own := entity.PrimaryKey.PublicKey.(*rsa.PublicKey) // readOwnKey has checked the type
	if known := signer.Public(); known != nil && !own.Equal(known) {
		return nil, fmt.Errorf("stored public key %s: it belongs to another signing key than the one in use", public.KeyID)
	}
	return &Key{
		signer:     signer,
		rsa:        own,
		primary:    entity.PrimaryKey,
		identities: entity.Identities,
		public:     public,
	}, nil
}

// readOwnKey reads the armored public key of a [Key], whose self-signature it
// verifies.
func readOwnKey(armored string) (*openpgp.Entity, PublicKey, error) {
	var found Violations
	groups := readKeyGroups([]byte(armored), &found)
	if len(found) > 0 {
		return nil, PublicKey{}, found
	}
	if len(groups) != 1 || groups[0].isRevocation() {
		return nil, PublicKey{}, fmt.Errorf("it holds %d keys instead of one", len(groups))
	}
	primary, revocation, problem := groups[0].primary()
	if revocation != nil {
		problem = "is revoked"
	}
	if problem != "" {
		return nil, PublicKey{}, fmt.Errorf("%s %s", groups[0].label(1), problem)
	}
	entity, problems := groups[0].entity(primary)
	if len(problems) > 0 {
		return nil, PublicKey{}, fmt.Errorf("%s %s", groups[0].label(1), problems[0])
	}
	c := newCertificate(entity)
	if !c.isOwn() {
		return nil, PublicKey{}, fmt.Errorf("key %s is not one that a registry made for itself", keyID(c.primary.KeyId))
	}
	public, err := c.export()
	if err != nil {
		return nil, PublicKey{}, err
	}
	if public.ASCIIArmor != armored {
		return nil, PublicKey{}, errors.New("it was changed since it was stored")
	}
	return entity, public, nil
}

// isOwn reports whether the certificate has the form that [NewKey] gives: RSA,
// with one user ID, signed when the key was created, for signing and for ever.
func (c certificate) isOwn() bool {
	if _, ok := c.primary.PublicKey.(*rsa.PublicKey); !ok || len(c.identities) != 1 || len(c.subkeys) > 0 {
		return false
	}
	self := c.identities[0].SelfSignature
	return self.FlagSign && self.CreationTime.Equal(c.primary.CreationTime) && c.expires().IsZero()
}
