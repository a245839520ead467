// Package keycloaktest gives tests a real identity provider: Keycloak, which `make keycloak`
// fetches, with its database in memory.
//
// It takes a while to start. So the command with/ starts one beside a command, whose tests share
// it; otherwise each test binary that needs one starts its own. All tests share its one realm, in
// which each registry is a client.
package keycloaktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// variable is the variable with the URL that names the shared Keycloak.
	variable = "LARDER_KEYCLOAK"

	missing = "no Keycloak to log in with: run `make keycloak`"

	// adminClient is the client that may do everything.
	adminClient = "tests"

	requestTimeout = time.Minute
)

// Server is a running Keycloak.
type Server struct {
	URL    string // https://127.0.0.1:<port>
	CA     []byte // in PEM; clients have to trust it
	Secret string // of the client that may do everything
	Log    string // the file that it logs to
}

// started is the one Keycloak that this test binary uses, once a test has asked
// for it.
var started struct {
	sync.Mutex
	server *Server
	own    *process // nil if it is shared
}

// Run runs the tests of a binary, a [*testing.M] or a type with one, and stops its Keycloak after
// them. TestMain calls it, and exits with the result.
func Run(m interface{ Run() int }) int {
	defer func() {
		if started.own != nil {
			started.own.stop()
		}
	}()
	return m.Run()
}

// Start returns the Keycloak to test with. The first call waits until it serves. Without one, the
// test is skipped, or fails if CI is set.
func Start(t testing.TB) *Server {
	t.Helper()
	started.Lock()
	defer started.Unlock()
	if started.server != nil {
		return started.server
	}
	var err error
	if shared := os.Getenv(variable); shared != "" {
		started.server, err = ask(t.Context(), shared)
	} else if program.Need(t); started.own == nil {
		if started.own, err = launch(); err == nil {
			started.server, err = started.own.await(t.Context())
		}
	}
	if err == nil && started.server == nil {
		err = errors.New("for another test, Keycloak did not start")
	}
	if err != nil {
		t.Fatal(err)
	}
	return started.server
}

// client returns a client that trusts only Keycloak.
func (s *Server) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	return &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
}

// Issuer returns the issuer URL of the realm of realm.json, which has the people.
func (s *Server) Issuer() string { return s.URL + "/realms/acme" }

// Identity returns the company's identity token of its pipeline, for the registry at
// registry.example.com.
func (s *Server) Identity(ctx context.Context) (string, error) {
	got, err := s.token(ctx, s.Issuer(), "pipeline", "a secret of the pipeline's")
	return got.Identity, err
}

// token gets the token that a realm gives one of its clients for itself.
func (s *Server) token(ctx context.Context, issuer, client, secret string) (got struct {
	Access   string `json:"access_token"`
	Identity string `json:"id_token"`
}, err error) {
	form := url.Values{
		"grant_type": {"client_credentials"}, "scope": {"openid"}, "client_id": {client}, "client_secret": {secret},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		issuer+"/protocol/openid-connect/token", strings.NewReader(form.Encode()))
	if err != nil {
		return got, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return got, s.do(request, &got)
}

// Register registers an application to which people can log in, with one redirect URL. Without a
// secret it is a public client.
func (s *Server) Register(ctx context.Context, client, secret, redirect string) error {
	return s.admin(ctx, http.MethodPost, "realms/acme/clients", map[string]any{
		"clientId":                  client,
		"publicClient":              secret == "",
		"secret":                    secret,
		"redirectUris":              []string{redirect},
		"directAccessGrantsEnabled": false,
		"attributes":                map[string]string{"pkce.code.challenge.method": "S256"},
	})
}

// RotateKeys makes it sign with a new key from now on. It still publishes the old ones.
func (s *Server) RotateKeys(ctx context.Context) error {
	return s.admin(ctx, http.MethodPost, "realms/acme/components", map[string]any{
		"name":         "rsa-" + rand.Text(),
		"providerId":   "rsa-generated",
		"providerType": "org.keycloak.keys.KeyProvider",
		"config":       map[string][]string{"priority": {fmt.Sprint(time.Now().Unix())}}, // the highest one signs
	})
}

// admin sends a request with a document to the admin API.
//
// https://www.keycloak.org/docs-api/26.4.0/rest-api/index.html
func (s *Server) admin(ctx context.Context, method, path string, document any) error {
	got, err := s.token(ctx, s.URL+"/realms/master", adminClient, s.Secret) // it is good for a minute
	if err != nil {
		return err
	}
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL+"/admin/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+got.Access)
	request.Header.Set("Content-Type", "application/json")
	return s.do(request, nil)
}

// do sends a request, which must succeed, and reads the answer into out unless that is nil.
func (s *Server) do(request *http.Request, out any) error {
	response, err := s.client().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", request.Method, request.URL, response.Status, body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(body, out)
}
