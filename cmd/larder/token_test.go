package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
)

// accessRequest is what a deployment was asked by a request to its function login.
func accessRequest(t *testing.T, asked string) admin.Request {
	t.Helper()
	body, ok := strings.CutPrefix(asked, "acme-registry-login/invocations ")
	var event struct{ Access admin.Request }
	if err := json.Unmarshal([]byte(body), &event); !ok || err != nil {
		t.Fatalf("asked %q: %v", asked, err)
	}
	return event.Access
}

const kept = `{"token":{"id":"` + oneID + `","name":"ci","owner":"alice","origin":"operator","scopes":["read *"],"created":"2026-11-21T00:00:00Z"}}`

const oneID = "3f2a90c13f2a90c13f2a90c13f2a90c13f2a90c13f2a90c13f2a90c13f2a90c1"

// The registry is told of a token's hash, and of nothing from which the token
// can be made.
func TestTokenIsMadeHere(t *testing.T) {
	asked := startStack(t, kept)
	out, beside, err := run(t, "token", "create", "--name", "ci", "--scope", "read modules:acme/*", "--scope", "read mirror:*", "--owner", "alice")
	if err != nil {
		t.Fatal(err)
	}
	secret, rest, _ := strings.Cut(out, "\n")
	id, err := access.ParseToken(secret)
	if err != nil || rest != "" || beside != "" {
		t.Fatalf("printed %q and %q: %v", out, beside, err)
	}
	if len(*asked) != 1 || strings.Contains((*asked)[0], secret[len(access.Prefix):]) {
		t.Fatalf("asked %q", *asked)
	}
	got := accessRequest(t, (*asked)[0]).CreateToken
	if got.ID != id || got.Name != "ci" || got.Owner != "alice" || time.Duration(got.Lifetime) != 90*24*time.Hour || got.Forever ||
		got.Scopes.String() != "read modules:acme/*, read mirror:*" {
		t.Errorf("asked for %+v", got)
	}
}

func TestTokenLifetimes(t *testing.T) {
	for text, want := range map[string]admin.CreateToken{
		"never": {Forever: true},
		"30m":   {Lifetime: access.Duration(30 * time.Minute)},
		"12h":   {Lifetime: access.Duration(12 * time.Hour)},
		"7d":    {Lifetime: access.Duration(7 * 24 * time.Hour)},
	} {
		asked := startStack(t, kept)
		if _, _, err := run(t, "token", "create", "--name", "ci", "--scope", "read *", "--expires", text); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := accessRequest(t, (*asked)[0]).CreateToken
		if got.Forever != want.Forever || got.Lifetime != want.Lifetime || got.Owner == "" {
			t.Errorf("%s: asked for %+v", text, got)
		}
		if back := formatLifetime(want.Lifetime); !want.Forever && back != text {
			t.Errorf("%s is written %s", text, back)
		}
	}
	for _, text := range []string{"", "0", "0d", "1", "d", "1y", "-1d", "1.5d", "1dd", "1d12h", "1 d", "Never", "99999999999999999999d", "36601d", "4294967295h"} {
		asked := startStack(t, kept)
		_, _, err := run(t, "token", "create", "--name", "ci", "--scope", "read *", "--expires", text)
		if err == nil || !strings.Contains(err.Error(), "--expires") || !strings.Contains(err.Error(), "or never") || len(*asked) > 0 {
			t.Errorf("%q: %v, and asked %q", text, err, *asked)
		}
	}
}

// What is wrong with a token is said before anybody is asked, and nothing is
// printed that looks like one.
func TestTokenIsNotMade(t *testing.T) {
	for want, args := range map[string][]string{
		"name":        {"--name", " ", "--scope", "read *"},
		"owner":       {"--name", "ci", "--scope", "read *", "--owner", "a\nb"},
		"not a scope": {"--name", "ci", "--scope", "read everything"},
	} {
		asked := startStack(t, kept)
		out, _, err := run(t, append([]string{"token", "create"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) || out != "" || len(*asked) > 0 {
			t.Errorf("%q: printed %q, asked %q: %v", args, out, *asked, err)
		}
	}
}

// Whoever does not know what became of a token is told how to end it, and who
// knows is not bothered.
func TestTokenThatMayBeMade(t *testing.T) {
	for name, test := range map[string]struct {
		answers []string
		unknown bool
	}{
		"refused":       {[]string{`{"error":"there is a token of that name"}`}, false},
		"may not ask":   {nil, false},
		"no answer":     {[]string{`what?`}, true},
		"other answer":  {[]string{`{"rules":{}}`}, true},
		"nothing in it": {[]string{`{}`}, true},
	} {
		asked := startStack(t, test.answers...)
		out, _, err := run(t, "token", "create", "--name", "ci", "--scope", "read *")
		if err == nil || out != "" {
			t.Fatalf("%s: printed %q: %v", name, out, err)
		}
		revoke := "larder token revoke " + accessRequest(t, (*asked)[0]).CreateToken.ID.String()
		if strings.Contains(err.Error(), revoke) != test.unknown {
			t.Errorf("%s: %v, want %q in it: %v", name, err, revoke, test.unknown)
		}
	}
	startStack(t, kept)
	command := newCommand()
	command.SetOut(failingWriter{})
	command.SetArgs([]string{"token", "create", "--name", "ci", "--scope", "read *", "--stack", "acme-registry", "--region", "eu-central-1"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "larder token revoke ") {
		t.Errorf("nowhere to write: %v", err)
	}
}

// pages are two pages of tokens: one of a person, one of a pipeline, and one
// that has expired.
var pages = []string{
	`{"tokens":{"tokens":[
		{"id":"` + oneID + `","name":"ci","owner":"alice","origin":"operator","scopes":["read modules:acme/*","read mirror:*"],"created":"2026-11-21T00:00:00Z","used":"2026-11-20"},
		{"id":"4` + oneID[1:] + `","name":"github","owner":"repo:acme/x","origin":"exchange","scopes":["read *"],"created":"2026-11-21T00:00:00Z","expires":"2999-01-01T00:00:00Z"}
	],"next":"4` + oneID[1:] + `"}}`,
	`{"tokens":{"tokens":[
		{"id":"5` + oneID[1:] + `","name":"login","owner":"bob","origin":"login","scopes":["read *"],"created":"2026-11-01T00:00:00Z","expires":"2026-11-02T03:04:05Z"}
	]}}`,
}

func TestTokenList(t *testing.T) {
	head := "NAME   ID        OWNER  ORIGIN    SCOPES                              EXPIRES                     LAST USED\n"
	one := "ci     3f2a90c1  alice  operator  read modules:acme/*, read mirror:*  never                       2026-11-20\n"
	two := "login  5f2a90c1  bob    login     read *                              2026-11-02 03:04 (expired)  never\n"
	asked := startStack(t, pages...)
	out, _, err := run(t, "token", "list")
	if want := head + one + two + "\nand 1 of pipelines, which --all lists\n"; err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if len(*asked) != 2 || accessRequest(t, (*asked)[1]).ListTokens.After != "4"+oneID[1:] {
		t.Errorf("asked %q", *asked)
	}
	startStack(t, pages...)
	if out, _, err = run(t, "token", "list", "--all"); err != nil || !strings.Contains(out, "repo:acme/x  exchange") || strings.Contains(out, "--all") {
		t.Errorf("%v\n%s", err, out)
	}
	startStack(t, pages...)
	out, _, err = run(t, "token", "list", "--all", "--json")
	var document struct{ Tokens []access.Token }
	if err != nil || json.Unmarshal([]byte(out), &document) != nil || len(document.Tokens) != 3 || document.Tokens[0].ID.String() != oneID {
		t.Errorf("%v\n%s", err, out)
	}
	startStack(t, `{"tokens":{"tokens":null}}`)
	if out, _, err = run(t, "token", "list", "--json"); err != nil || !strings.Contains(out, `"tokens": []`) {
		t.Errorf("of none: %v\n%s", err, out)
	}
	startStack(t, `{"tokens":{"next":"a"}}`, `{"tokens":{"next":"a"}}`)
	if _, _, err = run(t, "token", "list"); err == nil || !strings.Contains(err.Error(), "makes no progress") {
		t.Errorf("a list without an end: %v", err)
	}
}

// A token is revoked by what people know of it; the token itself is not sent.
func TestTokenRevoke(t *testing.T) {
	secret, id := access.NewToken()
	asked := startStack(t, kept, kept, `{"error":"there is no token"}`)
	out, _, err := run(t, "token", "revoke", "ci", secret, "3f2a90c1", "never asked for")
	line := "the token \"ci\" of alice (3f2a90c1) is revoked, which takes effect within 60 seconds\n"
	if err == nil || err.Error() != "there is no token" || out != line+line {
		t.Errorf("%v\n%s", err, out)
	}
	var which []string
	for _, one := range *asked {
		which = append(which, accessRequest(t, one).RevokeToken.Which)
	}
	if !slices.Equal(which, []string{"ci", id.String(), "3f2a90c1"}) {
		t.Errorf("asked to revoke %q", which)
	}
	asked = startStack(t, kept)
	if _, _, err := run(t, "token", "revoke", secret[:len(secret)-1]); err == nil || !strings.Contains(err.Error(), "not by its text") || len(*asked) > 0 {
		t.Errorf("most of a token: %v, and asked %q", err, *asked)
	}
}

// All good tokens of one owner end, on all pages, and of nobody else.
func TestTokensOfAnOwnerAreRevoked(t *testing.T) {
	token := func(digit, owner, expires string) string {
		return `{"id":"` + strings.Repeat(digit, 64) + `","name":"ci","owner":"` + owner + `","scopes":["read *"],"created":"2026-11-21T00:00:00Z"` + expires + `}`
	}
	first := `{"tokens":{"tokens":[` + token("1", "alice", "") + `,` + token("2", "alice2", "") + `],"next":"` + strings.Repeat("2", 64) + `"}}`
	second := `{"tokens":{"tokens":[` + token("3", "alice", `,"expires":"2001-01-01T00:00:00Z"`) + `,` + token("4", "alice", `,"expires":"2999-01-01T00:00:00Z"`) + `]}}`
	asked := startStack(t, first, second, kept, kept)
	if _, _, err := run(t, "token", "revoke", "--owner", "alice"); err != nil {
		t.Fatal(err)
	}
	var revoked []string
	for _, request := range (*asked)[2:] {
		revoked = append(revoked, accessRequest(t, request).RevokeToken.Which)
	}
	if want := []string{strings.Repeat("1", 64), strings.Repeat("4", 64)}; !slices.Equal(revoked, want) {
		t.Errorf("revoked %q, want %q", revoked, want)
	}
	person := func(digit, owner, origin string) string {
		return strings.Replace(token(digit, owner, ""), `"scopes"`, `"origin":"`+origin+`","scopes"`, 1)
	}
	asked = startStack(t, `{"tokens":{"tokens":[`+strings.Join([]string{
		person("1", "ada@example.com (00u1)", "login"), person("2", "Ada (00u1)", "login"), person("3", "00u1", "login"),
		person("4", "Ada (x00u1)", "login"), person("5", "ada@example.com", "login"), person("6", "ci (00u1)", "operator"),
	}, ",")+`]}}`, kept, kept, kept)
	if out, _, err := run(t, "token", "revoke", "--owner", "00u1"); err != nil || strings.Count(out, "is revoked") != 3 || len(*asked) != 4 {
		t.Errorf("of a person: %v\n%s", err, out)
	}
	startStack(t, `{"tokens":{"tokens":[]}}`)
	if _, _, err := run(t, "token", "revoke", "--owner", "bob"); err == nil || !strings.Contains(err.Error(), `has the owner "bob"`) {
		t.Errorf("of nobody: %v", err)
	}
	for _, args := range [][]string{nil, {"ci", "--owner", "alice"}} {
		if _, _, err := run(t, append([]string{"token", "revoke"}, args...)...); err == nil || !strings.Contains(err.Error(), "say which tokens") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
