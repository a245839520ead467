package awskms_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/pkg/awskms"
	"github.com/larder-registry/larder/pkg/signing"
)

var _ signing.ContextSigner = (*awskms.Signer)(nil)

const userID = "Larder test key"

var document = []byte(strings.Repeat("0a", 32) + "  terraform-provider-widget_1.0.0_linux_amd64.zip\n")

func configFor(server *kmstest.Server) awskms.Config {
	return awskms.Config{
		KeyARN:      server.Key().ARN(),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		Endpoint:    server.Endpoint,
	}
}

func newSigner(t *testing.T, server *kmstest.Server) *awskms.Signer {
	t.Helper()
	signer, err := awskms.New(t.Context(), configFor(server))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// newKey makes the OpenPGP key of the server's key.
func newKey(t *testing.T, server *kmstest.Server) *signing.Key {
	t.Helper()
	signer := newSigner(t, server)
	key, err := signing.NewKey(t.Context(), signer, signer.Created(), userID)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func checkRequests(t *testing.T, server *kmstest.Server, want map[string]int) {
	t.Helper()
	if got := server.Requests(); !maps.Equal(got, want) {
		t.Errorf("requests: %v, want %v", got, want)
	}
}

func TestNew(t *testing.T) {
	server := kmstest.Start(t, 4096)
	signer := newSigner(t, server)
	if !server.Key().Private.PublicKey.Equal(signer.Public()) {
		t.Error("Public() is another key")
	}
	if want := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC); signer.Created() != want {
		t.Errorf("Created() = %v, want %v", signer.Created(), want)
	}
	if signer.KeyID() != server.Key().ID {
		t.Errorf("KeyID() = %q, want %q", signer.KeyID(), server.Key().ID)
	}
	checkRequests(t, server, map[string]int{"DescribeKey": 1, "GetPublicKey": 1})
}

func TestOpenSendsNothing(t *testing.T) {
	server := kmstest.Start(t, 4096)
	signer, err := awskms.Open(configFor(server))
	if err != nil {
		t.Fatal(err)
	}
	if signer.Public() != nil || !signer.Created().IsZero() || signer.KeyID() != server.Key().ID {
		t.Errorf("Public() = %v, Created() = %v, KeyID() = %q", signer.Public(), signer.Created(), signer.KeyID())
	}
	checkRequests(t, server, map[string]int{})
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		keyARN string
		want   string
	}{
		"empty":           {"", "not the ARN of a KMS key"},
		"key ID":          {"1234abcd-12ab-34cd-56ef-1234567890ab", "not the ARN of a KMS key"},
		"alias":           {"alias/larder", "not the ARN of a KMS key"},
		"ARN of an alias": {"arn:aws:kms:us-east-1:111122223333:alias/larder", "can be moved to another key"},
		"bucket":          {"arn:aws:s3:::larder", "not the ARN of a KMS key"},
		"no region":       {"arn:aws:kms::111122223333:key/x", "not the ARN of a KMS key"},
		"no key ID":       {"arn:aws:kms:us-east-1:111122223333:key/", "not the ARN of a KMS key"},
		"no credentials":  {"arn:aws:kms:us-east-1:111122223333:key/x", "no Credentials are set"},
	} {
		cfg := awskms.Config{KeyARN: c.keyARN}
		_, openErr := awskms.Open(cfg)
		_, newErr := awskms.New(t.Context(), cfg)
		for call, err := range map[string]error{"Open": openErr, "New": newErr} {
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.keyARN) {
				t.Errorf("%s: %s = %v, want an error with %q", name, call, err, c.want)
			}
		}
	}
}

func TestNewRefusesKeysThatCannotSign(t *testing.T) {
	for name, c := range map[string]struct {
		bits   int
		change func(*kmstest.Key)
		want   string
	}{
		"short":            {2048, func(*kmstest.Key) {}, "key spec is RSA_2048"},
		"for encryption":   {4096, func(k *kmstest.Key) { k.Usage, k.Algorithms = "ENCRYPT_DECRYPT", nil }, "key usage is ENCRYPT_DECRYPT"},
		"disabled":         {4096, func(k *kmstest.Key) { k.State = "Disabled" }, "aws kms enable-key"},
		"to be deleted":    {4096, func(k *kmstest.Key) { k.State = "PendingDeletion" }, "aws kms cancel-key-deletion"},
		"being made":       {4096, func(k *kmstest.Key) { k.State = "Creating" }, "its state is Creating"},
		"lacks algorithms": {4096, func(k *kmstest.Key) { k.Algorithms = k.Algorithms[:2] }, "cannot sign with RSASSA_PKCS1_V1_5_SHA_512"},
	} {
		t.Run(name, func(t *testing.T) {
			server := kmstest.Start(t, c.bits)
			server.Change(c.change)
			_, err := awskms.New(t.Context(), configFor(server))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), server.Key().ARN()) {
				t.Errorf("New = %v, want an error with %q and the key's name", err, c.want)
			}
			checkRequests(t, server, map[string]int{"DescribeKey": 1})
		})
	}
}

func TestSign(t *testing.T) {
	server := kmstest.Start(t, 4096)
	signer := newSigner(t, server)
	for _, hash := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		h := hash.New()
		h.Write(document)
		digest := h.Sum(nil)
		signature, err := signer.Sign(rand.Reader, digest, hash)
		if err != nil {
			t.Errorf("%v: %v", hash, err)
			continue
		}
		if err := rsa.VerifyPKCS1v15(signer.Public().(*rsa.PublicKey), hash, digest, signature); err != nil {
			t.Errorf("%v: %v", hash, err)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	server := kmstest.Start(t, 4096)
	signer, err := awskms.Open(configFor(server))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha512.Sum512(document)
	for name, c := range map[string]struct {
		digest []byte
		opts   crypto.SignerOpts
		want   string
	}{
		"short digest": {digest[:63], crypto.SHA512, "the digest has 63 bytes"},
		"no digest":    {nil, crypto.SHA512, "the digest has 0 bytes"},
		"other digest": {digest[:], crypto.SHA256, "the digest has 64 bytes, and those of SHA-256 have 32"},
		"weak hash":    {digest[:20], crypto.SHA1, "not SHA-1"},
		"no hash":      {digest[:], crypto.Hash(0), "the hash must be"},
		"PSS":          {digest[:], &rsa.PSSOptions{Hash: crypto.SHA512}, "not RSASSA-PSS"},
	} {
		if _, err := signer.SignContext(t.Context(), nil, c.digest, c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	checkRequests(t, server, map[string]int{})
}

// TestRequests counts what the life of a key costs.
func TestRequests(t *testing.T) {
	server := kmstest.Start(t, 4096)
	key := newKey(t, server)
	once := map[string]int{"DescribeKey": 1, "GetPublicKey": 1, "Sign": 1}
	checkRequests(t, server, once)

	// In another process, with what was stored.
	signer, err := awskms.Open(configFor(server))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := signing.OpenKey(signer, key.PublicKey().ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	checkRequests(t, server, once)
	for n := range 3 {
		if _, err := opened.Sign(t.Context(), document); err != nil {
			t.Fatal(err)
		}
		once["Sign"] = 2 + n
		checkRequests(t, server, once)
	}
}
