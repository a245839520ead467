// Package keycloaktest gives tests a real provider of identities: Keycloak,
// which `make keycloak` fetches, with its database in memory.
//
// It takes a while to start. So the command with/ has one start beside a
// command, whose tests share it; without that, there is one for each test binary
// that asks for it. All tests share its one realm, in which each registry is a
// client of its own.
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
	// variable has the URL of what says where the Keycloak is that is shared.
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
	own    *process // nil where it is shared
}

// Run runs the tests of a binary, a [*testing.M] or what has one, and stops its
// Keycloak after them. It is for TestMain, which exits with the result.
func Run(m interface{ Run() int }) int {
	defer func() {
		if started.own != nil {
			started.own.stop()
		}
	}()
	return m.Run()
}

// Start is the Keycloak to test with. The first call waits until it serves.
// Without one, the test is skipped, or fails if CI is set.
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

// client trusts Keycloak alone.
func (s *Server) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	return &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
}

// Issuer is how Keycloak calls itself where the people are: the realm of
// realm.json.
func (s *Server) Issuer() string { return s.URL + "/realms/acme" }

// Identity is what the company says of a pipeline of its own, to the registry
// at registry.example.com.
func (s *Server) Identity(ctx context.Context) (string, error) {
	got, err := s.token(ctx, s.Issuer(), "pipeline", "a secret of the pipeline's")
	return got.Identity, err
}

// token is what a realm gives one of its clients in the client's own name.
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

// Register makes an application known that people can log in to, and that they
// are sent back to at one URL. Without a secret it is a public client.
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

// RotateKeys has it sign by another key from now on. Those before it are still
// published.
func (s *Server) RotateKeys(ctx context.Context) error {
	return s.admin(ctx, http.MethodPost, "realms/acme/components", map[string]any{
		"name":         "rsa-" + rand.Text(),
		"providerId":   "rsa-generated",
		"providerType": "org.keycloak.keys.KeyProvider",
		"config":       map[string][]string{"priority": {fmt.Sprint(time.Now().Unix())}}, // the highest one signs
	})
}

// admin asks the admin API for something, with a document.
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

// do sends a request, wants it to succeed, and reads the answer into out unless
// that is nil.
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
