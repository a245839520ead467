package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
)

// mustAnswer asks for a document with a token, and wants a status.
func (n *node) mustAnswer(t *testing.T, path, token string, want int, says ...string) {
	t.Helper()
	status, body := n.ask(t, path, token)
	if status != want {
		t.Errorf("%s with %.12q: %d, want %d", path, token, status, want)
	}
	for _, text := range says {
		if !strings.Contains(string(body), text) {
			t.Errorf("%s with %.12q: %s, want %q", path, token, body, text)
		}
	}
}

func TestTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and in a process of its own: the race detector sees the same node in internal/serve")
	}
	t.Parallel()
	n := newNode(t, "LARDER_AUTH=required")
	n.publish(t)
	widget, network := widgetPath+"/versions", networkPath+"/versions"
	other, _ := access.NewToken()
	secret := strings.TrimSuffix(n.must(t, `larder token create --name ci --owner alice --scope "read providers:acme/*"`), "\n")

	n.mustAnswer(t, widget, "", http.StatusUnauthorized, "there is no token")
	n.mustAnswer(t, widget, "nonsense", http.StatusUnauthorized, "not a token")
	n.mustAnswer(t, widget, other, http.StatusUnauthorized, "unknown here, or was revoked")
	n.mustAnswer(t, "/.well-known/terraform.json", "nonsense", http.StatusOK, "providers.v1")
	n.must(t, "larder token list", "ci    ", "alice  operator  read providers:acme/*", "never\n")
	n.mustAnswer(t, widget, secret, http.StatusOK, `"1.0.0"`)
	n.mustAnswer(t, network, secret, http.StatusNotFound, "acme/network/aws")
	n.mustFail(t, `larder token create --name ci --scope "read *"`, "there is a token of that name")
	if out := n.must(t, "larder token list"); strings.Contains(out, "never\n") {
		t.Errorf("it was used, and the list says\n%s", out)
	}

	n.stop()
	if err := os.Remove(filepath.Join(n.dir, ".larder", "catalog.db")); err != nil {
		t.Fatal(err)
	}
	n.start(t)
	n.mustAnswer(t, widget, secret, http.StatusOK, `"1.0.0"`)

	n.must(t, "larder token revoke ci", `the token "ci" of alice (`, "takes effect at once\n")
	n.mustAnswer(t, widget, secret, http.StatusUnauthorized, "was revoked")
	n.mustFail(t, "larder token revoke ci", "there is no token")

	n.stop()
	log := n.log.String()
	for _, token := range []string{secret, other} {
		if strings.Contains(log, token) || strings.Contains(log, token[len(access.Prefix):][:16]) {
			t.Error("a token is in the log")
		}
	}
	for _, want := range []string{"create token", "revoke token", "read providers:acme/widget", "read modules:acme/network/aws"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

func TestTrust(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and in a process of its own: the race detector sees the same node in internal/serve")
	}
	t.Parallel()
	n := newNode(t)
	n.must(t, `larder trust add main --github --audience https://registry.example --claim repository_owner=acme --scope "read *"
		larder trust add platform --login --claim groups=platform --scope "read modules:acme/*" --lifetime 12h`,
		"the rule main gives pipelines tokens", "the rule platform gives people tokens that are valid for 12h")
	n.mustFail(t, `larder trust add main --login --claim a=b --scope "read *"`, "another rule of the name main")
	n.stop()
	n.start(t)
	n.must(t, "larder trust list", "repository_owner=acme", "groups=platform", "12h\n")
	n.must(t, "larder trust remove main", "the rule main is removed", "in 15m at the latest")
	if out := n.must(t, "larder trust list"); strings.Contains(out, "github") {
		t.Errorf("the rules are\n%s", out)
	}
}
