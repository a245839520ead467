package e2e

import (
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// tokenText is what a token looks like.
var tokenText = regexp.MustCompile(`^larder_[A-Z2-7]{33}$`)

// newToken has an operator make a token, with one scope or more.
func (r *registry) newToken(t testing.TB, name string, scopes ...string) string {
	t.Helper()
	return r.newTokenFor(t, name, "1h", scopes...)
}

// newTokenFor makes a token that is valid for a while.
func (r *registry) newTokenFor(t testing.TB, name, lasts string, scopes ...string) string {
	t.Helper()
	args := []string{"token", "create", "--name", name, "--expires", lasts}
	for _, scope := range scopes {
		args = append(args, "--scope", scope)
	}
	token := strings.TrimSuffix(r.operate(t, args...), "\n")
	if !tokenText.MatchString(token) {
		t.Fatalf("larder token create prints %q", token)
	}
	return token
}

// tokenVariable is the environment variable in which the clients look for the token of a host that has no port.
func tokenVariable(host string) string {
	return "TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
}

// publishAcme publishes a module and a provider of acme, and a mirrored provider.
func publishAcme(t testing.TB, r *registry) {
	t.Helper()
	const widget = "acme/widget/terraform-provider-widget_1.0.0_" + hostPlatform + ".zip"
	r.publishAll(t, map[string][]byte{
		"modules/acme/label/null/1.0.0.tar.gz":   tinyModule(t, "1.0.0"),
		"providers/" + widget:                    providerZip(t, "widget", "1.0.0", "own"),
		"mirror/registry.terraform.io/" + widget: providerZip(t, "widget", "1.0.0", "mirrored"),
		"modules/other/label/null/1.0.0.tar.gz":  tinyModule(t, "other"),
	})
}

const (
	acmeModule   = "module \"label\" {\n  source  = \"HOST/acme/label/null\"\n  version = \"1.0.0\"\n}\n"
	acmeProvider = "terraform {\n  required_providers {\n    widget = { source = \"HOST/acme/widget\" }\n  }\n}\n"
	acmeMirrored = "terraform {\n  required_providers {\n    widget = { source = \"registry.terraform.io/acme/widget\" }\n  }\n}\n"
	acmeConfig   = acmeModule + acmeProvider
)

// The ways to give a client a token.
const (
	byVariable = "environment variable"
	byBlock    = "credentials block"
	byHelper   = "credentials helper"
)

// shown has a workspace send a token to the registry, unless it is empty.
func (w workspace) shown(t testing.TB, r *registry, methods, token, way string) {
	t.Helper()
	if token == "" {
		w.configure(t, methods)
		return
	}
	switch way {
	case byVariable:
		w.configure(t, methods)
		w.env[tokenVariable(r.host)] = token
	case byBlock:
		w.configure(t, methods, fmt.Sprintf("credentials %q {\n  token = %q\n}\n", r.host, token))
	case byHelper:
		w.configure(t, methods, "credentials_helper \"test\" {\n  args = [\"--one\"]\n}\n")
		w.env["HOME"] = w.dir
		plugins := filepath.Join(w.dir, ".terraform.d", "plugins")
		writeTree(t, plugins, map[string]string{"terraform-credentials-test": fmt.Sprintf(helper, r.host, token)})
		if err := os.Chmod(filepath.Join(plugins, "terraform-credentials-test"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// helper is a credentials helper that has a token for one host.
const helper = `#!/bin/sh
[ "$1 $2" = "--one get" ] || exit 1
case $3 in
%s) echo '{"token":"%s"}' ;;
*) echo '{}' ;;
esac
`

// reading is something to install.
type reading struct {
	name, config string
	methods      func(*registry) string // of installation
}

func directly(*registry) string { return direct }

var (
	ofProvider = reading{"provider", acmeProvider, directly}
	ofModule   = reading{"module", acmeModule, directly}
	ofMirror   = reading{"mirror", acmeMirrored, func(r *registry) string { return r.mirror() }}
)

// install has the client install something with a token, in a workspace of its own. It wants the client to fail with
// these words, or to succeed if there are no words.
func (c client) install(t *testing.T, r *registry, what reading, token, way, says string) {
	t.Helper()
	w := c.workspace(t, r, what.config)
	w.shown(t, r, what.methods(r), token, way)
	if says != "" {
		w.refuses(t, strings.ReplaceAll(says, "HOST", r.host), "init", "-input=false")
		return
	}
	w.run(t, "init", "-input=false")
}

// What the clients say of a token, whichever of them it is. They do not show the registry's own words.
const (
	asksForToken    = "host HOST requires authentication credentials"
	rejectsToken    = "host HOST rejected the given authentication credentials"
	isUnauthorized  = "error looking up module versions: 401 Unauthorized"
	hasNoProvider   = "provider registry HOST does not have a provider named HOST/acme/widget"
	hasNoModule     = "cannot be found in the module registry at HOST"
	hasNoneMirrored = "was not found in any of the search locations"
)

// denial is what a person sees who installs with an invalid token.
type denial struct {
	token                    string // by its name in a test
	provider, module, mirror string // what the client says
}

var denials = []denial{
	{"none", asksForToken, isUnauthorized, rejectsToken},
	{"garbage", rejectsToken, isUnauthorized, rejectsToken},
	{"cut off", rejectsToken, isUnauthorized, rejectsToken},
	denialOfUnknown,
	{"revoked", rejectsToken, isUnauthorized, rejectsToken},
	{"for another namespace", hasNoProvider, hasNoModule, hasNoneMirrored},
}

var (
	denialOfUnknown = denial{"unknown", rejectsToken, isUnauthorized, rejectsToken}
	denialOfExpired = denial{"expired", rejectsToken, isUnauthorized, rejectsToken}
)

// check wants a client to say it of each kind of reading.
func (f denial) check(t *testing.T, c client, r *registry, token, way string) {
	t.Helper()
	c.install(t, r, ofProvider, token, way, f.provider)
	c.install(t, r, ofModule, token, way, f.module)
	c.install(t, r, ofMirror, token, way, f.mirror)
}

// A revoked token stops working: on a single node at once, on AWS within a minute.
func TestTokensEnd(t *testing.T) {
	t.Parallel()
	r := startClosed(t, setUp{hostname: ownHostname})
	publishAcme(t, r)
	expiring := r.newTokenFor(t, "expiring", "1m", "read *")
	revoked := r.newToken(t, "revoked", "read *")
	for _, token := range []string{expiring, revoked} {
		clients[0].install(t, r, ofModule, token, byVariable, "")
	}
	r.operate(t, "token", "revoke", "revoked")
	within := time.Duration(0)
	if door == deployed {
		within = 75 * time.Second
	}
	r.awaitUnauthorized(t, revoked, within, "unknown here, or was revoked")
	r.awaitUnauthorized(t, expiring, 75*time.Second, "has expired")
	forEachClient(t, func(t *testing.T, c client) { denialOfExpired.check(t, c, r, expiring, byBlock) })
}

// Every client installs with a token, in each way to give it one, and says what is wrong with other tokens.
func TestTokens(t *testing.T) {
	t.Parallel()
	r := startClosed(t, setUp{hostname: ownHostname})
	publishAcme(t, r)
	tokens := map[string]string{
		"none":                  "",
		"garbage":               "not-a-token",
		"cut off":               unknownToken[:20],
		"unknown":               unknownToken,
		"revoked":               r.newToken(t, "revoked", "read *"),
		"for another namespace": r.newToken(t, "other", "read modules:other/*", "read providers:other/*", "read mirror:registry.terraform.io/other/*"),
		"good":                  r.newToken(t, "good", "read modules:acme/*", "read providers:acme/*", "read mirror:registry.terraform.io/acme/*"),
	}
	checkSays(t, r.operate(t, "token", "revoke", "revoked"), `the token "revoked"`, "is revoked")
	forEachClient(t, func(t *testing.T, c client) {
		for _, way := range []string{byVariable, byBlock, byHelper} {
			for _, what := range []reading{ofProvider, ofModule, ofMirror} {
				c.install(t, r, what, tokens["good"], way, "")
			}
			denialOfUnknown.check(t, c, r, tokens["unknown"], way)
		}
		both := c.workspace(t, r, acmeModule) // of which the environment wins
		both.shown(t, r, direct, tokens["good"], byBlock)
		both.env[tokenVariable(r.host)] = tokens["unknown"]
		both.refuses(t, isUnauthorized, "init", "-input=false")
		for _, refused := range denials {
			refused.check(t, c, r, tokens[refused.token], byBlock)
		}
	})
	checkUsed(t, r)
	r.checkNotLogged(t, tokens)
}

// checkUsed wants the list of tokens to say which were used.
func checkUsed(t testing.TB, r *registry) {
	t.Helper()
	var list struct {
		Tokens []struct{ Name, Used string }
	}
	if err := json.Unmarshal([]byte(r.operate(t, "token", "list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, token := range list.Tokens {
		used[token.Name] = token.Used != ""
	}
	// A token that was only used for what it has no scope for was not used.
	if want := map[string]bool{"good": true, "other": false}; !maps.Equal(used, want) {
		t.Errorf("used: %v, want %v", used, want)
	}
}

// checkNotLogged wants no token in the registry's log.
func (r *registry) checkNotLogged(t testing.TB, tokens map[string]string) {
	t.Helper()
	log := string(r.wholeLog())
	if !strings.Contains(log, "good") {
		t.Error("the log does not say who was allowed what")
	}
	for name, token := range tokens {
		if token != "" && strings.Contains(log, token) {
			t.Errorf("the token %q is in the log", name)
		}
	}
}

// unknownToken is well formed, and no registry has it.
var unknownToken = "larder_AAAAAAAAAAAAAAAAAAAAAAAAAA" + checksumOf("larder_AAAAAAAAAAAAAAAAAAAAAAAAAA")

// checksumOf is the end of a token that begins like this, as docs/tokens.md says.
func checksumOf(begin string) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(begin)))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum)
}

// awaitUnauthorized waits until a token does not work any more, and wants the answer to say why.
func (r *registry) awaitUnauthorized(t testing.TB, token string, within time.Duration, why string) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(250 * time.Millisecond) {
		a := r.askAs(t, token, "/v1/modules/acme/label/null/versions")
		if a.status == http.StatusUnauthorized {
			checkSays(t, string(a.body), why, tokenVariable(r.host))
			return
		}
		if !time.Now().Before(deadline) {
			t.Errorf("after %v the token is still good: %d", within, a.status)
			return
		}
	}
}

// askAs sends a request with a token, unless it is empty.
func (r *registry) askAs(t testing.TB, token, path string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return r.do(t, request)
}
