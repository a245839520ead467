package identity

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/larder-registry/larder/pkg/access"
)

func TestVerify(t *testing.T) {
	issuer := newTestIssuer(t)
	var visits atomic.Int32
	attacker := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(otherRSAKey().Public(), "rsa")}})
	}))
	defer attacker.Close()

	now := issuer.clock().Unix()
	with := func(name string, value any) string {
		return sign(jose.RS256, rsaKey(), map[string]any{"kid": "rsa"}, issuer.claims(map[string]any{name: value}))
	}
	headed := func(key any, name string, value any) string {
		return sign(jose.RS256, key, map[string]any{"kid": "rsa", name: value}, issuer.claims(nil))
	}
	good := issuer.good(jose.RS256, rsaKey(), "rsa")
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	der := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	hmac := func(secret []byte) string {
		return sign(jose.HS256, secret, map[string]any{"kid": "rsa"}, issuer.claims(nil))
	}
	payload := func(text string) string { return sign(jose.RS256, rsaKey(), nil, []byte(text)) }

	for name, c := range map[string]struct {
		raw  string
		says string // of the error; empty if the token is good
	}{
		"RS256":              {good, ""},
		"RS512":              {issuer.good(jose.RS512, rsaKey(), "rsa"), ""},
		"PS256":              {issuer.good(jose.PS256, rsaKey(), "rsa"), ""},
		"ES256":              {issuer.good(jose.ES256, p256Key(), "p256"), ""},
		"ES384":              {issuer.good(jose.ES384, p384Key(), "p384"), ""},
		"EdDSA":              {issuer.good(jose.EdDSA, edKey(), "ed"), ""},
		"no kid":             {issuer.good(jose.RS256, rsaKey(), ""), ""},
		"no kid, EC":         {issuer.good(jose.ES384, p384Key(), ""), ""},
		"several audiences":  {with("aud", []string{"x", audience}), ""},
		"no iat and no nbf":  {sign(jose.RS256, rsaKey(), nil, issuer.claims(map[string]any{"iat": nil, "nbf": nil})), ""},
		"exp within skew":    {with("exp", now-59), ""},
		"nbf within skew":    {with("nbf", now+60), ""},
		"iat within skew":    {with("iat", now+60), ""},
		"a jku that is ours": {headed(rsaKey(), "jku", attacker.URL), ""},

		"ES512":                     {issuer.good(jose.ES512, p521Key(), "p521"), "ES512"},
		"alg none":                  {encode([]byte(`{"alg":"none","kid":"rsa"}`)) + "." + parts[1] + ".", "none"},
		"alg none, signed":          {encode([]byte(`{"alg":"none","kid":"rsa"}`)) + "." + parts[1] + "." + parts[2], "none"},
		"alg nOnE":                  {encode([]byte(`{"alg":"nOnE"}`)) + "." + parts[1] + ".", "nOnE"},
		"no alg":                    {encode([]byte(`{"kid":"rsa"}`)) + "." + parts[1] + "." + parts[2], "algorithm"},
		"HS256 with the key as PEM": {hmac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), "HS256"},
		"HS256 with the key as DER": {hmac(der), "HS256"},
		"HS256 with the modulus":    {hmac(rsaKey().N.Bytes()), "HS256"},
		"unknown kid":               {issuer.good(jose.RS256, rsaKey(), "other"), "not signed by a key"},
		"kid of another key":        {issuer.good(jose.RS256, rsaKey(), "p256"), "signature"},
		"another key":               {issuer.good(jose.RS256, otherRSAKey(), "rsa"), "signature"},
		"another key without kid":   {issuer.good(jose.RS256, otherRSAKey(), ""), "not signed by a key"},
		"other claims":              {parts[0] + "." + strings.Split(with("sub", "repo:evil/x"), ".")[1] + "." + parts[2], "signature"},
		"other header":              {encode([]byte(`{"alg":"PS256","kid":"rsa"}`)) + "." + parts[1] + "." + parts[2], "signature"},
		"no signature":              {parts[0] + "." + parts[1] + ".", "signature"},

		"wrong iss":            {with("iss", attacker.URL), attacker.URL},
		"iss with a slash":     {with("iss", issuer.URL+"/"), issuer.URL + "/"},
		"iss in upper case":    {with("iss", strings.ToUpper(issuer.URL)), "HTTPS"},
		"no iss":               {with("iss", nil), "issuer"},
		"wrong aud":            {with("aud", "https://other.example.com"), "other.example.com"},
		"aud with a slash":     {with("aud", audience+"/"), "must be for"},
		"several wrong aud":    {with("aud", []string{"x", "y"}), "x, y"},
		"aud empty":            {with("aud", ""), "must be for"},
		"no aud":               {with("aud", nil), "must be for"},
		"aud of another type":  {with("aud", 7), "claims"},
		"no exp":               {with("exp", nil), "(exp)"},
		"exp of another type":  {with("exp", "2030-01-01"), "claims"},
		"exp past":             {with("exp", now-61), "expired at 2026-11-21T11:58:59Z"},
		"exp far in the past":  {with("exp", -1), "expired"},
		"exp beyond all times": {with("exp", json.Number("1e300")), "claims"},
		"nbf future":           {with("nbf", now+61), "(nbf)"},
		"iat future":           {with("iat", now+61), "(iat)"},

		"nothing":               {"", "three parts"},
		"cut off":               {good[:len(good)-10], "signature"},
		"cut off in the middle": {parts[0] + "." + parts[1], "three parts"},
		"four parts":            {good + ".x", "three parts"},
		"JWE":                   {good + ".x.y", "encrypted"},
		"six parts":             {good + ".x.y.z", "three parts"},
		"bad base64":            {parts[0] + "." + parts[1] + "." + "a", "cannot be read"},
		"base64 with padding":   {good + "=", "characters"},
		"with a line break":     {good + "\n", "characters"},
		"as JSON":               {`{"payload":"..","signatures":[]}`, "characters"},
		"of other letters":      {good + "{", "characters"},
		"of letters between":    {good + "[", "characters"},
		"the longest":           {strings.Repeat("A", MaxToken), "three parts"},
		"longer":                {strings.Repeat("A", MaxToken+1), "16384 bytes"},
		"huge":                  {good + strings.Repeat("A", MaxToken), "16384 bytes"},
		"header is no JSON":     {encode([]byte("{")) + "." + parts[1] + "." + parts[2], "cannot be read"},
		"header says alg twice": {encode([]byte(`{"alg":"RS256","alg":"RS256","kid":"rsa"}`)) + "." + parts[1] + "." + parts[2], "cannot be read"},
		"claims are no JSON":    {payload(`{"iss":`), "claims"},
		"claims are null":       {payload(`null`), "issuer"},
		"claims are a list":     {payload(`[]`), "claims"},
		"claims and more":       {payload(`{} {}`), "claims"},
		"claims say iss twice":  {payload(`{"iss":"https://evil.example.com","iss":"` + issuer.URL + `"}`), "claims"},
		"ISS":                   {payload(`{"ISS":"` + issuer.URL + `"}`), "issuer"},

		"jku of an attacker": {headed(otherRSAKey(), "jku", attacker.URL), "signature"},
		"x5u of an attacker": {headed(otherRSAKey(), "x5u", attacker.URL), "signature"},
		"jwk of an attacker": {headed(otherRSAKey(), "jwk", public(otherRSAKey().Public(), "rsa")), "signature"},
		"x5c of an attacker": {headed(otherRSAKey(), "x5c", []string{base64.StdEncoding.EncodeToString(attacker.Certificate().Raw)}), "signature"},
		"crit":               {headed(rsaKey(), "crit", []string{"exp"}), "header crit"},
		"crit b64":           {headed(rsaKey(), "crit", []string{"b64"}), "header crit"},
		"b64":                {headed(rsaKey(), "b64", true), "header b64"},
	} {
		t.Run(name, func(t *testing.T) {
			claims, err := issuer.verifier().Verify(t.Context(), c.raw, issuer.URL, []string{"something else", audience})
			if c.says == "" {
				if err != nil || claims["sub"] != "repo:acme/widget" || claims["run"] != json.Number("12345678901234567890") {
					t.Errorf("it is %v, %v", claims, err)
				}
				return
			}
			if claims != nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it is %v, %v; want %q", claims, err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), parts[2][:20]) {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("the attacker was asked %d times", n)
	}
}

func TestNoAudienceIsNotAny(t *testing.T) {
	issuer := newTestIssuer(t)
	raw := sign(jose.RS256, rsaKey(), nil, issuer.claims(map[string]any{"aud": ""}))
	for _, audiences := range [][]string{nil, {}, {""}} {
		if _, err := issuer.verifier().Verify(t.Context(), raw, issuer.URL, audiences); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", audiences, err)
		}
	}
}

// What an issuer publishes may be of no use for signatures.
func TestKeysThatNeverVerify(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	for name, c := range map[string]struct {
		key any
		raw func(i *testIssuer) string
	}{
		"for encryption": {
			jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "k", Use: "enc"},
			func(i *testIssuer) string { return i.good(jose.RS256, rsaKey(), "k") },
		},
		"for another algorithm": {
			jose.JSONWebKey{Key: rsaKey().Public(), KeyID: "k", Algorithm: "RS512"},
			func(i *testIssuer) string { return i.good(jose.RS256, rsaKey(), "k") },
		},
		"of another curve": {
			public(p384Key().Public(), "k"),
			func(i *testIssuer) string { return i.good(jose.ES256, p256Key(), "k") },
		},
		"symmetric": {
			public(secret, "k"),
			func(i *testIssuer) string { return sign(jose.HS256, secret, map[string]any{"kid": "k"}, i.claims(nil)) },
		},
		"private": {
			public(rsaKey(), "k"),
			func(i *testIssuer) string { return i.good(jose.RS256, rsaKey(), "k") },
		},
		"too small": {
			public(smallRSAKey().Public(), "k"),
			func(i *testIssuer) string { return i.good(jose.RS256, smallRSAKey(), "k") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := newTestIssuer(t)
			// Beside the key is one that nobody can read, which hurts no other.
			issuer.publish(c.key, map[string]any{"kty": "RSA"}, "x", public(edKey().Public(), "ed"))
			v := issuer.verifier()
			if err := issuer.verify(v, c.raw(issuer)); !errors.Is(err, ErrInvalid) {
				t.Errorf("it is %v", err)
			}
			if err := issuer.verify(v, issuer.good(jose.EdDSA, edKey(), "ed")); err != nil {
				t.Errorf("the key beside: %v", err)
			}
		})
	}
}

// What is kept of what an issuer publishes: nothing that is of no use, and all
// that is.
func TestParseKeys(t *testing.T) {
	plain := public(edKey().Public(), "k")
	plain.Use = ""
	for name, c := range map[string]struct {
		keys []any
		kept int // -1 for an error
	}{
		"none":                {[]any{}, 0},
		"for signatures":      {[]any{public(edKey().Public(), "k")}, 1},
		"for anything":        {[]any{plain}, 1},
		"private":             {[]any{public(rsaKey(), "k"), public(edKey(), "k"), public(p256Key(), "k")}, 0},
		"symmetric":           {[]any{public([]byte("0123456789abcdef0123456789abcdef"), "k")}, 0},
		"too small":           {[]any{public(smallRSAKey().Public(), "k")}, 0},
		"for encryption":      {[]any{jose.JSONWebKey{Key: edKey().Public(), Use: "enc"}}, 0},
		"that cannot be read": {[]any{"x", nil, map[string]any{"kty": "RSA"}, public(edKey().Public(), "k")}, 1},
		"as many as may be":   {slices.Repeat([]any{plain}, maxKeys), maxKeys},
		"one more":            {slices.Repeat([]any{plain}, maxKeys+1), -1},
	} {
		keys, err := parseKeys(must(json.Marshal(map[string]any{"keys": c.keys})))
		if got := -1; (err == nil) != (c.kept >= 0) {
			t.Errorf("%s: %v", name, err)
		} else if keys != nil {
			if got = len(*keys); got != c.kept {
				t.Errorf("%s: %d are kept, want %d", name, got, c.kept)
			}
		}
	}
}

// A key fits the algorithms of its type alone, and of them one, if it names one.
func TestFits(t *testing.T) {
	ofRSA := []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}
	named := public(rsaKey().Public(), "k")
	named.Algorithm = string(jose.RS384)
	for name, c := range map[string]struct {
		key  jose.JSONWebKey
		want []jose.SignatureAlgorithm
	}{
		"RSA":     {public(rsaKey().Public(), "k"), ofRSA},
		"RS384":   {named, []jose.SignatureAlgorithm{jose.RS384}},
		"P-256":   {public(p256Key().Public(), "k"), []jose.SignatureAlgorithm{jose.ES256}},
		"P-384":   {public(p384Key().Public(), "k"), []jose.SignatureAlgorithm{jose.ES384}},
		"P-521":   {public(p521Key().Public(), "k"), nil},
		"Ed25519": {public(edKey().Public(), "k"), []jose.SignatureAlgorithm{jose.EdDSA}},
		"private": {public(rsaKey(), "k"), nil},
		"secret":  {public([]byte("secret"), "k"), nil},
	} {
		var got []jose.SignatureAlgorithm
		for _, algorithm := range append(slices.Clone(algorithms), jose.ES512, jose.HS256) {
			if fits(c.key, string(algorithm)) {
				got = append(got, algorithm)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s fits %q, want %q", name, got, c.want)
		}
	}
}

func TestAudiences(t *testing.T) {
	for _, c := range []struct {
		aud  any
		want []string
	}{
		{"a", []string{"a"}}, {[]any{"a", "b", json.Number("7")}, []string{"a", "b"}}, {nil, nil}, {json.Number("7"), nil},
	} {
		if got := Audiences(access.Claims{"aud": c.aud}); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q", c.aud, got)
		}
	}
}

func TestIssuer(t *testing.T) {
	issuer := newTestIssuer(t)
	raw := issuer.good(jose.RS256, otherRSAKey(), "whatever")
	if got, err := Issuer(raw); got != issuer.URL || err != nil {
		t.Errorf("it is %q, %v", got, err)
	}
	for _, bad := range []string{"", "x", "a.b.c", raw + ".x", sign(jose.EdDSA, edKey(), nil, map[string]any{"sub": "x"}), sign(jose.EdDSA, edKey(), nil, map[string]any{"iss": 7})} {
		if got, err := Issuer(bad); got != "" || !errors.Is(err, ErrInvalid) {
			t.Errorf("of %q: %q, %v", bad, got, err)
		}
	}
	issuer.asked(nil)
}

func FuzzIssuer(f *testing.F) {
	f.Add(sign(jose.EdDSA, edKey(), map[string]any{"kid": "k", "jwk": public(p256Key().Public(), "x")}, map[string]any{"iss": "https://example.com", "aud": []string{"a"}, "exp": 1}))
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, raw string) {
		issuer, err := Issuer(raw)
		if (err == nil) != (issuer != "") || err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatalf("it is %q, %v", issuer, err)
		}
		if len(raw) > MaxToken && err == nil {
			t.Fatal("so long a token is none")
		}
	})
}
