package signing

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// MaxSignature is the size, in bytes, of the largest signature.
const MaxSignature = 64 << 10

// What can be wrong with a signature: an [InvalidSignatureError] wraps one.
var (
	// ErrSignatureForm: not one detached signature in binary form.
	ErrSignatureForm = errors.New("not a detached binary OpenPGP signature")
	// ErrWeakHash: made with another hash than SHA-256, SHA-384 or SHA-512.
	ErrWeakHash = errors.New("signature with a weak hash")
	// ErrSignatureMismatch: not made over these bytes, or not by this key.
	ErrSignatureMismatch = errors.New("signature does not match the document")
	// ErrSignatureLifetime: valid for a limited time only.
	ErrSignatureLifetime = errors.New("signature with a lifetime")
	// ErrSignatureTime: expired, or made in the future or before its key.
	ErrSignatureTime = errors.New("signature is not valid at this time")
	// ErrKeyExpired: the key that made the signature has expired.
	ErrKeyExpired = errors.New("signing key has expired")
	// ErrKeyRevoked: the key that made the signature is revoked.
	ErrKeyRevoked = errors.New("signing key is revoked")
)

// An InvalidSignatureError says what is wrong with a signature, and what to do.
type InvalidSignatureError struct {
	kind   error // one of the above
	detail string
}

func (e *InvalidSignatureError) Error() string { return e.kind.Error() + ": " + e.detail }

// Unwrap returns the kind of fault, such as [ErrWeakHash].
func (e *InvalidSignatureError) Unwrap() error { return e.kind }

func invalid(kind error, format string, args ...any) error {
	return &InvalidSignatureError{kind, fmt.Sprintf(format, args...)}
}

// An UnknownIssuerError says that none of the given keys made a signature. A key that is
// uploaded later may have made it.
type UnknownIssuerError struct {
	// KeyID is the ID of the key that made the signature, perhaps a subkey: 16
	// upper-case hexadecimal digits.
	KeyID string
}

func (e *UnknownIssuerError) Error() string {
	return fmt.Sprintf("no public key for the signature: it was made with key %s", e.KeyID)
}

// InspectSignature checks the form of a signature before it is served, and returns the ID
// of the key that made it, perhaps a subkey: 16 upper-case hexadecimal digits. It needs
// neither key nor document. No client refuses the form of a signature that it accepts, now
// or later; [Verify] accepts what clients accept today. The error is an
// *[InvalidSignatureError].
func InspectSignature(signature []byte) (issuerKeyID string, err error) {
	parsed, contents, err := parseSignature(signature)
	if err != nil {
		return "", err
	}
	if !hasPlainLength(signature) {
		return "", invalid(ErrSignatureForm, "its length is not written as GnuPG reads it: %s", adviceBinary)
	}
	if err := checkSubpackets(contents, *parsed.IssuerKeyId); err != nil {
		return "", err
	}
	return keyID(*parsed.IssuerKeyId), nil
}

// Verify checks a signature over a document, and returns the one of the keys that made it,
// itself or with a subkey. Keys and signatures must be valid now; their times may be up to
// five minutes in the future.
//
// Errors: *[InvalidSignatureError]; *[UnknownIssuerError]; any other if the
// armor of one of the keys cannot be read.
func Verify(keys []PublicKey, document, signature []byte) (by PublicKey, err error) {
	return verifyAt(time.Now(), keys, document, signature)
}

func verifyAt(now time.Time, keys []PublicKey, document, signature []byte) (PublicKey, error) {
	parsed, _, err := parseSignature(signature)
	if err != nil {
		return PublicKey{}, err
	}
	var failure error
	for _, key := range keys {
		ring, err := readRing(key)
		if err != nil {
			return PublicKey{}, err
		}
		made := ring.KeysById(*parsed.IssuerKeyId)
		if len(made) == 0 {
			continue
		}
		if failure = verify(now, ring, made[0], parsed, document, signature); failure == nil {
			return key, nil
		}
	}
	if failure != nil {
		return PublicKey{}, failure
	}
	return PublicKey{}, &UnknownIssuerError{KeyID: keyID(*parsed.IssuerKeyId)}
}

// verify checks a signature that names the key made, of the ring.
func verify(now time.Time, ring openpgp.EntityList, made openpgp.Key, parsed *packet.Signature, document, signature []byte) error {
	if parsed.CreationTime.After(now) && !parsed.CreationTime.After(now.Add(clockSkew)) {
		now = parsed.CreationTime
	}
	_, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(signature), config(now))
	id, at := keyID(made.PublicKey.KeyId), parsed.CreationTime.UTC().Format(timeLayout)
	switch {
	case isRevoked(made):
		return invalid(ErrKeyRevoked, "%s: sign again with another key", id)
	case err == nil && parsed.CreationTime.Before(made.PublicKey.CreationTime):
		return invalid(ErrSignatureTime, "it was made on %s, before its key %s: check the clock of the machine that signs", at, id)
	case err == nil:
		return nil
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return invalid(ErrSignatureMismatch, "the key %s is not marked for signing", id)
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return invalid(ErrKeyRevoked, "%s: sign again with another key", id)
	case errors.Is(err, pgperrors.ErrSignatureExpired) && parsed.CreationTime.After(now):
		return invalid(ErrSignatureTime, "it was made on %s, in the future: check the clock of the machine that signs", at)
	case errors.Is(err, pgperrors.ErrSignatureExpired) && parsed.SigExpired(now):
		return invalid(ErrSignatureTime, "it was made on %s and has expired: sign again with gpg --default-sig-expire 0", at)
	case errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired):
		return invalid(ErrKeyExpired, "%s: extend it and upload the public key again", id)
	}
	return invalid(ErrSignatureMismatch, "it names the key %s, but document or signature are not as they were signed", id)
}

// isRevoked reports whether a key is revoked, whatever date the revocation has:
// a date is what its maker wrote.
func isRevoked(key openpgp.Key) bool {
	return len(key.Revocations) > 0 || len(key.Entity.Revocations) > 0
}

// parseSignature reads one binary signature of version 4 over a document, and
// returns the contents of its packet, too.
func parseSignature(data []byte) (*packet.Signature, []byte, error) {
	p, err := readOnlyPacket(data)
	if err != nil {
		return nil, nil, err
	}
	if err := checkSignatureHeader(p.Contents); err != nil {
		return nil, nil, err
	}
	parsed, _ := p.Parse()
	signature, ok := parsed.(*packet.Signature) // else it is p itself
	if !ok {
		return nil, nil, invalid(ErrSignatureForm, "it is damaged")
	}
	if signature.IssuerKeyId == nil {
		return nil, nil, invalid(ErrSignatureForm, "it does not name the key that made it")
	}
	if !isWhole(signature, p) {
		return nil, nil, invalid(ErrSignatureForm, "it has bytes that are no part of the signature")
	}
	return signature, p.Contents, nil
}

const adviceBinary = "make it with gpg --detach-sign, without --armor"

// hasPlainLength reports whether the header of a packet says how long it is:
// GnuPG reads no signature that ends where the file does, or comes in pieces.
func hasPlainLength(data []byte) bool {
	if newFormat := data[0]&0x40 != 0; newFormat {
		return data[1] < 224 || data[1] == 255
	}
	return data[0]&3 != 3
}

// readOnlyPacket returns the one signature packet that data must be.
func readOnlyPacket(data []byte) (*packet.OpaquePacket, error) {
	if len(data) == 0 {
		return nil, invalid(ErrSignatureForm, "it is empty")
	}
	if len(data) > MaxSignature {
		return nil, invalid(ErrSignatureForm, "it has %d bytes, more than the %d that are allowed", len(data), MaxSignature)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(beginMark)) {
		return nil, invalid(ErrSignatureForm, "it is armored text, which clients cannot read: %s", adviceBinary)
	}
	reader := bytes.NewReader(data)
	p, err := packet.NewOpaqueReader(reader).Next()
	switch {
	case err != nil:
		return nil, invalid(ErrSignatureForm, "it is damaged or was cut short: %s", adviceBinary)
	case p.Tag != tagSignature:
		return nil, invalid(ErrSignatureForm, "it holds something else (an OpenPGP packet of type %d): %s", p.Tag, adviceBinary)
	case reader.Len() > 0:
		return nil, invalid(ErrSignatureForm, "it holds more than one signature, or other bytes after it: sign with one key, once")
	}
	return p, nil
}

// Values from RFC 9580, sections 5.2.1 and 9.5.
const (
	typeDocument     = 0x00
	typeTextDocument = 0x01
)

var (
	strongHashes = []byte{8, 9, 10} // SHA-256, SHA-384, SHA-512
	weakHashes   = map[byte]string{1: "MD5", 2: "SHA-1", 3: "RIPEMD-160", 11: "SHA-224"}
)

// checkSignatureHeader checks version, type and hash, the first and second and
// fourth byte of a signature packet.
func checkSignatureHeader(contents []byte) error {
	if len(contents) < 4 || contents[0] != 4 {
		return invalid(ErrSignatureForm, "it is not of OpenPGP version 4")
	}
	switch contents[1] {
	case typeDocument:
	case typeTextDocument:
		return invalid(ErrSignatureForm, "it was made in text mode: leave out --textmode")
	default:
		return invalid(ErrSignatureForm, "it signs a key or something else than a document")
	}
	if hash := contents[3]; !slices.Contains(strongHashes, hash) {
		name, ok := weakHashes[hash]
		if !ok {
			name = fmt.Sprintf("hash algorithm %d", hash)
		}
		return invalid(ErrWeakHash, "%s: sign with --digest-algo SHA512", name)
	}
	return nil
}

// isWhole reports whether all of the packet was read into the signature: clients
// would take what is left over for further packets.
func isWhole(signature *packet.Signature, p *packet.OpaquePacket) bool {
	var again bytes.Buffer
	if signature.Serialize(&again) != nil {
		return false
	}
	read, err := packet.NewOpaqueReader(&again).Next()
	return err == nil && bytes.Equal(read.Contents, p.Contents)
}
