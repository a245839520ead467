// Package awskms signs with a key that never leaves AWS KMS.
//
// The key has the key spec RSA_4096 and the key usage SIGN_VERIFY. It is named by its ARN
// and never by an alias: an alias can be moved to another key, and then the stored public
// key would be the wrong one.
//
// # Requests and permissions
//
// [New] calls DescribeKey and GetPublicKey once each, every signature is one
// call of Sign, and [Open] sends no request. So a process that has stored the public key
// needs KMS, and the permission kms:Sign, only when it signs. It needs kms:DescribeKey
// and kms:GetPublicKey only to get the public key the first time.
//
// Signatures are RSASSA-PKCS1-v1_5, which is deterministic: if an answer is lost and the
// request sent again, the signature is the same.
package awskms

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
)

const keyBits = 4096 // of types.KeySpecRsa4096

// algorithms are KMS's names of RSASSA-PKCS1-v1_5 with a hash.
var algorithms = map[crypto.Hash]types.SigningAlgorithmSpec{
	crypto.SHA256: types.SigningAlgorithmSpecRsassaPkcs1V15Sha256,
	crypto.SHA384: types.SigningAlgorithmSpecRsassaPkcs1V15Sha384,
	crypto.SHA512: types.SigningAlgorithmSpecRsassaPkcs1V15Sha512,
}

// Config says which key, and as whom to use it.
type Config struct {
	// KeyARN is the ARN of the key, which names its region:
	// arn:aws:kms:<region>:<account>:key/<key ID>. Required.
	KeyARN string

	// Credentials sign requests. Required.
	Credentials aws.CredentialsProvider

	// Endpoint is the URL of a KMS that is not Amazon's. Empty: Amazon's for the
	// region.
	Endpoint string

	// Transport carries the requests. Nil: [NewTransport].
	Transport http.RoundTripper
}

// Signer is a crypto.Signer with a key in KMS. It is safe for concurrent use.
type Signer struct {
	client  *kms.Client
	arn     string
	keyID   string
	public  *rsa.PublicKey // nil after Open
	created time.Time
}

// Open uses a key without a request: [Signer.Public] is nil and [Signer.Created] zero. The
// error says which setting is wrong.
func Open(cfg Config) (*Signer, error) {
	name, err := arn.Parse(cfg.KeyARN)
	keyID, isKey := strings.CutPrefix(name.Resource, "key/")
	switch {
	case err == nil && name.Service == "kms" && strings.HasPrefix(name.Resource, "alias/"):
		return nil, fmt.Errorf("signing key %q: it is an alias, which can be moved to another key: give the ARN of the key itself", cfg.KeyARN)
	case err != nil || name.Service != "kms" || name.Region == "" || !isKey || keyID == "":
		return nil, fmt.Errorf("signing key %q: it is not the ARN of a KMS key, arn:aws:kms:<region>:<account>:key/<key ID>", cfg.KeyARN)
	case cfg.Credentials == nil:
		return nil, fmt.Errorf("signing key %q: no Credentials are set", cfg.KeyARN)
	}
	return &Signer{client: cfg.client(name.Region), arn: cfg.KeyARN, keyID: keyID}, nil
}

// New uses a key, and asks KMS for its public half and its creation date. It fails if the
// key cannot sign now.
func New(ctx context.Context, cfg Config) (*Signer, error) {
	s, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	description, err := s.client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &s.arn})
	if err != nil {
		return nil, s.failed("DescribeKey", err)
	}
	if err := check(description.KeyMetadata); err != nil {
		return nil, fmt.Errorf("signing key %s: %w", s.arn, err)
	}
	public, err := s.client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: &s.arn})
	if err != nil {
		return nil, s.failed("GetPublicKey", err)
	}
	if s.public, err = parsePublicKey(public.PublicKey); err != nil {
		return nil, fmt.Errorf("signing key %s: %w", s.arn, err)
	}
	s.created = description.KeyMetadata.CreationDate.UTC().Truncate(time.Second)
	return s, nil
}

// check says why a key cannot sign.
func check(key *types.KeyMetadata) error {
	switch {
	case key == nil || key.CreationDate == nil:
		return errors.New("KMS did not describe it")
	case key.KeyUsage != types.KeyUsageTypeSignVerify:
		return fmt.Errorf("its key usage is %s, which cannot be changed: make a key with the key usage %s",
			key.KeyUsage, types.KeyUsageTypeSignVerify)
	case key.KeySpec != types.KeySpecRsa4096:
		return fmt.Errorf("its key spec is %s, which cannot be changed: make a key with the key spec %s",
			key.KeySpec, types.KeySpecRsa4096)
	case key.KeyState == types.KeyStateDisabled:
		return errors.New(disabled)
	case key.KeyState == types.KeyStatePendingDeletion:
		return errors.New(pendingDeletion)
	case key.KeyState != types.KeyStateEnabled:
		return fmt.Errorf("its state is %s, in which it cannot sign", key.KeyState)
	}
	for _, algorithm := range algorithms {
		if !slices.Contains(key.SigningAlgorithms, algorithm) {
			return fmt.Errorf("it cannot sign with %s", algorithm)
		}
	}
	return nil
}

func parsePublicKey(der []byte) (*rsa.PublicKey, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("KMS returned a public key that cannot be read: %w", err)
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok || public.N.BitLen() != keyBits {
		return nil, fmt.Errorf("KMS returned a public key that is not an RSA key of %d bits", keyBits)
	}
	return public, nil
}

// KeyID returns the last part of the key's ARN. No other key of the region and
// account ever has it.
func (s *Signer) KeyID() string { return s.keyID }

// Public returns an *rsa.PublicKey, or nil if the key came from [Open].
func (s *Signer) Public() crypto.PublicKey {
	if s.public == nil {
		return nil
	}
	return s.public
}

// Created returns when the key was made in KMS, in whole seconds. It is zero if
// the key came from [Open].
func (s *Signer) Created() time.Time { return s.created }

// Sign is [Signer.SignContext] without a context.
func (s *Signer) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return s.SignContext(context.Background(), rand, digest, opts)
}

// SignContext signs a digest made with SHA-256, SHA-384 or SHA-512. The source
// of randomness is not used.
//
// The error says what an operator can do, and wraps that of the SDK.
func (s *Signer) SignContext(ctx context.Context, _ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	algorithm, err := algorithmFor(digest, opts)
	if err != nil {
		return nil, fmt.Errorf("sign with KMS: %w", err)
	}
	output, err := s.client.Sign(ctx, &kms.SignInput{
		KeyId:            &s.arn,
		Message:          digest,
		MessageType:      types.MessageTypeDigest,
		SigningAlgorithm: algorithm,
	})
	if err != nil {
		return nil, s.failed("Sign", err)
	}
	return output.Signature, nil
}

func algorithmFor(digest []byte, opts crypto.SignerOpts) (types.SigningAlgorithmSpec, error) {
	if _, ok := opts.(*rsa.PSSOptions); ok {
		return "", errors.New("signatures are RSASSA-PKCS1-v1_5 and not RSASSA-PSS")
	}
	hash := opts.HashFunc()
	algorithm, ok := algorithms[hash]
	if !ok {
		return "", fmt.Errorf("the hash must be SHA-256, SHA-384 or SHA-512, not %v", hash)
	}
	if len(digest) != hash.Size() {
		return "", fmt.Errorf("the digest has %d bytes, and those of %v have %d", len(digest), hash, hash.Size())
	}
	return algorithm, nil
}
