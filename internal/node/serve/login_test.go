package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-jose/go-jose/v4"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
)

// issuer is an OpenID Connect provider, as far as its documents go.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	})
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

// identity is an identity token of a pipeline.
func (i *issuer) identity(t *testing.T, audience, repository string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: "1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := json.Marshal(map[string]any{
		"iss": i.URL, "aud": audience, "sub": "repo:" + repository, "repository": repository,
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// exchange exchanges the identity of a pipeline for a token.
func (r *running) exchange(t *testing.T, identity string) (token string, status int) {
	t.Helper()
	response, err := r.client(t).PostForm("https://"+r.env(t, "LARDER_HOST")+"/v1/token", url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"}, "subject_token": {identity},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Token, response.StatusCode
}

// get asks the registry with a token, and follows nothing.
func (r *running) get(t *testing.T, path, token string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.env(t, "LARDER_HOST")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := r.client(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return answer(t, client, request)
}

// answer is what a client is answered.
func answer(t *testing.T, client *http.Client, request *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// startForPipelines starts a node that wants tokens, and gives them to the pipelines of acme.
func startForPipelines(t *testing.T) (*running, *issuer) {
	t.Helper()
	set := localSettings(t)
	set.Auth = settings.AuthRequired
	i := newIssuer(t)
	r := startNode(t, &node{settings: set, toIssuers: i.Client().Transport})
	scopes, err := access.ParseScopes([]string{"read providers:acme/*"})
	if err != nil {
		t.Fatal(err)
	}
	r.ask(t, control.Request{Access: &admin.Request{AddRule: &access.Rule{
		Name: "ci", Use: access.ForPipelines, Issuer: i.URL, Audience: "https://larder", Scopes: scopes,
		Claims: []access.Claim{{Name: "repository", Pattern: "acme/*"}}, Lifetime: access.Duration(15 * time.Minute),
	}}})
	return r, i
}

// Pipelines get tokens without a login for people, and what they bring and get
// is not in the log.
func TestPipelinesGetTokens(t *testing.T) {
	r, i := startForPipelines(t)
	if token, status := r.exchange(t, i.identity(t, "https://larder", "evil/x")); token != "" || status != http.StatusBadRequest {
		t.Errorf("a stranger's identity is answered %d", status)
	}
	identity := i.identity(t, "https://larder", "acme/x")
	token, status := r.exchange(t, identity)
	if _, err := access.ParseToken(token); status != http.StatusOK || err != nil {
		t.Fatalf("answered %d: %v", status, err)
	}
	for path, want := range map[string]int{"/v1/providers/acme/none/versions": 404, "/v1/modules/acme/none/aws/versions": 404} {
		if response, body := r.get(t, path, token); response.StatusCode != want {
			t.Errorf("%s: %s %s", path, response.Status, body)
		}
		if response, _ := r.get(t, path, ""); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %s", path, response.Status)
		}
	}
	if _, body := r.get(t, "/.well-known/terraform.json", ""); strings.Contains(body, "login.v1") {
		t.Errorf("nobody can log in, and discovery says %s", body)
	}
	log := r.log.String()
	for _, secret := range []string{identity, strings.Split(identity, ".")[2], token, token[len(access.Prefix):][:16]} {
		if strings.Contains(log, secret) {
			t.Error("a secret is in the log")
		}
	}
	if want := "pipeline repo:acme/x of " + i.URL; !strings.Contains(log, want) {
		t.Errorf("the log does not say %q:\n%s", want, log)
	}
}

// Pipelines get access keys where the bucket is, by the same rules, and neither key nor
// identity is in the log.
func TestPipelinesGetAccessKeys(t *testing.T) {
	i := newIssuer(t)
	r := startNode(t, &node{settings: localSettings(t), toIssuers: i.Client().Transport})
	r.ask(t, control.Request{Access: &admin.Request{AddRule: &access.Rule{
		Name: "ci", Use: access.ForPipelines, Issuer: i.URL, Audience: "https://larder", Uploads: []string{"acme"},
		Claims: []access.Claim{{Name: "repository", Pattern: "acme/*"}}, Lifetime: access.Duration(15 * time.Minute),
	}}})
	assume := func(identity string) (key aws.Credentials, status int) {
		t.Helper()
		response, err := r.client(t).PostForm(r.env(t, "AWS_ENDPOINT_URL_S3"), url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {"arn:aws:iam::000000000000:role/larder"}, "WebIdentityToken": {identity}})
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct {
			Key struct{ AccessKeyId, SecretAccessKey, SessionToken string } `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
		}
		if err := xml.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return aws.Credentials{AccessKeyID: answer.Key.AccessKeyId, SecretAccessKey: answer.Key.SecretAccessKey, SessionToken: answer.Key.SessionToken}, response.StatusCode
	}
	if key, status := assume(i.identity(t, "https://larder", "evil/x")); key.AccessKeyID != "" || status != http.StatusForbidden {
		t.Errorf("a stranger's identity is answered %d", status)
	}
	identity := i.identity(t, "https://larder", "acme/x")
	key, status := assume(identity)
	if status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
	upload := func(name string) error {
		_, err := s3.New(s3.Options{Region: locals3.Region, BaseEndpoint: aws.String(r.env(t, "AWS_ENDPOINT_URL_S3")), UsePathStyle: true, HTTPClient: r.client(t),
			Credentials: credentials.StaticCredentialsProvider{Value: key}}).PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String(locals3.Bucket), Key: &name, Body: strings.NewReader("x")})
		return err
	}
	if err := upload("modules/acme/README.md"); err != nil {
		t.Error(err)
	}
	r.waitForLog(t, `msg="upload ignored" key=modules/acme/README.md`, `by="ci repo:acme/x"`)
	if err := upload("modules/evil/README.md"); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("for another namespace: %v", err)
	}
	for _, secret := range []string{identity, strings.Split(identity, ".")[2], key.SecretAccessKey, key.SessionToken} {
		if strings.Contains(r.log.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
	admit, request := admission(), httptest.NewRequest(http.MethodPost, keysPath, nil)
	for range limits[keysPath].eachBurst {
		admit(request)
	}
	if admit(request) {
		t.Error("there is room for any number")
	}
}

// People are sent to the provider, to come back to the registry's own host.
func TestPeopleLogIn(t *testing.T) {
	set := localSettings(t)
	set.Auth = settings.AuthRequired
	i := newIssuer(t)
	set.Login = settings.Login{Issuer: i.URL, ClientID: "larder", Scopes: []string{"openid", "groups"}, SecretFile: filepath.Join(t.TempDir(), "secret")}
	if err := os.WriteFile(set.Login.SecretFile, []byte("s3cret-of-the-client\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startNode(t, &node{settings: set, toIssuers: i.Client().Transport})
	if _, body := r.get(t, "/.well-known/terraform.json", ""); !strings.Contains(body, `"authz":"/v1/login"`) {
		t.Errorf("discovery says %s", body)
	}
	if _, body := r.get(t, "/v1/providers/acme/none/versions", ""); !strings.Contains(body, "terraform login") {
		t.Errorf("without a token it says %s", body)
	}
	response, body := r.get(t, "/v1/login?"+url.Values{
		"client_id": {"terraform-cli"}, "response_type": {"code"}, "state": {"x"}, "redirect_uri": {"http://localhost:10000/login"},
		"code_challenge_method": {"S256"}, "code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, // of RFC 7636, appendix B
	}.Encode(), "")
	to, err := response.Location()
	if err != nil {
		t.Fatalf("%s: %s", response.Status, body)
	}
	query := to.Query()
	back := "https://" + r.env(t, "LARDER_HOST") + "/v1/login/callback"
	if to.Host != strings.TrimPrefix(i.URL, "https://") || query.Get("client_id") != "larder" || query.Get("redirect_uri") != back || query.Get("scope") != "openid groups" {
		t.Errorf("sent to %s", to)
	}
	if !strings.Contains(r.out.String(), "people log in at        "+i.URL) || !strings.Contains(r.log.String(), "redirect_uri="+back) {
		t.Errorf("it does not say where people log in:\n%s\n%s", r.out, r.log)
	}
	for _, secret := range []string{"s3cret", query.Get("state"), query.Get("nonce"), query.Get("code_challenge")} {
		if secret == "" || strings.Contains(r.log.String(), secret) {
			t.Errorf("%q is missing, or in the log", secret)
		}
	}
}

func TestSecretOfTheClientIsRefused(t *testing.T) {
	folder := t.TempDir()
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"read by others":    {"secret", 0o604, "chmod o="},
		"written by others": {"secret", 0o602, "chmod o="},
		"empty":             {" \n", 0o600, "only the client's secret"},
		"large":             {strings.Repeat("s", maxSecret+1), 0o600, "only the client's secret"},
		"missing":           {"", 0, "no such file"},
	} {
		path := filepath.Join(folder, strings.ReplaceAll(name, " ", "-"))
		if test.mode != 0 {
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, test.mode); err != nil {
				t.Fatal(err)
			}
		}
		_, err := readSecret(path)
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "LARDER_LOGIN_CLIENT_SECRET_FILE") || strings.Contains(err.Error(), "sss") {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
	path := filepath.Join(folder, "good")
	if err := os.WriteFile(path, []byte("a secret\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if secret, err := readSecret(path); err != nil || secret != "a secret" {
		t.Errorf("%q, %v", secret, err)
	}
	set := localSettings(t)
	set.Login = settings.Login{Issuer: "https://login.example.com", ClientID: "larder", SecretFile: filepath.Join(folder, "empty")}
	if err := Run(t.Context(), set, slog.New(slog.DiscardHandler), io.Discard); err == nil || !strings.Contains(err.Error(), "only the client's secret") {
		t.Errorf("it serves: %v", err)
	}
}

// Tokens are for the node's own user alone.
func TestAccessIsPrivate(t *testing.T) {
	r := start(t, localSettings(t))
	info, err := os.Stat(filepath.Join(r.data, datadir.Access))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
