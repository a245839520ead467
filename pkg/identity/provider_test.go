package identity

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

const (
	clientID     = "larder"
	clientSecret = "s3cr3t:/+"
	code         = "one-time-code"
	nonce        = "nonce-of-this-login"
	verifier     = "verifier-of-this-login-0123456789-0123456789"
)

func (i *testIssuer) provider(secret bool) *Provider {
	c := ProviderConfig{
		Issuer: i.URL, ClientID: clientID, RedirectURL: "https://registry.example.com/v1/login/callback",
		Scopes: []string{"profile", "email"},
	}
	if secret {
		c.Secret = func(context.Context) (string, error) { return clientSecret, nil }
	}
	return i.verifier().Provider(c)
}

// grants answers a good code with a token, and keeps the requests.
func (i *testIssuer) grants(token string) *[]*http.Request {
	var requests []*http.Request
	i.serve(tokenPath, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		requests = append(requests, r)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "secret-access", "token_type": "Bearer", "id_token": token})
	})
	return &requests
}

func (i *testIssuer) login(changes map[string]any) string {
	claims := i.claims(map[string]any{"aud": clientID, "nonce": nonce})
	for name, value := range changes {
		claims[name] = value
	}
	return sign(jose.RS256, rsaKey(), map[string]any{"kid": "rsa"}, claims)
}

func TestAuthURL(t *testing.T) {
	issuer := newTestIssuer(t)
	text, err := issuer.provider(true).AuthURL(t.Context(), "state-of-this-login", nonce, verifier)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(verifier))
	want := url.Values{
		"tenant":        {"acme"},
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {"https://registry.example.com/v1/login/callback"},
		"scope": {"openid profile email"}, "state": {"state-of-this-login"}, "nonce": {nonce},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	got := must(url.Parse(text))
	if got.Scheme+"://"+got.Host+got.Path != issuer.URL+"/authorize" || got.Query().Encode() != want.Encode() {
		t.Errorf("it is %s", text)
	}
	issuer.asked(map[string]int{discoveryPath: 1})
}

// What is asked for is what was configured, with openid once.
func TestScopes(t *testing.T) {
	for _, c := range []struct{ scopes, want string }{
		{"", "openid"}, {"email", "openid email"}, {"openid email", "openid email"}, {"email openid", "email openid"},
	} {
		issuer := newTestIssuer(t)
		scopes := strings.Fields(c.scopes)
		p := issuer.verifier().Provider(ProviderConfig{Issuer: issuer.URL, ClientID: clientID, Scopes: scopes})
		for i := range scopes {
			scopes[i] = "changed"
		}
		text, err := p.AuthURL(t.Context(), "state", nonce, verifier)
		if err != nil {
			t.Fatal(err)
		}
		if got := must(url.Parse(text)).Query().Get("scope"); got != c.want {
			t.Errorf("%q: %q is asked for, want %q", c.scopes, got, c.want)
		}
	}
}

func TestExchange(t *testing.T) {
	for name, c := range map[string]struct {
		secret  bool
		methods []string
		basic   bool // the secret is in the header
		post    bool // it is in the body
	}{
		"public client":         {false, nil, false, false},
		"secret":                {true, nil, true, false},
		"secret by basic":       {true, []string{"client_secret_post", "client_secret_basic"}, true, false},
		"secret by post":        {true, []string{"client_secret_post"}, false, true},
		"secret by other means": {true, []string{"private_key_jwt"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := newTestIssuer(t)
			if c.methods != nil {
				issuer.discover("token_endpoint_auth_methods_supported", c.methods)
			}
			requests := issuer.grants(issuer.login(nil))
			claims, err := issuer.provider(c.secret).Exchange(t.Context(), code, verifier, nonce)
			if err != nil || claims["sub"] != "repo:acme/widget" {
				t.Fatalf("it is %v, %v", claims, err)
			}
			issuer.asked(map[string]int{discoveryPath: 1, keysPath: 1, tokenPath: 1})
			r := (*requests)[0]
			want := url.Values{
				"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier},
				"redirect_uri": {"https://registry.example.com/v1/login/callback"},
			}
			if !c.basic {
				want.Set("client_id", clientID)
			}
			if c.post {
				want.Set("client_secret", clientSecret)
			}
			if r.PostForm.Encode() != want.Encode() {
				t.Errorf("the provider got %v", r.PostForm)
			}
			user, password, ok := r.BasicAuth()
			if ok != c.basic || ok && (user != clientID || password != url.QueryEscape(clientSecret)) {
				t.Errorf("the provider got %q, %q", user, password)
			}
		})
	}
}

func TestExchangeOfBadTokens(t *testing.T) {
	several := []string{clientID, "other"}
	for name, c := range map[string]struct {
		changes map[string]any
		nonce   string
		says    string // empty if the token is good
	}{
		"good, with azp":      {map[string]any{"azp": clientID}, nonce, ""},
		"several audiences":   {map[string]any{"aud": several, "azp": clientID}, nonce, ""},
		"several without azp": {map[string]any{"aud": several}, nonce, "azp"},
		"several, other azp":  {map[string]any{"aud": several, "azp": "other"}, nonce, "azp"},
		"other azp":           {map[string]any{"azp": "other"}, nonce, "azp"},
		"azp of another type": {map[string]any{"azp": []string{clientID}}, nonce, "azp"},
		"other audience":      {map[string]any{"aud": "other"}, nonce, "must be for"},
		"wrong nonce":         {nil, "another", "nonce"},
		"nonce begins so":     {nil, nonce[:5], "nonce"},
		"no nonce expected":   {map[string]any{"nonce": ""}, "", "nonce"},
		"no nonce said":       {map[string]any{"nonce": nil}, nonce, "nonce"},
		"nonce of other type": {map[string]any{"nonce": []string{nonce}}, nonce, "nonce"},
		"expired":             {map[string]any{"exp": 1}, nonce, "expired"},
		"of another issuer":   {map[string]any{"iss": "https://evil.example.com"}, nonce, "evil"},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := newTestIssuer(t)
			issuer.grants(issuer.login(c.changes))
			claims, err := issuer.provider(false).Exchange(t.Context(), code, verifier, c.nonce)
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if claims != nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it is %v, %v; want %q", claims, err, c.says)
			}
		})
	}
}

func TestExchangeFails(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text(status, body)(w, nil)
		}
	}
	for name, c := range map[string]struct {
		page http.HandlerFunc
		kind error
		says string
	}{
		"bad code":         {answer(400, `{"error":"invalid_grant","error_description":"secret"}`), ErrInvalid, "invalid_grant"},
		"error with 200":   {answer(200, `{"error":"access_denied","error_uri":"secret"}`), ErrInvalid, "access_denied"},
		"bad secret":       {answer(401, `{"error":"invalid_client"}`), ErrUnavailable, "client ID and secret"},
		"no client":        {answer(400, `{"error":"unauthorized_client"}`), ErrUnavailable, "client ID and secret"},
		"broken, by OAuth": {answer(400, `{"error":"server_error"}`), ErrUnavailable, "the error server_error"},
		"broken":           {answer(500, `{"error":"access_denied"}`), ErrUnavailable, "the error access_denied"},
		"down":             {answer(503, `secret`), ErrUnavailable, "503"},
		"down, by OAuth":   {answer(400, `{"error":"temporarily_unavailable"}`), ErrUnavailable, "temporarily_unavailable"},
		"error is no code": {answer(400, `{"error":"secret `+code+`"}`), ErrUnavailable, "status 400"},
		"error in a form": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-www-form-urlencoded")
			text(400, "error=invalid_grant&error_description=secret")(w, nil)
		}, ErrInvalid, "invalid_grant"},
		"HTML": {text(200, "<html>secret"), ErrUnavailable, "cannot be read"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, ErrUnavailable, "redirect"},
		"2 MiB":           {answer(200, `{"access_token":"`+strings.Repeat("x", 2<<20)+`"}`), ErrUnavailable, "cannot be read"},
		"hangs up":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrUnavailable, "no connection"},
		"no id_token":     {answer(200, `{"access_token":"secret","token_type":"Bearer"}`), ErrUnavailable, "(id_token)"},
		"id_token object": {answer(200, `{"access_token":"secret","id_token":{}}`), ErrUnavailable, "(id_token)"},
		"no access_token": {answer(200, `{"id_token":"secret"}`), ErrUnavailable, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := newTestIssuer(t)
			issuer.serve(tokenPath, c.page)
			issuer.serve("/elsewhere", func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
			claims, err := issuer.provider(true).Exchange(t.Context(), code, verifier, nonce)
			if claims != nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), issuer.URL) {
				t.Fatalf("it is %v, %v; want %q", claims, err, c.says)
			}
			if slices.ContainsFunc([]string{"secret\"", "secret-", " secret ", "<html>", code, verifier, clientSecret}, func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Errorf("too much is told: %v", err)
			}
			issuer.asked(map[string]int{discoveryPath: 1, tokenPath: 1}) // a code is good once
		})
	}
}

func TestProviderOfNoUse(t *testing.T) {
	for _, name := range []string{"authorization_endpoint", "token_endpoint"} {
		for _, value := range []any{"http://127.0.0.1/x", "", nil, "javascript:alert(1)"} {
			issuer := newTestIssuer(t)
			issuer.discover(name, value)
			p := issuer.provider(false)
			_, err := p.AuthURL(t.Context(), "state", nonce, verifier)
			_, err2 := p.Exchange(t.Context(), code, verifier, nonce)
			for _, err := range []error{err, err2} {
				if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s %v: %v", name, value, err)
				}
			}
			issuer.asked(map[string]int{discoveryPath: 1})
		}
	}

	down := newTestIssuer(t)
	down.serve(discoveryPath, text(503, ""))
	nobody := down.provider(false)
	if at, err := nobody.AuthURL(t.Context(), "state", nonce, verifier); at != "" || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "status 503") {
		t.Errorf("without discovery: %q, %v", at, err)
	}
	if claims, err := nobody.Exchange(t.Context(), code, verifier, nonce); claims != nil || !errors.Is(err, ErrUnavailable) {
		t.Errorf("without discovery: %v, %v", claims, err)
	}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	if _, err := newTestIssuer(t).provider(false).AuthURL(gone, "state", nonce, verifier); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "nobody waits") {
		t.Errorf("one who hung up: %v", err)
	}

	issuer := newTestIssuer(t)
	p := issuer.provider(false)
	broken := errors.New("no such parameter")
	p.config.Secret = func(context.Context) (string, error) { return "", broken }
	if _, err := p.Exchange(t.Context(), code, verifier, nonce); !errors.Is(err, broken) {
		t.Errorf("without its secret: %v", err)
	}
	issuer.asked(map[string]int{discoveryPath: 1})
}
