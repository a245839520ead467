package clients_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/larder-registry/larder/internal/assembly/clients"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
)

func ask(t *testing.T, c clients.Config, path string) (status int, body map[string]any) {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	answer := httptest.NewRecorder()
	clients.New(c).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Errorf("%s: %v: %s", path, err, answer.Body)
	}
	return answer.Code, body
}

// TestDiscovery wants the discovery document to name a login if there is one.
func TestDiscovery(t *testing.T) {
	for issuer, want := range map[string]bool{"": false, "https://login.example.com": true} {
		status, body := ask(t, clients.Config{LoginIssuer: issuer}, "/.well-known/terraform.json")
		if _, told := body["login.v1"]; status != http.StatusOK || told != want {
			t.Errorf("with %q: %d, %v", issuer, status, body)
		}
	}
}

// TestReading holds who may read, and that without a catalog nothing is there to be read.
func TestReading(t *testing.T) {
	catalog, err := boltcatalog.Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = catalog.Close() })
	access, err := boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = access.Close() })
	for name, c := range map[string]struct {
		config clients.Config
		status int
	}{
		"no catalog": {clients.Config{}, http.StatusNotFound},
		"by tokens":  {clients.Config{Catalog: catalog.WithTokens(access), Tokens: access}, http.StatusUnauthorized},
		"open":       {clients.Config{Catalog: catalog.WithTokens(access), Tokens: access, Open: true}, http.StatusNotFound},
	} {
		if status, body := ask(t, c.config, "/v1/modules/acme/vpc/aws/versions"); status != c.status {
			t.Errorf("%s: %d, %v", name, status, body)
		}
	}
}
