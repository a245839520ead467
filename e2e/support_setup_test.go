package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/larder-registry/larder/internal/awstest"
)

// setUp is what is unusual about a registry of a test's own.
type setUp struct {
	hostname string     // its own; empty, it has that by which it is reached
	provider *company   // with which people log in; nil, they do not
	issuers  *authority // of the issuers that it can reach, beside the provider
}

// startClosed runs a registry in which reading needs a token.
func startClosed(t testing.TB, s setUp) *registry {
	t.Helper()
	if door == deployed {
		deployed := startStackWith(t, s.deployment(t))
		return deployed.byName(t, deployed.Name)
	}
	n := startNode(t)
	n.stop(t)
	n.name, n.more = s.hostname, s.settings(t)
	n.resume(t)
	if s.hostname == "" {
		return n.registry
	}
	return n.byName(t, s.hostname)
}

// settings are the settings of a node.
func (s setUp) settings(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{"LARDER_AUTH": "required"}
	if s.issuers != nil {
		all["SSL_CERT_FILE"] = s.issuers.file
	}
	if s.provider != nil {
		maps.Copy(all, map[string]string{
			"SSL_CERT_FILE":          s.provider.ca,
			"LARDER_LOGIN_ISSUER":    s.provider.Issuer(),
			"LARDER_LOGIN_CLIENT_ID": s.provider.client,
			"LARDER_LOGIN_SCOPES":    loginScopes,
		})
		if s.provider.secret != "" {
			file := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(file, []byte(s.provider.secret+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			all["LARDER_LOGIN_CLIENT_SECRET_FILE"] = file
		}
	}
	return all
}

// deployment is the settings of a deployment, which always has a name.
func (s setUp) deployment(t testing.TB) awstest.Config {
	t.Helper()
	c := awstest.Config{Closed: true, Domain: s.hostname}
	if s.issuers != nil {
		c.Trusted = readFile(t, s.issuers.file)
	}
	if s.provider != nil {
		c.Trusted = readFile(t, s.provider.ca)
		c.Login = &awstest.Login{
			Issuer: s.provider.Issuer(), ClientID: s.provider.client, Secret: s.provider.secret, Scopes: loginScopes,
		}
	}
	return c
}

// loginScopes ask for groups, too.
const loginScopes = "openid profile email groups"
