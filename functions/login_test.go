package functions_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/templatetest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
)

const (
	clientSecret = "client-s3cret"
	secretName   = "/larder/login-secret"
)

// provider is a provider of identities, to which a person has come back already,
// and the parameter store that has the registry's secret there.
type provider struct {
	*httptest.Server
	store *httptest.Server
	key   *rsa.PrivateKey

	mu       sync.Mutex
	nonce    string   // of the login that is under way
	secrets  []string // that the registry has shown
	requests int      // to the parameter store
}

func startProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{key: kmstest.RSAKey(t, 2048)}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	p.store = httptest.NewServer(http.HandlerFunc(p.serveSecret))
	t.Cleanup(p.store.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	answer := map[string]any{}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		}
	case "/keys":
		answer["keys"] = []any{map[string]string{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(p.key.N.Bytes()),
		}}
	case "/token":
		_, secret, _ := r.BasicAuth()
		p.mu.Lock()
		p.secrets = append(p.secrets, secret)
		nonce := p.nonce
		p.mu.Unlock()
		answer = map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.says(map[string]any{
			"aud": "larder", "sub": "0815", "nonce": nonce, "preferred_username": "ann", "groups": []string{"engineering"},
		})}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// expect has the person come back who was sent there with a nonce.
func (p *provider) expect(nonce string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nonce = nonce
}

// seen are the secrets that the registry has shown, and how often it has asked
// the parameter store.
func (p *provider) seen() (secrets []string, requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secrets, p.requests
}

// says is an identity token.
func (p *provider) says(claims map[string]any) string {
	claims["iss"], claims["iat"], claims["exp"] = p.URL, time.Now().Unix(), time.Now().Add(time.Hour).Unix()
	part := func(value any) string {
		text, _ := json.Marshal(value)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, _ := rsa.SignPKCS1v15(nil, p.key, crypto.SHA256, sum[:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// serveSecret is GetParameter.
func (p *provider) serveSecret(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests++
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	body, _ := io.ReadAll(r.Body)
	if string(body) != `{"Name":"`+secretName+`","WithDecryption":true}` {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]string{"Name": secretName, "Value": clientSecret}})
}

// loginFunction starts the function for tokens as the template deploys it.
func loginFunction(t *testing.T, p *provider, table string) *lambdatest.Function {
	t.Helper()
	d, err := templatetest.Load(filepath.Join(root, "template.yaml"), templatetest.Values{Parameters: map[string]string{
		"BucketName": "larder", "DomainName": "registry.example.com", "CertificateArn": "arn:aws:acm:eu-central-1:111122223333:certificate/1",
		"LoginIssuer": p.URL, "LoginClientId": "larder", "LoginClientSecretName": secretName,
	}})
	if err != nil {
		t.Fatal(err)
	}
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := append([]string{
		"SSL_CERT_FILE=" + trusted, "AWS_ENDPOINT_URL_SSM=" + p.store.URL, "AWS_ENDPOINT_URL_DYNAMODB=" + dynamotest.Start(t).Endpoint,
	}, credentials...)
	for name, value := range d.Functions["login"].Environment {
		if name == "LARDER_TABLE" {
			value = table // of an engine that all tests share
		}
		environment = append(environment, name+"="+value)
	}
	return lambdatest.Start(t, bootstrap(t, "login"), environment)
}

// logins are the golden events of the function for tokens, but for those of
// operators, and what they are answered: words of the body, of Allow or of
// Location.
var logins = map[string]answer{
	"login":                   {302, "/authorize?"},
	"login-head":              {302, "/authorize?"},
	"login-elsewhere":         {400, "not where Terraform and OpenTofu listen"},
	"login-post":              {405, "GET, HEAD"},
	"callback":                {400, "This login is over, or was never begun"},
	"callback-head":           {200, ""},
	"consent":                 {400, "This login is over, or was never begun"},
	"consent-of-another-site": {400, "not sent from a page of the registry"},
	"consent-get":             {405, "POST"},
	"token-code":              {400, `"error":"invalid_grant","error_description":"there is no such code`},
	"token-exchange":          {400, "no rule of this registry trusts the issuer"},
	"token-json":              {400, "the body must be a form"},
	"token-query":             {400, "there are parameters in the query"},
	"token-options":           {405, "POST"},
}

// accesses are the events by which operators ask, in an order that makes sense,
// and words of the answers.
var accesses = []struct{ event, words string }{
	{"access-create-token", `"name":"ci","owner":"alice","origin":"operator","scopes":["read modules:acme/*"]`},
	{"access-create-token", `"name":"ci"`}, // once more: the answer was lost
	{"access-list-tokens", `{"tokens":{"tokens":[{"id":"3f2a90c1`},
	{"access-revoke-token", `"name":"ci"`},
	{"access-revoke-token", `{"error":"`},
	{"access-list-tokens", `{"tokens":{"tokens":null}}`},
	{"access-add-rule", `{"rule":{"name":"acme-pipelines","use":"pipelines"`},
	{"access-add-rule-for-people", `{"rule":{"name":"everybody","use":"people"`},
	{"access-list-rules", `{"rules":{"rules":[{"name":"acme-pipelines"`},
	{"access-remove-rule", `{"rule":{"name":"acme-pipelines"`},
	{"access-remove-rule", `{"error":"`},
}

// TestLoginEvents replays the events of the function for tokens.
func TestLoginEvents(t *testing.T) {
	p := startProvider(t)
	f := loginFunction(t, p, dynamotest.Start(t).CreateTable(t))
	var replayed []string
	for name, want := range logins {
		got := ask(t, f, "login/"+name)
		words := got.Body + got.Headers["Allow"] + got.Headers["Location"]
		if got.StatusCode != want.status || !strings.Contains(words, want.words) || strings.HasSuffix(name, "-head") && got.Body != "" {
			t.Errorf("%s: %d %s %v, want %d with %q", name, got.StatusCode, got.Body, got.Headers, want.status, want.words)
		}
		replayed = append(replayed, name)
	}
	for _, request := range accesses {
		got, err := f.Invoke(t.Context(), golden(t, "login/"+request.event))
		if err != nil || !strings.Contains(string(got), request.words) || strings.Contains(string(got), "statusCode") {
			t.Errorf("%s: %s, %v, want %s", request.event, got, err, request.words)
		}
		replayed = append(replayed, request.event)
	}
	expectAll(t, "login", replayed)
	checkLog(t, "login", f)
	if _, requests := p.seen(); requests > 0 {
		t.Error("the secret was read, which nobody needed")
	}
}

// send hands a request to a function as the gateway does, the form in base64.
func send(t *testing.T, f *lambdatest.Function, method, target string, form url.Values, headers map[string]string, cookies ...string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	path, query, _ := strings.Cut(target, "?")
	event := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: path, RawQueryString: query, Cookies: cookies, Headers: map[string]string{"host": "registry.example.com"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			DomainName: "registry.example.com", HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: path, SourceIP: "192.0.2.44"},
		},
	}
	for name, value := range headers {
		event.Headers[name] = value
	}
	if form != nil {
		event.Headers["content-type"] = "application/x-www-form-urlencoded"
		event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(form.Encode())), true
	}
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.Invoke(t.Context(), payload)
	var got events.APIGatewayV2HTTPResponse
	if err == nil {
		err = json.Unmarshal(response, &got)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	if got.IsBase64Encoded {
		got.Body = plain(t, got)
	}
	return got
}

// location is the query of where an answer leads.
func location(t *testing.T, got events.APIGatewayV2HTTPResponse, status int) url.Values {
	t.Helper()
	to, err := url.Parse(got.Headers["Location"])
	if err != nil || got.StatusCode != status {
		t.Fatalf("%d %s %v, %v, want %d", got.StatusCode, got.Body, got.Headers, err, status)
	}
	return to.Query()
}

// tokenOf is the token in an answer.
func tokenOf(t *testing.T, got events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	var document struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(got.Body), &document); err != nil || got.StatusCode != http.StatusOK || document.AccessToken == "" {
		t.Fatalf("%d %s", got.StatusCode, got.Body)
	}
	return document.AccessToken
}

var ticketInPage = regexp.MustCompile(`name="ticket" value="([^"]+)"`)

// TestLogin goes from a client that sends a person here to the token with which
// it reads, and to a pipeline's. Each request comes to another instance of the
// function than the one before.
func TestLogin(t *testing.T) {
	table := dynamotest.Start(t).CreateTable(t)
	fill(t, table)
	p := startProvider(t)
	one, other := loginFunction(t, p, table), loginFunction(t, p, table)
	allow(t, one, access.Rule{Name: "people", Use: access.ForPeople, Claims: claims(t, "groups=engineering"), Scopes: scopes(t, "read modules:*"), Lifetime: access.Duration(time.Hour)})
	allow(t, one, access.Rule{
		Name: "pipelines", Use: access.ForPipelines, Issuer: p.URL, Audience: "https://registry.example.com", Claims: claims(t, "repository=acme/widget"),
		Scopes: scopes(t, "read providers:acme/*"), Lifetime: access.Duration(time.Hour),
	})

	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	begun := send(t, one, http.MethodGet, "/v1/login?"+url.Values{
		"client_id": {"terraform-cli"}, "redirect_uri": {"http://localhost:10000/login"}, "response_type": {"code"}, "state": {"st+te"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode(), nil, nil)
	asked := location(t, begun, http.StatusFound)
	if len(begun.Cookies) != 1 || asked.Get("redirect_uri") != "https://registry.example.com/v1/login/callback" || asked.Get("scope") != "openid profile email" || asked.Get("client_id") != "larder" {
		t.Fatalf("the person is sent on with %v and %q", asked, begun.Cookies)
	}
	p.expect(asked.Get("nonce"))
	cookie, _, _ := strings.Cut(begun.Cookies[0], ";")
	page := send(t, other, http.MethodGet, "/v1/login/callback?code=c%2Bde&state="+asked.Get("state"), nil, nil, "theme=dark", cookie)
	ticket := ticketInPage.FindStringSubmatch(page.Body)
	if page.StatusCode != http.StatusOK || ticket == nil || !strings.HasPrefix(page.Headers["Content-Type"], "text/html") {
		t.Fatalf("%d %s %v", page.StatusCode, page.Body, page.Headers)
	}
	back := location(t, send(t, one, http.MethodPost, "/v1/login/consent", url.Values{"ticket": {ticket[1]}, "decision": {"allow"}},
		map[string]string{"origin": "https://registry.example.com"}, cookie), http.StatusSeeOther)
	if back.Get("state") != "st+te" {
		t.Errorf("the client gets %v back", back)
	}
	redeem := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"terraform-cli"}, "code": {back.Get("code")}, "code_verifier": {verifier}, "redirect_uri": {"http://localhost:10000/login"},
	}
	person := tokenOf(t, send(t, other, http.MethodPost, "/v1/token", redeem, nil))
	if again := send(t, one, http.MethodPost, "/v1/token", redeem, nil); again.StatusCode != http.StatusBadRequest {
		t.Errorf("a code is good twice: %d", again.StatusCode)
	}
	identity := p.says(map[string]any{"aud": "https://registry.example.com", "sub": "repo:acme/widget", "repository": "acme/widget"})
	pipeline := tokenOf(t, send(t, one, http.MethodPost, "/v1/token", url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {identity}, "subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
	}, nil))

	reading := reader(t, "versions", table)
	for _, c := range []struct {
		token, path string
		want        int
	}{
		{person, "/v1/modules/acme/vpc/aws/versions", 200},
		{person, "/v1/providers/acme/widget/versions", 404},
		{pipeline, "/v1/modules/acme/vpc/aws/versions", 404},
		{pipeline, "/v1/providers/acme/widget/versions", 200},
	} {
		if got := send(t, reading, http.MethodGet, c.path, nil, map[string]string{"authorization": "Bearer " + c.token}); got.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.path, got.StatusCode, c.want)
		}
	}
	if secrets, requests := p.seen(); !slices.Equal(secrets, []string{clientSecret}) || requests != 1 {
		t.Errorf("the provider was shown %q after %d requests to the parameter store", secrets, requests)
	}
	for name, f := range map[string]*lambdatest.Function{"login": one, "the other login": other, "versions": reading} {
		checkLog(t, name, f, person, pipeline, identity, clientSecret, ticket[1], back.Get("code"), asked.Get("state"), verifier, strings.TrimPrefix(cookie, "__Host-larder-login="))
	}
}

// allow adds a rule as an operator does.
func allow(t *testing.T, f *lambdatest.Function, rule access.Rule) {
	t.Helper()
	payload, err := json.Marshal(map[string]admin.Request{"access": {AddRule: &rule}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.Invoke(t.Context(), payload)
	var got admin.Answer
	if err == nil {
		err = json.Unmarshal(response, &got)
	}
	if err != nil || got.Rule == nil {
		t.Fatalf("%s, %v", response, err)
	}
}

func claims(t *testing.T, text string) []access.Claim {
	t.Helper()
	claim, err := access.ParseClaim(text)
	if err != nil {
		t.Fatal(err)
	}
	return []access.Claim{claim}
}

func scopes(t *testing.T, text string) access.Scopes {
	t.Helper()
	parsed, err := access.ParseScopes([]string{text})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
