package e2e

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/larder-registry/larder/internal/keycloaktest"
)

// company is a company's provider of identities, with people and passwords, as one registry is set to use it.
type company struct {
	*keycloaktest.Server
	client string // the registry, as the provider knows it
	secret string // of that client; a public one has none
	ca     string // the file of the certificate by which the registry trusts the provider
}

// The people whom it knows. All have the same password.
const (
	ada      = "ada@example.com" // of the group platform
	bob      = "bob@example.com" // of the group sales
	password = "correct horse"
)

// newCompany chooses the registry's client ID. The registry needs it before the provider can register the registry.
func newCompany(t testing.TB, secret string) *company {
	t.Helper()
	c := &company{keycloaktest.Start(t), "larder-" + rand.Text(), secret, filepath.Join(t.TempDir(), "provider.pem")}
	writeFile(t, c.ca, string(c.CA))
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		log, err := os.ReadFile(c.Log)
		t.Logf("the log of Keycloak:\n%s%v", log, err)
	})
	return c
}

// register registers the registry at host with the provider.
func (c *company) register(t testing.TB, host string) {
	t.Helper()
	if err := c.Register(t.Context(), c.client, c.secret, "https://"+host+"/v1/login/callback"); err != nil {
		t.Fatal(err)
	}
}

// identity is its identity token of a pipeline of the company.
func (c *company) identity(t testing.TB) string {
	t.Helper()
	identity, err := c.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return identity
}
