package tokens_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/tokens"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/identity"
	"github.com/larder-registry/larder/pkg/login"
)

// newConfig has all that is required, and an issuer that it reaches.
func newConfig(t *testing.T) (c tokens.Config, issuer string) {
	t.Helper()
	store, err := boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": server.URL, "jwks_uri": server.URL + "/keys", "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
		})
	}))
	t.Cleanup(server.Close)
	return tokens.Config{Store: store, Host: "larder.example:8443", Transport: server.Client().Transport, Logger: slog.New(slog.DiscardHandler)}, server.URL
}

// begin begins a login, like the browser of a client.
func begin(t *testing.T, handler http.Handler) *http.Response {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://larder.example:8443/v1/login?"+url.Values{
		"client_id": {"terraform-cli"}, "response_type": {"code"}, "state": {"x"}, "redirect_uri": {"http://localhost:10000/login"},
		"code_challenge_method": {"S256"}, "code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, // of RFC 7636, appendix B
	}.Encode(), nil))
	return answer.Result()
}

// TestPeopleLogIn holds that people are sent to the provider, to come back to the
// registry's own host, and that without a provider nobody is sent anywhere.
func TestPeopleLogIn(t *testing.T) {
	c, issuer := newConfig(t)
	without, err := tokens.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if response := begin(t, without.SignIn); response.StatusCode != http.StatusNotFound {
		t.Errorf("without a provider: %s", response.Status)
	}
	c.Provider = identity.ProviderConfig{Issuer: issuer, ClientID: "larder", Scopes: []string{"openid", "groups"}}
	with, err := tokens.New(c)
	if err != nil {
		t.Fatal(err)
	}
	response := begin(t, with.SignIn)
	to, err := response.Location()
	if err != nil {
		t.Fatalf("%s: %v", response.Status, err)
	}
	const back = "https://larder.example:8443/v1/login/callback"
	query := to.Query()
	if to.Scheme+"://"+to.Host != issuer || query.Get("client_id") != "larder" || query.Get("scope") != "openid groups" || query.Get("redirect_uri") != back {
		t.Errorf("sent to %s", to)
	}
	if got := tokens.RedirectURL(c.Host); got != back {
		t.Errorf("people come back to %s", got)
	}
	c.Provider.Issuer = "https://login.example.com/%zz"
	if _, err := tokens.New(c); err == nil || !strings.Contains(err.Error(), "%zz") {
		t.Errorf("of an issuer that is no URL: %v", err)
	}
}

type sessions struct{}

// NewSession implements login.Sessions.
func (sessions) NewSession(string, []string, time.Time) (login.Session, error) {
	return login.Session{}, nil
}

// TestAccessKeys holds that there are access keys where there is somebody to make them.
func TestAccessKeys(t *testing.T) {
	c, _ := newConfig(t)
	for _, c.Sessions = range []login.Sessions{nil, sessions{}} {
		made, err := tokens.New(c)
		if err != nil || (made.STS != nil) != (c.Sessions != nil) {
			t.Errorf("with %v: %v, %v", c.Sessions, made.STS, err)
		}
	}
}

// TestOperators holds that operators see the tokens of the store, and that it is told.
func TestOperators(t *testing.T) {
	c, _ := newConfig(t)
	var log strings.Builder
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	made, err := tokens.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if answer := made.Operators.Handle(t.Context(), admin.Request{RevokeToken: &admin.RevokeToken{}}); answer.Error == "" || !strings.Contains(log.String(), "revoke") {
		t.Errorf("answered %+v, and told:\n%s", answer, &log)
	}
}
