package signing

import (
	"bytes"
	"cmp"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const (
	minRSABits = 2048
	maxRSABits = 16384

	// clockSkew is how far ahead of the registry's clock an author's may be.
	clockSkew = 5 * time.Minute

	timeLayout = "2006-01-02 15:04:05 MST"
)

// A PublicKey is one OpenPGP public key, in the words of the provider registry
// protocol.
type PublicKey struct {
	// KeyID is the primary key's ID: 16 upper-case hexadecimal digits, the last
	// of the fingerprint.
	KeyID string
	// Fingerprint is the primary key's: 40 upper-case hexadecimal digits.
	Fingerprint string
	// ASCIIArmor is the key alone, in one armored block: the primary key, its
	// user IDs and its signing subkeys, with their latest self-signatures.
	ASCIIArmor string
	// SelfSigned is when the owner last changed the key. Of two uploads of the same
	// key, the later one by this time counts.
	SelfSigned time.Time
	// Expires is when neither the key nor a subkey makes valid signatures any more.
	// Zero: never.
	Expires time.Time
	// Revoked is when the owner has revoked the key, as the revocation says. Zero:
	// it is not revoked. The ASCIIArmor of a revoked key is the primary key and the
	// revocation.
	Revoked time.Time
	// RevokedSubkeys is whether the owner has revoked a signing subkey.
	RevokedSubkeys bool

	created    time.Time
	cannotSign bool // neither the primary key nor a subkey
}

// Problem says, in plain words, why clients could not verify a signature that the key makes
// now. It is empty if they can.
func (k PublicKey) Problem(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "is revoked: sign with another key and upload that one"
	case k.cannotSign:
		return "cannot sign: neither the primary key nor a subkey that is not revoked is marked for signing"
	case k.created.After(now.Add(clockSkew)):
		return fmt.Sprintf("was created in the future, on %s: check the clock of the machine that made it",
			k.created.Format(timeLayout))
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return fmt.Sprintf("expired on %s: extend it (gpg --quick-set-expire %[2]s 2y, and for subkeys "+
			"gpg --quick-set-expire %[2]s 2y '*') and upload the output of gpg --armor --export again",
			k.Expires.Format(timeLayout), k.Fingerprint)
	}
	return ""
}

// TooLarge says in plain words that the key is too large to be served, or is empty.
func (k PublicKey) TooLarge() string {
	if n := len(k.ASCIIArmor); n > MaxKeyFile {
		return fmt.Sprintf("takes %d bytes as it would be served, with its user IDs, its signing subkeys and their revocations, more than the %d that are allowed: sign with a smaller key", n, MaxKeyFile)
	}
	return ""
}

// A certificate is what this package keeps of an OpenPGP key: what clients need
// to verify a document, in a fixed order.
type certificate struct {
	primary    *packet.PublicKey
	identities []*openpgp.Identity // the primary one first, without revoked ones
	subkeys    []openpgp.Subkey    // those for signing, including revoked ones: clients must know
}

func newCertificate(entity *openpgp.Entity) certificate {
	c := certificate{primary: entity.PrimaryKey}
	for _, identity := range entity.Identities {
		if !revoked(identity) {
			c.identities = append(c.identities, identity)
		}
	}
	slices.SortFunc(c.identities, compareIdentities)
	for _, subkey := range entity.Subkeys {
		if subkey.Sig.FlagSign {
			c.subkeys = append(c.subkeys, subkey)
		}
	}
	return c
}

// revoked reports whether the identity was revoked and not signed anew since.
func revoked(identity *openpgp.Identity) bool {
	return slices.ContainsFunc(identity.Revocations, func(revocation *packet.Signature) bool {
		return identity.SelfSignature == nil || !identity.SelfSignature.CreationTime.After(revocation.CreationTime)
	})
}

// compareIdentities orders as go-crypto prefers them: marked as primary first,
// then the latest.
func compareIdentities(a, b *openpgp.Identity) int {
	rank := func(i *openpgp.Identity) int {
		if primary := i.SelfSignature.IsPrimaryId; primary != nil && *primary {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		b.SelfSignature.CreationTime.Compare(a.SelfSignature.CreationTime),
		cmp.Compare(a.Name, b.Name),
	)
}

func (c certificate) canSign() bool {
	return c.identities[0].SelfSignature.FlagSign || slices.ContainsFunc(c.subkeys, func(subkey openpgp.Subkey) bool {
		return len(subkey.Revocations) == 0
	})
}

// expires returns when the last key that may sign expires, or the primary key
// if that is earlier. Zero: never, or no key may sign.
func (c certificate) expires() time.Time {
	primary := c.identities[0].SelfSignature
	primaryEnd := end(c.primary, primary)
	var ends []time.Time
	if primary.FlagSign {
		ends = append(ends, primaryEnd)
	}
	for _, subkey := range c.subkeys {
		if len(subkey.Revocations) == 0 {
			ends = append(ends, earlier(primaryEnd, end(subkey.PublicKey, subkey.Sig)))
		}
	}
	if len(ends) == 0 {
		return time.Time{}
	}
	return slices.MaxFunc(ends, compareEnds)
}

// end returns when a key stops being valid by its self-signature: at the end of the key's
// lifetime or of the signature's.
func end(key *packet.PublicKey, sig *packet.Signature) time.Time {
	keyEnd := lifeEnd(key.CreationTime, sig.KeyLifetimeSecs)
	return earlier(keyEnd, lifeEnd(sig.CreationTime, sig.SigLifetimeSecs))
}

func lifeEnd(created time.Time, seconds *uint32) time.Time {
	if seconds == nil || *seconds == 0 {
		return time.Time{}
	}
	return created.UTC().Add(time.Duration(*seconds) * time.Second)
}

func earlier(a, b time.Time) time.Time {
	return slices.MinFunc([]time.Time{a, b}, compareEnds)
}

// compareEnds orders times of expiry. Zero, which is never, comes last.
func compareEnds(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// selfSigned returns the time of the latest of the self-signatures.
func (c certificate) selfSigned() (latest time.Time) {
	see := func(sig *packet.Signature) {
		if sig.CreationTime.After(latest) {
			latest = sig.CreationTime.UTC()
		}
	}
	for _, identity := range c.identities {
		see(identity.SelfSignature)
	}
	for _, subkey := range c.subkeys {
		see(subkey.Sig)
		for _, revocation := range subkey.Revocations {
			see(revocation)
		}
	}
	return latest
}

// export returns the certificate for publication. Equal certificates give equal
// bytes.
func (c certificate) export() (PublicKey, error) {
	text, err := armorKey(c.packets())
	if err != nil {
		return PublicKey{}, err
	}
	return PublicKey{
		KeyID:       keyID(c.primary.KeyId),
		Fingerprint: fingerprint(c.primary),
		ASCIIArmor:  text,
		SelfSigned:  c.selfSigned(),
		Expires:     c.expires(),
		RevokedSubkeys: slices.ContainsFunc(c.subkeys, func(subkey openpgp.Subkey) bool {
			return len(subkey.Revocations) > 0
		}),
		created:    c.primary.CreationTime.UTC(),
		cannotSign: !c.canSign(),
	}, nil
}

// revokedKey is a key without anything but its revocation by its owner.
func revokedKey(primary *packet.PublicKey, revocation *packet.Signature) (PublicKey, error) {
	text, err := armorKey([]serializer{primary, revocation})
	if err != nil {
		return PublicKey{}, err
	}
	at := revocation.CreationTime.UTC()
	return PublicKey{
		KeyID:       keyID(primary.KeyId),
		Fingerprint: fingerprint(primary),
		ASCIIArmor:  text,
		SelfSigned:  at,
		Revoked:     at,
		created:     primary.CreationTime.UTC(),
	}, nil
}

type serializer interface{ Serialize(io.Writer) error }

func armorKey(packets []serializer) (string, error) {
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err != nil {
		return "", err
	}
	for _, p := range packets {
		if err := p.Serialize(w); err != nil {
			return "", fmt.Errorf("write public key: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return text.String() + "\n", nil
}

func (c certificate) packets() []serializer {
	packets := []serializer{c.primary}
	for _, identity := range c.identities {
		packets = append(packets, identity.UserId, identity.SelfSignature)
	}
	for _, subkey := range c.subkeys {
		packets = append(packets, subkey.PublicKey)
		for _, revocation := range subkey.Revocations {
			packets = append(packets, revocation)
		}
		packets = append(packets, subkey.Sig)
	}
	return packets
}

// unusable says why clients cannot verify with a key of this kind, or "".
func unusable(key *packet.PublicKey) string {
	const advice = "use RSA of at least 2048 bits, ECDSA over P-256, P-384 or P-521, or Ed25519 in its version 4 form"
	curve, _ := key.Curve() // empty for keys without one
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		public, ok := key.PublicKey.(*rsa.PublicKey)
		if !ok || public.N.BitLen() < minRSABits || public.N.BitLen() > maxRSABits {
			return fmt.Sprintf("is an RSA key of fewer than %d or more than %d bits: %s", minRSABits, maxRSABits, advice)
		}
		return ""
	case packet.PubKeyAlgoECDSA:
		if !slices.Contains([]packet.Curve{packet.CurveNistP256, packet.CurveNistP384, packet.CurveNistP521}, curve) {
			return fmt.Sprintf("is an ECDSA key over the curve %s: %s", curve, advice)
		}
		return ""
	case packet.PubKeyAlgoEdDSA:
		if curve != packet.Curve25519 {
			return fmt.Sprintf("is an EdDSA key over the curve %s: %s", curve, advice)
		}
		return ""
	case packet.PubKeyAlgoDSA:
		return "is a DSA key: " + advice
	}
	return fmt.Sprintf("is a key of OpenPGP's public-key algorithm %d: %s", key.PubKeyAlgo, advice)
}

func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

func fingerprint(key *packet.PublicKey) string {
	return strings.ToUpper(hex.EncodeToString(key.Fingerprint))
}
