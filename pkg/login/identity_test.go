package login

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/identity"
)

// issuer is a provider of identities on this machine, which is asked by TLS.
type issuer struct {
	*httptest.Server
	signer jose.Signer
	key    *ecdsa.PrivateKey
	asked  atomic.Int32
	person access.Claims // who logs in
	login  url.Values    // with what a person was sent
}

const issuerCode = "the-code-of-a-real-issuer"

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{signer: signer, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		i.login = r.URL.Query()
		back := url.Values{"code": {issuerCode}, "state": {i.login.Get("state")}}
		http.Redirect(w, r, i.login.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("code") != issuerCode || challengeOf(r.FormValue("code_verifier")) != i.login.Get("code_challenge") {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, http.StatusOK, map[string]any{"error": "invalid_grant"})
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"access_token": "x", "token_type": "Bearer",
			"id_token": i.token(t, i.person, access.Claims{"aud": "larder", "nonce": i.login.Get("nonce")})})
	})
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// token is an identity token with claims. Of claims with one name the last one counts.
func (i *issuer) token(t *testing.T, all ...access.Claims) string {
	t.Helper()
	claims := access.Claims{"iss": i.URL, "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}
	for _, some := range all {
		for name, value := range some {
			claims[name] = value
		}
	}
	token, err := jwt.Signed(i.signer).Claims(map[string]any(claims)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (i *issuer) verifier() *identity.Verifier {
	return identity.NewVerifier(identity.Config{Transport: i.Client().Transport})
}

// TestWithARealProvider logs in as a browser and a client do, by TLS, with
// cookies, redirects and forms.
func TestWithARealProvider(t *testing.T) {
	provider := newIssuer(t)
	provider.person = alice
	var handler http.Handler
	registry := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer registry.Close()
	w := newWorld(t, func(c *Config) {
		c.Host = strings.TrimPrefix(registry.URL, "https://")
		c.Provider = provider.verifier().Provider(identity.ProviderConfig{
			Issuer: provider.URL, ClientID: "larder", RedirectURL: registry.URL + "/v1/login/callback", Scopes: []string{"openid", "email"}})
	})
	w.staff()
	handler = w.handler
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	person := &http.Client{Jar: jar, Transport: registry.Client().Transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Hostname() == "localhost" {
			return http.ErrUseLastResponse // there the client listens
		}
		return nil
	}}
	page, err := person.Get(registry.URL + "/v1/login?" + asked().Encode())
	if err != nil {
		t.Fatal(err)
	}
	found := ticketField.FindStringSubmatch(read(t, page))
	if page.StatusCode != http.StatusOK || found == nil || !strings.HasPrefix(page.Request.URL.String(), registry.URL+"/v1/login/callback?") {
		t.Fatalf("%s %d", page.Request.URL, page.StatusCode)
	}
	w.secret(issuerCode, provider.login.Get("state"), provider.login.Get("nonce"))
	back, err := person.PostForm(registry.URL+"/v1/login/consent", url.Values{"ticket": {found[1]}, "decision": {"allow"}})
	if err != nil {
		t.Fatal(err)
	}
	read(t, back)
	at, err := back.Location()
	if err != nil || back.StatusCode != http.StatusSeeOther || at.Query().Get("state") != cliState {
		t.Fatalf("%d %v %v", back.StatusCode, at, err)
	}
	got := w.wantToken(newForm("/v1/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"terraform-cli"}, "code": {at.Query().Get("code")},
		"code_verifier": {cliVerifier}, "redirect_uri": {cliRedirect}}.Encode()), 200, "")
	if got.ExpiresIn != 720*3600 || w.tokens()[0].Owner != "alice@acme.example (00u1)" {
		t.Errorf("%+v %+v", got, w.tokens())
	}
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

const audience = "https://registry.example.com"

// pipeline is what a pipeline's identity token says, if a test does not change it.
var pipeline = access.Claims{"sub": "repo:acme/widget:ref:refs/heads/main", "aud": audience, "repository_owner": "acme"}

// exchanging is what a pipeline sends.
func exchanging(token string, changes ...string) url.Values {
	return with(url.Values{"grant_type": {grantExchange}, "subject_token": {token}, "subject_token_type": {typeIdentity}}, changes...)
}

func TestExchange(t *testing.T) {
	other := newIssuer(t)
	const (
		given   = "pipeline repo:acme/widget:ref:refs/heads/main of ISSUER | token for "
		refused = "a pipeline of ISSUER | token for an identity | false | "
	)
	for name, test := range map[string]struct {
		claims access.Claims // beside those of pipeline
		form   []string
		setUp  func(*world, *issuer)
		status int
		code   string
		audit  string // the decision, if there is one, with words for what every run has another of
		asked  int32
		ends   string // what comes after the identity token
	}{
		"from a file":            {ends: "\r\n", status: 200, audit: given + "read providers:acme/* | true | by rule acme, token TOKEN", asked: 2},
		"with more after it":     {ends: "\nx", status: 400, code: "invalid_grant"},
		"good":                   {status: 200, audit: given + "read providers:acme/* | true | by rule acme, token TOKEN", asked: 2},
		"for several":            {claims: access.Claims{"aud": []string{"x", audience}}, status: 200, audit: given + "read providers:acme/* | true | by rule acme, token TOKEN", asked: 2},
		"as a JWT":               {form: []string{"subject_token_type", typeJWT, "requested_token_type", typeAccess}, status: 200, audit: given + "read providers:acme/* | true | by rule acme, token TOKEN", asked: 2},
		"two audiences":          {claims: access.Claims{"aud": []string{"other", audience}}, status: 200, audit: given + "read providers:acme/*, read modules:* | true | by rule acme, other, token TOKEN", asked: 2},
		"the other audience":     {claims: access.Claims{"aud": "other"}, status: 200, audit: given + "read modules:* | true | by rule other, token TOKEN", asked: 2},
		"another audience":       {claims: access.Claims{"aud": "sts.amazonaws.com"}, status: 400, code: "invalid_grant", audit: refused + `the identity token is for "sts.amazonaws.com", and must be for "https://registry.example.com, other"`, asked: 2},
		"no audience":            {claims: access.Claims{"aud": []string{}}, status: 400, code: "invalid_grant", audit: refused + `the identity token is for "", and must be for "https://registry.example.com, other"`, asked: 2},
		"expired":                {claims: access.Claims{"exp": 946684800}, status: 400, code: "invalid_grant", audit: refused + "the identity token expired at 2000-01-01T00:00:00Z: ask for a new one", asked: 2},
		"a neighbour":            {claims: access.Claims{"sub": "repo:acme-evil/x"}, status: 400, code: "invalid_grant", audit: "pipeline repo:acme-evil/x of ISSUER | token for an identity | false | no rule fits its claims", asked: 2},
		"no subject":             {claims: access.Claims{"sub": nil, "aud": "other"}, status: 400, code: "invalid_grant", audit: refused + "the identity token does not say whose it is (sub)", asked: 2},
		"an unknown issuer":      {claims: access.Claims{"iss": other.URL}, status: 400, code: "invalid_grant", audit: "a pipeline of OTHER | token for an identity | false | no rule trusts the issuer"},
		"rules for people alone": {setUp: func(w *world, _ *issuer) { w.remove("acme", "other") }, status: 400, code: "invalid_grant", audit: refused + "no rule trusts the issuer"},
		"a rule removed":         {setUp: func(w *world, _ *issuer) { w.remove("acme") }, status: 400, code: "invalid_grant", audit: refused + `the identity token is for "https://registry.example.com", and must be for "other"`, asked: 2},
		"an issuer that is down": {setUp: func(_ *world, i *issuer) { i.Close() }, status: 503, code: "temporarily_unavailable", audit: refused + "the issuer ISSUER cannot be asked just now: there is no connection to it, or none that lasts"},
		"no token":               {form: []string{"subject_token", ""}, status: 400, code: "invalid_request"},
		"something else":         {form: []string{"subject_token", "larder_ABC"}, status: 400, code: "invalid_grant"},
		"no type":                {form: []string{"subject_token_type", ""}, status: 400, code: "invalid_request"},
		"another type":           {form: []string{"subject_token_type", "urn:ietf:params:oauth:token-type:saml2"}, status: 400, code: "invalid_request"},
		"a refresh token":        {form: []string{"requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"}, status: 400, code: "invalid_request"},
		"an actor":               {form: []string{"actor_token", "x"}, status: 400, code: "invalid_request"},
		"a scope":                {form: []string{"scope", "read *"}, status: 400, code: "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			w := newWorld(t, func(c *Config) { c.Identities, c.Provider = i.verifier(), nil })
			w.staff()
			w.rule(access.Rule{Name: "acme", Use: access.ForPipelines, Issuer: i.URL, Audience: audience}, "sub=repo:acme/*", "read providers:acme/*")
			w.rule(access.Rule{Name: "other", Use: access.ForPipelines, Issuer: i.URL, Audience: "other", Lifetime: access.Duration(time.Minute)}, "repository_owner=acme", "read modules:*")
			if test.setUp != nil {
				test.setUp(w, i)
			}
			raw := i.token(t, pipeline, test.claims)
			w.secret(raw, strings.Split(raw, ".")[2])
			got := w.wantToken(newForm("/v1/token", exchanging(raw+test.ends, test.form...).Encode()), test.status, test.code)
			if i.asked.Load() != test.asked || other.asked.Load() != 0 {
				t.Errorf("asked %d times; %s", i.asked.Load(), w.log)
			}
			words := []string{"ISSUER", i.URL, "OTHER", other.URL}
			if test.status == 200 {
				words = append(words, "TOKEN", w.idOf(got.AccessToken))
			}
			w.wantAudit(strings.NewReplacer(words...).Replace(test.audit))
			if tokens := w.tokens(); len(tokens) != 0 && test.status != 200 || len(tokens) != 1 && test.status == 200 {
				t.Fatalf("%+v", tokens)
			}
			if test.status == 200 && (got.IssuedTokenType != typeAccess || got.TokenType != "Bearer") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestExchangedTooSoon: the keys of an issuer that has changed them twice in half a
// minute are asked for after that. So a pipeline that tries again gets its token, and
// nobody's alarm is raised by who sends names of keys that there are not.
func TestExchangedTooSoon(t *testing.T) {
	i := newIssuer(t)
	w := newWorld(t, func(c *Config) { c.Identities = i.verifier() })
	w.rule(access.Rule{Name: "acme", Use: access.ForPipelines, Issuer: i.URL, Audience: audience}, "repository_owner=acme", "read *")
	w.wantToken(newForm("/v1/token", exchanging(i.token(t, pipeline)).Encode()), 200, "")
	var err error
	if i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: "2"}}, nil); err != nil {
		t.Fatal(err)
	}
	raw := i.token(t, pipeline)
	w.wantToken(newForm("/v1/token", exchanging(raw).Encode()), 400, "invalid_grant") // it has been asked, and does not publish it
	answer := w.do(newForm("/v1/token", exchanging(raw).Encode()))
	why := "the identity token is signed by a key that is not known, and " + i.URL + " was asked for its keys a moment ago: try again in half a minute"
	if answer.status != 429 || answer.header.Get("Retry-After") != "30" || !strings.Contains(answer.body, `"error":"temporarily_unavailable"`) || !strings.Contains(answer.body, why) {
		t.Errorf("%+v", answer)
	}
	if all := w.audit(); len(all) != 3 || all[2] != "a pipeline of "+i.URL+" | token for an identity | false | "+why {
		t.Errorf("%q", all)
	}
	if i.asked.Load() != 3 || strings.Contains(w.log.String(), "level=WARN") {
		t.Errorf("asked %d times; %s", i.asked.Load(), w.log.String())
	}
}

func (w *world) remove(rules ...string) {
	for _, rule := range rules {
		if err := w.store.RemoveRule(w.Context(), rule); err != nil {
			w.Fatal(err)
		}
	}
}

// TestExchanged: the token is what the rules give that fit, for the shortest of
// their times.
func TestExchanged(t *testing.T) {
	i := newIssuer(t)
	w := newWorld(t, func(c *Config) { c.Identities = i.verifier() })
	for name, lifetime := range map[string]time.Duration{"long": 2 * time.Hour, "short": 15 * time.Minute} {
		w.rule(access.Rule{Name: name, Use: access.ForPipelines, Issuer: i.URL, Audience: audience, Lifetime: access.Duration(lifetime)},
			"repository_owner=acme", "read providers:"+name+"/*")
	}
	w.rule(access.Rule{Name: "foreign", Use: access.ForPipelines, Issuer: "https://foreign.example", Audience: audience}, "repository_owner=acme", "read *")
	everything, err := access.ParseScopes([]string{"read *"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.AddRule(t.Context(), access.Rule{ // which is not valid
		Name: "people", Use: access.ForPeople, Issuer: i.URL, Audience: audience, Claims: []access.Claim{{Name: "repository_owner", Pattern: "acme"}}, Scopes: everything,
	}); err != nil {
		t.Fatal(err)
	}
	raw := i.token(t, pipeline, access.Claims{"sub": "repo:" + strings.Repeat("x", 300)})
	got := w.wantToken(newForm("/v1/token", exchanging(raw).Encode()), 200, "")
	id, err := access.ParseToken(got.AccessToken)
	if err != nil || got.ExpiresIn != 15*60 {
		t.Fatalf("%+v, %v", got, err)
	}
	token, err := w.store.Token(t.Context(), id)
	if err != nil || token.Origin != access.ByExchange || token.Name != "long, short" || !strings.HasPrefix(token.Owner, "repo:xxx") || access.CheckName(token.Owner) != nil ||
		token.Scopes.String() != "read providers:long/*, read providers:short/*" || token.Expires.Sub(token.Created) != 15*time.Minute {
		t.Errorf("%+v, %v", token, err)
	}
	twice := exchanging(raw)
	twice.Add("subject_token", raw)
	w.wantToken(newForm("/v1/token", twice.Encode()), 400, "invalid_request")
	w.wantToken(newForm("/v1/token?subject_token="+raw, exchanging(raw).Encode()), 400, "invalid_request")
}

// TestExchangedEmail: an issuer may give an identity to who entered any address.
func TestExchangedEmail(t *testing.T) {
	for verified, status := range map[any]int{true: 200, false: 400, nil: 400} {
		i := newIssuer(t)
		w := newWorld(t, func(c *Config) { c.Identities = i.verifier() })
		w.rule(access.Rule{Name: "deployer", Use: access.ForPipelines, Issuer: i.URL, Audience: audience}, "email=deployer@acme.example", "read *")
		raw := i.token(t, pipeline, access.Claims{"email": "deployer@acme.example", "email_verified": verified})
		w.wantToken(newForm("/v1/token", exchanging(raw).Encode()), status, map[int]string{400: "invalid_grant"}[status])
	}
}

func TestExchangedTooMuch(t *testing.T) {
	i := newIssuer(t)
	w := newWorld(t, func(c *Config) { c.Identities = i.verifier() })
	for _, name := range []string{"one", "two"} {
		var scopes []string
		for n := range 30 {
			scopes = append(scopes, fmt.Sprintf("read providers:%s-%d/*", name, n))
		}
		w.rule(access.Rule{Name: name, Use: access.ForPipelines, Issuer: i.URL, Audience: audience}, "repository_owner=acme", scopes...)
	}
	w.wantToken(newForm("/v1/token", exchanging(i.token(t, pipeline)).Encode()), 400, "invalid_grant")
	w.wantAudit("pipeline repo:acme/widget:ref:refs/heads/main of " + i.URL + " | token for an identity | false | " + errTooMuch.text)
}

// TestExchangedMost: rules may give as much as a token can have, and a rule must give it a
// lifetime.
func TestExchangedMost(t *testing.T) {
	i := newIssuer(t)
	w := newWorld(t, func(c *Config) { c.Identities = i.verifier() })
	var scopes []string
	for n := range access.MaxScopes {
		scopes = append(scopes, fmt.Sprintf("read providers:acme-%d/*", n))
	}
	w.rule(access.Rule{Name: "most", Use: access.ForPipelines, Issuer: i.URL, Audience: audience}, "repository_owner=acme", scopes...)
	raw := i.token(t, pipeline)
	w.wantToken(newForm("/v1/token", exchanging(raw).Encode()), 200, "")
	one, err := access.ParseScopes(scopes[:1])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.AddRule(t.Context(), access.Rule{ // which is not valid
		Name: "never", Scopes: one, Use: access.ForPipelines, Issuer: i.URL, Audience: audience, Claims: []access.Claim{{Name: "repository_owner", Pattern: "acme"}}, Lifetime: -1,
	}); err != nil {
		t.Fatal(err)
	}
	w.wantToken(newForm("/v1/token", exchanging(raw).Encode()), 500, serverError)
	if len(w.tokens()) != 1 || len(w.audit()) != 1 {
		t.Errorf("%v %q", w.tokens(), w.audit())
	}
}

func TestAudiences(t *testing.T) {
	if got := audiences([]access.Rule{{Audience: "a"}, {Audience: "b"}, {Audience: "a"}}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}
