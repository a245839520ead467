package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// issuer says who pipelines are, as the issuers of GitHub and GitLab do.
type issuer struct {
	url string
	key jose.JSONWebKey
}

// startIssuer runs one on this machine until the test ends.
func startIssuer(t testing.TB, ca *authority) *issuer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: jose.JSONWebKey{Key: private, KeyID: "first", Algorithm: string(jose.RS256), Use: "sig"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]any{
			"issuer":                                i.url,
			"jwks_uri":                              i.url + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
			"response_types_supported":              []string{"id_token"},
			"subject_types_supported":               []string{"public"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
	})
	mux.HandleFunc("GET /repositories/{owner}/{name}", i.serveJob)
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.certificate(t)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

func answerJSON(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

// identity is the issuer's identity token of a pipeline for an audience, with further claims.
func (i *issuer) identity(audience string, claims map[string]any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, nil)
	if err != nil {
		return "", err
	}
	now := time.Now()
	all := map[string]any{"iss": i.url, "aud": audience, "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": rand.Text()}
	maps.Copy(all, claims)
	return jwt.Signed(signer).Claims(all).Serialize()
}

// gitHubClaims are what GitHub says of a job.
//
// https://docs.github.com/en/actions/reference/security/oidc
func gitHubClaims(owner, name string) map[string]any {
	repository := owner + "/" + name
	return map[string]any{
		"sub":              "repo:" + repository + ":ref:refs/heads/main",
		"repository":       repository,
		"repository_owner": owner,
		"ref":              "refs/heads/main",
		"event_name":       "push",
		"run_attempt":      "1",
	}
}

// gitLabClaims are what GitLab says of a job.
//
// https://docs.gitlab.com/ci/secrets/id_token_authentication/#token-payload
func gitLabClaims(owner, name string) map[string]any {
	project := owner + "/" + name
	return map[string]any{
		"sub":            "project_path:" + project + ":ref_type:branch:ref:main",
		"project_path":   project,
		"namespace_path": owner,
		"ref_type":       "branch",
		"ref":            "main",
		"ref_protected":  "true",
	}
}

// jobSecret is the secret with which a job asks for its identity.
const jobSecret = "of this job alone"

// serveJob gives a job its identity for the audience that it asks for, as GitHub does.
func (i *issuer) serveJob(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "bearer "+jobSecret || r.URL.Query().Get("api-version") == "" {
		http.Error(w, "this is no job", http.StatusUnauthorized)
		return
	}
	identity, err := i.identity(r.URL.Query().Get("audience"), gitHubClaims(r.PathValue("owner"), r.PathValue("name")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answerJSON(w, map[string]any{"count": 1, "value": identity})
}

// jobURL is where a job of a repository asks for its identity.
func (i *issuer) jobURL(repository string) string {
	return fmt.Sprintf("%s/repositories/%s?api-version=2.0", i.url, repository)
}
