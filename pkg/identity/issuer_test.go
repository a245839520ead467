package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/keys"
	tokenPath     = "/token"
	audience      = "https://registry.example.com"
)

// The keys of all tests; RSA keys take long to make.
var (
	rsaKey      = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSAKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	smallRSAKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 1024)) })
	p256Key     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384Key     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521Key     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edKey       = sync.OnceValue(func() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// testIssuer is an issuer over TLS, with a clock that it shares with its
// verifier.
type testIssuer struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	keys   []any                       // JSON Web Keys
	pages  map[string]http.HandlerFunc // by path: instead of what it has there
	counts map[string]int              // requests, by path
	now    time.Time
}

func newTestIssuer(t *testing.T) *testIssuer {
	t.Helper()
	i := &testIssuer{t: t, pages: map[string]http.HandlerFunc{}, counts: map[string]int{}, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	i.keys = []any{
		public(rsaKey().Public(), "rsa"), public(p256Key().Public(), "p256"), public(p384Key().Public(), "p384"),
		public(p521Key().Public(), "p521"), public(edKey().Public(), "ed"),
	}
	i.Server = httptest.NewUnstartedServer(i)
	i.Config.ErrorLog = log.New(io.Discard, "", 0)
	i.StartTLS()
	t.Cleanup(i.Close)
	return i
}

func public(key any, kid string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key, KeyID: kid, Use: "sig"}
}

func (i *testIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.counts[r.URL.Path]++
	page, keys := i.pages[r.URL.Path], i.keys
	i.mu.Unlock()
	switch {
	case page != nil:
		page(w, r)
	case r.URL.Path == discoveryPath:
		_ = json.NewEncoder(w).Encode(i.document())
	case r.URL.Path == keysPath:
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
	default:
		http.NotFound(w, r)
	}
}

func (i *testIssuer) document() map[string]any {
	return map[string]any{
		"issuer":                 i.URL,
		"jwks_uri":               i.URL + keysPath,
		"authorization_endpoint": i.URL + "/authorize?tenant=acme",
		"token_endpoint":         i.URL + tokenPath,
	}
}

// discover has one thing of the discovery document be something else.
func (i *testIssuer) discover(name string, value any) {
	document := i.document()
	document[name] = value
	i.serve(discoveryPath, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(document) })
}

// serve puts a page at a path; nil takes it away.
func (i *testIssuer) serve(path string, page http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pages[path] = page
}

func (i *testIssuer) publish(keys ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append([]any{}, keys...)
}

func (i *testIssuer) pass(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = i.now.Add(d)
}

func (i *testIssuer) clock() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

// asked checks how often it was asked, and for nothing else.
func (i *testIssuer) asked(want map[string]int) {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if !maps.Equal(i.counts, want) {
		i.t.Errorf("the issuer was asked for %v, want %v", i.counts, want)
	}
}

func (i *testIssuer) verifier() *Verifier {
	return NewVerifier(Config{Transport: i.Client().Transport, Now: i.clock})
}

// claims are good ones, with changes; nil takes one away.
func (i *testIssuer) claims(changes map[string]any) map[string]any {
	now := i.clock().Unix()
	claims := map[string]any{
		"iss": i.URL, "sub": "repo:acme/widget", "aud": audience, "iat": now, "nbf": now, "exp": now + 300,
		"run": json.Number("12345678901234567890"),
	}
	for name, value := range changes {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	return claims
}

func (i *testIssuer) verify(v *Verifier, raw string) error {
	_, err := v.Verify(i.t.Context(), raw, i.URL, []string{"something else", audience})
	return err
}

// good is a token that is good, of a key.
func (i *testIssuer) good(algorithm jose.SignatureAlgorithm, key any, kid string) string {
	return sign(algorithm, key, map[string]any{"kid": kid}, i.claims(nil))
}

// sign signs claims, or bytes as they are.
func sign(algorithm jose.SignatureAlgorithm, key any, headers map[string]any, claims any) string {
	options := &jose.SignerOptions{}
	for name, value := range headers {
		if value != "" {
			options.WithHeader(jose.HeaderKey(name), value)
		}
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options))
	payload, ok := claims.([]byte)
	if !ok {
		payload = must(json.Marshal(claims))
	}
	return must(must(signer.Sign(payload)).CompactSerialize())
}

// blocking is a page that answers when it is let go.
func blocking(page http.HandlerFunc) (blocked http.HandlerFunc, waiting *atomic.Int32, release func()) {
	gate, waiting := make(chan struct{}), new(atomic.Int32)
	return func(w http.ResponseWriter, r *http.Request) {
		waiting.Add(1)
		<-gate
		page(w, r)
	}, waiting, sync.OnceFunc(func() { close(gate) })
}

func await(t *testing.T, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not come to pass")
		case <-time.After(time.Millisecond):
		}
	}
}
