package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func TestKeySigns(t *testing.T) {
	key, err := NewKey(t.Context(), rsaKey(), created, "Test")
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	// As the clients check it, and as this package does.
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.PublicKey().ASCIIArmor))
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := openpgp.VerifyDetachedSignatureAndHash(ring, bytes.NewReader(document), bytes.NewReader(signature),
		[]crypto.Hash{crypto.SHA512}, at(now))
	if err != nil {
		t.Fatal(err)
	}
	if !made.CreationTime.Equal(created) {
		t.Errorf("the signature is of %s, want the key's %s", made.CreationTime, created)
	}
	if by, err := Verify([]PublicKey{key.PublicKey()}, document, signature); err != nil || by != key.PublicKey() {
		t.Errorf("Verify() = %v, %v", by.KeyID, err)
	}
	if id, err := InspectSignature(signature); err != nil || id != key.PublicKey().KeyID {
		t.Errorf("InspectSignature() = %q, %v", id, err)
	}
}

func TestSignIsDeterministic(t *testing.T) {
	key := fixedKey(t)
	want, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	again, err := fixedKey(t).Sign(t.Context(), document)
	if err != nil || !bytes.Equal(again, want) {
		t.Errorf("signing again gives other bytes (error %v)", err)
	}
	other, err := key.Sign(t.Context(), append([]byte("x"), document...))
	if err != nil || bytes.Equal(other, want) {
		t.Errorf("another document has the same signature (error %v)", err)
	}
}

func TestSignConcurrently(t *testing.T) {
	key := fixedKey(t)
	want, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := key.Sign(t.Context(), document); err != nil || !bytes.Equal(got, want) {
				t.Errorf("signature differs, or error %v", err)
			}
		})
	}
	group.Wait()
}

// The armored key must not change over restarts, nor with a newer go-crypto:
// it is stored, and served beside signatures that were made long ago.
func TestPublicKeyIsStable(t *testing.T) {
	golden, err := os.ReadFile("testdata/signing-key.asc")
	if err != nil {
		t.Fatal(err)
	}
	public := fixedKey(t).PublicKey()
	if public.ASCIIArmor != string(golden) {
		t.Errorf("the armored key is\n%s\nwant\n%s", public.ASCIIArmor, golden)
	}
	want := PublicKey{
		KeyID:       "E29C0AF441B1C040",
		Fingerprint: "4F819F9572CA00E0A842483CE29C0AF441B1C040",
		ASCIIArmor:  string(golden),
		SelfSigned:  created,
		created:     created,
	}
	if public != want {
		t.Errorf("PublicKey() = %+v, want %+v", public, want)
	}
	if parsed := mustParse(t, public.ASCIIArmor); len(parsed) != 1 || parsed[0] != public {
		t.Errorf("ParseKeyFile reads it as %+v", parsed)
	}
}

func TestNewKeyCutsToSeconds(t *testing.T) {
	key, err := NewKey(t.Context(), rsaKey(), created, "Test")
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("elsewhere", 3600)
	again, err := NewKey(t.Context(), rsaKey(), created.Add(999*time.Millisecond).In(zone), "Test")
	if err != nil {
		t.Fatal(err)
	}
	if key.PublicKey() != again.PublicKey() {
		t.Error("milliseconds or the time zone change the public key")
	}
}

func TestNewKeyRejects(t *testing.T) {
	onCurve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		signer  crypto.Signer
		created time.Time
		user    string
		want    string
	}{
		"ECDSA":           {onCurve, created, "Test", "must be an RSA key"},
		"short":           {short, created, "Test", "1024 bits"},
		"no time":         {rsaKey(), time.Time{}, "Test", "creation time"},
		"too early":       {rsaKey(), time.Unix(0, 0), "Test", "creation time 1970-01-01T00:00:00Z"},
		"too late":        {rsaKey(), time.Unix(math.MaxUint32+1, 0), "Test", "creation time 2106-02-07T06:28:16Z"},
		"no plain name":   {rsaKey(), created, "Test <test@example.com>", "user ID"},
		"name with a NUL": {rsaKey(), created, "Te\x00st", "user ID"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewKey(t.Context(), test.signer, test.created, test.user)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want it to say %q", err, test.want)
			}
		})
	}
}

func TestNewKeyTakesEveryTimeThatAKeyCanHave(t *testing.T) {
	for _, seconds := range []int64{1, math.MaxUint32} {
		key, err := NewKey(t.Context(), rsaKey(), time.Unix(seconds, 0), "Test")
		if err != nil || key.PublicKey().created.Unix() != seconds {
			t.Errorf("made %d seconds after 1970: %v", seconds, err)
		}
	}
}

// A brokenSigner fails, or signs something else, at will.
type brokenSigner struct {
	*rsa.PrivateKey
	err   error
	wrong bool
}

func (s *brokenSigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.wrong {
		digest = make([]byte, len(digest))
	}
	return s.PrivateKey.Sign(rand, digest, opts)
}

func TestSignerErrorsSurface(t *testing.T) {
	down := errors.New("the key service is down")
	signer := &brokenSigner{PrivateKey: rsaKey(), err: down}
	if _, err := NewKey(t.Context(), signer, created, "Test"); !errors.Is(err, down) {
		t.Errorf("NewKey: error is %v, want the signer's", err)
	}
	signer.err = nil
	key, err := NewKey(t.Context(), signer, created, "Test")
	if err != nil {
		t.Fatal(err)
	}
	signer.err = down
	if signature, err := key.Sign(t.Context(), document); !errors.Is(err, down) || signature != nil {
		t.Errorf("Sign: error is %v, want the signer's", err)
	}
	signer.err = nil
	if _, err := key.Sign(t.Context(), document); err != nil {
		t.Errorf("Sign, once the signer works again: %v", err)
	}
	signer.wrong = true
	if _, err := key.Sign(t.Context(), document); err == nil || !strings.Contains(err.Error(), "does not verify") {
		t.Errorf("Sign, with a signer that signs something else: error is %v", err)
	}
	if _, err := NewKey(t.Context(), signer, created, "Test"); err == nil {
		t.Error("NewKey accepts a signer that signs something else")
	}
}

func TestSignStopsWithItsContext(t *testing.T) {
	key := fixedKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := key.Sign(ctx, document); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
}

type contextSigner struct {
	*rsa.PrivateKey
	seen []context.Context
	err  error
}

func (s *contextSigner) SignContext(ctx context.Context, rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if s.seen = append(s.seen, ctx); s.err != nil {
		return nil, s.err
	}
	return s.PrivateKey.Sign(rand, digest, opts)
}

func TestContextSigner(t *testing.T) {
	signer := &contextSigner{PrivateKey: rsaKey()}
	type name struct{}
	first := context.WithValue(t.Context(), name{}, "first")
	second := context.WithValue(t.Context(), name{}, "second")
	key, err := NewKey(first, signer, created, "Test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Sign(second, document); err != nil {
		t.Fatal(err)
	}
	if len(signer.seen) != 2 || signer.seen[0] != first || signer.seen[1] != second {
		t.Errorf("the signer saw %d contexts, want the two that were given", len(signer.seen))
	}
	signer.err = errors.New("the key service is down")
	if _, err := key.Sign(second, document); !errors.Is(err, signer.err) {
		t.Errorf("error is %v, want the signer's", err)
	}
}

func TestConfigIsDeterministic(t *testing.T) {
	if c := config(now); c.RandomizeSignaturesViaNotation() || c.Hash() != crypto.SHA512 || c.Cipher() != packet.CipherAES256 {
		t.Error("the settings leave something to chance or to defaults")
	}
}
