package signing

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

var (
	created  = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	signed   = created.AddDate(0, 6, 0)
	now      = created.AddDate(1, 0, 0)
	document = []byte(strings.Repeat("0a", 32) + "  terraform-provider-widget_1.0.0_linux_amd64.zip\n")
)

// rsaKey returns an RSA key of 2048 bits, the same for all tests.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// fixedKey returns the key of testdata, which no test makes anew.
func fixedKey(t testing.TB) *Key {
	t.Helper()
	data, err := os.ReadFile("testdata/signing-key.pem")
	if err != nil {
		t.Fatal(err)
	}
	signer, created, err := decodeKey(data)
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewKey(context.Background(), signer, created, "Larder signing key")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// at returns go-crypto's settings for an author's Ed25519 key at a time.
func at(when time.Time, change ...func(*packet.Config)) *packet.Config {
	c := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return when }}
	for _, f := range change {
		f(c)
	}
	return c
}

func algorithm(a packet.PublicKeyAlgorithm, curve packet.Curve) func(*packet.Config) {
	return func(c *packet.Config) { c.Algorithm, c.Curve = a, curve }
}

func rsaBits(n int) func(*packet.Config) {
	return func(c *packet.Config) { c.Algorithm, c.RSABits = packet.PubKeyAlgoRSA, n }
}

func lifetime(d time.Duration) func(*packet.Config) {
	return func(c *packet.Config) { c.KeyLifetimeSecs = uint32(d / time.Second) }
}

// author returns an author's key pair, with an encryption subkey.
func author(t testing.TB, config *packet.Config) *openpgp.Entity {
	t.Helper()
	entity, err := openpgp.NewEntity("Widget Author", "", "author@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	return entity
}

// certifyOnly takes the permission to sign documents from the primary key.
func certifyOnly(t testing.TB, entity *openpgp.Entity) {
	t.Helper()
	for name, identity := range entity.Identities {
		identity.SelfSignature.FlagSign = false
		if err := identity.SelfSignature.SignUserId(name, entity.PrimaryKey, entity.PrivateKey, at(created)); err != nil {
			t.Fatal(err)
		}
	}
}

func addSigningSubkey(t testing.TB, entity *openpgp.Entity, config *packet.Config) *openpgp.Subkey {
	t.Helper()
	if err := entity.AddSigningSubkey(config); err != nil {
		t.Fatal(err)
	}
	return &entity.Subkeys[len(entity.Subkeys)-1]
}

func export(t testing.TB, entities ...*openpgp.Entity) string {
	t.Helper()
	var b bytes.Buffer
	for _, entity := range entities {
		if err := entity.Serialize(&b); err != nil {
			t.Fatal(err)
		}
	}
	return armored(t, openpgp.PublicKeyType, b.Bytes())
}

func exportPrivate(t testing.TB, entity *openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := entity.SerializePrivateWithoutSigning(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func armored(t testing.TB, kind string, body []byte) string {
	t.Helper()
	var b strings.Builder
	w, err := armor.Encode(&b, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

func unarmored(t testing.TB, text string) []byte {
	t.Helper()
	b, err := armor.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(b.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func mustParse(t testing.TB, text string) []PublicKey {
	t.Helper()
	keys, err := parseKeyFileAt(now, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func detachSign(t testing.TB, entity *openpgp.Entity, config *packet.Config) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := openpgp.DetachSign(&b, entity, bytes.NewReader(document), config); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func checkViolations(t *testing.T, err error, want ...string) {
	t.Helper()
	var found Violations
	if !errors.As(err, &found) {
		t.Fatalf("error is %v, want Violations", err)
	}
	if len(found) != len(want) {
		t.Fatalf("violations are %q, want %d", found, len(want))
	}
	for i, part := range want {
		if !strings.Contains(found[i], part) {
			t.Errorf("violation %d is %q, want it to say %q", i, found[i], part)
		}
	}
}
