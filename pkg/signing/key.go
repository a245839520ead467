// Package signing makes and checks the OpenPGP signatures of SHA256SUMS documents, and
// reads the armored public keys that go with them.
//
//   - A [Key] signs for the registry, with any RSA crypto.Signer: a key file on
//     one machine ([LoadOrCreate]), or a key that never leaves its hardware.
//     [NewKey] makes it, and [OpenKey] opens it again with its stored public half.
//   - [ParseKeyFile] reads the public keys that an author uploads, and says in
//     plain words what is wrong with them.
//   - [InspectSignature] and [Verify] check an author's signature.
//
// The Terraform and OpenTofu CLIs can use all that this package accepts:
// version 4 keys and signatures, RSA, ECDSA over the NIST curves or Ed25519,
// and detached signatures in binary form.
package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// A ContextSigner is a crypto.Signer that does I/O to sign. [Key] calls
// SignContext in place of Sign, with the context it was given.
type ContextSigner interface {
	crypto.Signer
	SignContext(ctx context.Context, rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error)
}

// A Key signs documents as an OpenPGP version 4 key without subkeys. It is safe
// for concurrent use if its signer is.
type Key struct {
	signer     crypto.Signer
	rsa        *rsa.PublicKey
	primary    *packet.PublicKey
	identities map[string]*openpgp.Identity // read-only once the key is made
	public     PublicKey
}

// NewKey returns the OpenPGP key made of signer, its creation time (cut to
// seconds) and a name, which becomes the key's user ID and must not contain
// "(", ")", "<", ">" or NUL. These three determine the fingerprint and every byte of the
// armored public key: after a restart the signer must come with the same time and name.
//
// NewKey signs once, over the name. It fails if signer is not RSA of at least
// 2048 bits with PKCS #1 v1.5 signatures, and wraps the signer's own error.
func NewKey(ctx context.Context, signer crypto.Signer, created time.Time, name string) (*Key, error) {
	public, ok := signer.Public().(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("signing key: it must be an RSA key, not %T", signer.Public())
	}
	if bits := public.N.BitLen(); bits < minRSABits {
		return nil, fmt.Errorf("signing key: it has %d bits and needs at least %d", bits, minRSABits)
	}
	created = created.UTC().Truncate(time.Second)
	if seconds := created.Unix(); seconds <= 0 || seconds > math.MaxUint32 {
		return nil, fmt.Errorf("signing key: the creation time %s has no place in an OpenPGP key", created.Format(time.RFC3339))
	}
	k := &Key{
		signer:     signer,
		rsa:        public,
		primary:    packet.NewRSAPublicKey(created, public),
		identities: make(map[string]*openpgp.Identity),
	}
	entity, recorder := k.entity(ctx)
	if err := recorder.outcome(entity.AddUserId(name, "", "", config(created))); err != nil {
		return nil, fmt.Errorf("signing key: sign its user ID %q: %w", name, err)
	}
	var err error
	if k.public, err = newCertificate(entity).export(); err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	return k, nil
}

// PublicKey returns the public half, as clients need it to verify.
func (k *Key) PublicKey() PublicKey { return k.public }

// Sign returns a detached binary signature over document, made with SHA-512.
//
// Its date is always that of the key's creation. So a document has the same signature
// however often it is signed, and a client whose clock is late does not refuse a new
// signature as one from the future.
//
// The signer's own error is wrapped.
func (k *Key) Sign(ctx context.Context, document []byte) ([]byte, error) {
	entity, recorder := k.entity(ctx)
	var signature bytes.Buffer
	err := openpgp.DetachSign(&signature, entity, bytes.NewReader(document), config(k.primary.CreationTime))
	if err := recorder.outcome(err); err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", k.public.KeyID, err)
	}
	return signature.Bytes(), nil
}

// entity returns the key in go-crypto's form, for one signature, together with the
// recorder that it has as its signer.
func (k *Key) entity(ctx context.Context) (*openpgp.Entity, *signRecorder) {
	recorder := &signRecorder{ctx: ctx, signer: k.signer, public: k.rsa}
	return &openpgp.Entity{
		PrimaryKey: k.primary,
		// packet.NewSignerPrivateKey panics over signers it does not know.
		PrivateKey: &packet.PrivateKey{PublicKey: *k.primary, PrivateKey: recorder},
		Identities: k.identities,
	}, recorder
}

// config makes signatures depend only on the document and the time. It sets the
// algorithms, since the key's preferences name them, and so the key's bytes depend on them.
func config(at time.Time) *packet.Config {
	randomized := false
	return &packet.Config{
		DefaultHash:                           crypto.SHA512,
		DefaultCipher:                         packet.CipherAES256,
		DefaultCompressionAlgo:                packet.CompressionNone,
		Time:                                  func() time.Time { return at },
		NonDeterministicSignaturesViaNotation: &randomized,
	}
}

// A signRecorder passes the request for one signature to its signer and keeps the error:
// go-crypto drops the error of an RSA signer, and has no contexts.
type signRecorder struct {
	ctx    context.Context // of the one call that uses the recorder
	signer crypto.Signer
	public *rsa.PublicKey
	err    error
}

func (r *signRecorder) Public() crypto.PublicKey { return r.public }

func (r *signRecorder) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	signature, err := r.sign(rand, digest, opts)
	if err == nil {
		err = r.check(digest, opts, signature)
	}
	r.err = err
	return signature, err
}

func (r *signRecorder) sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if signer, ok := r.signer.(ContextSigner); ok {
		return signer.SignContext(r.ctx, rand, digest, opts)
	}
	return r.signer.Sign(rand, digest, opts)
}

// check refuses a signature that nobody could verify, such as that of a signer that hashes
// the digest once more, or that has another key.
func (r *signRecorder) check(digest []byte, opts crypto.SignerOpts, signature []byte) error {
	if rsa.VerifyPKCS1v15(r.public, opts.HashFunc(), digest, signature) != nil {
		return errors.New("the signer returned a signature that the public key does not verify: " +
			"it signs with another key, or something else than it was given")
	}
	return nil
}

// outcome returns the signer's own error, if it had one, else go-crypto's.
func (r *signRecorder) outcome(err error) error {
	if r.err != nil {
		return r.err
	}
	return err
}
