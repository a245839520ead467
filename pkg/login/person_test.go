package login

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
)

// TestTrusted: an address that is not verified counts in no claim that an issuer
// may have copied it to, and everything else does.
func TestTrusted(t *testing.T) {
	const boss = "Boss@acme.example"
	all := func(changes ...any) access.Claims {
		claims := access.Claims{"sub": "1", "email": "boss@acme.example", "preferred_username": boss, "name": boss, "nickname": boss, "upn": boss, "groups": "staff"}
		for i := 0; i < len(changes); i += 2 {
			claims[changes[i].(string)] = changes[i+1]
		}
		return claims
	}
	without := func(claims access.Claims, names ...string) access.Claims {
		for _, name := range names {
			delete(claims, name)
		}
		return claims
	}
	for name, test := range map[string]struct{ claims, want access.Claims }{
		"verified":              {all("email_verified", true), all("email_verified", true)},
		"verified, as text":     {all("email_verified", "true"), all("email_verified", "true")},
		"nobody says":           {all(), without(all(), "email")},
		"not verified":          {all("email_verified", false), access.Claims{"sub": "1", "groups": "staff", "email_verified": false}},
		"not verified, as text": {all("email_verified", "false"), access.Claims{"sub": "1", "groups": "staff", "email_verified": "false"}},
		"other names": {
			all("email_verified", false, "name", "Alice", "nickname", "al", "preferred_username", "alice", "upn", "alice@acme.example"),
			without(all("email_verified", false, "name", "Alice", "nickname", "al", "preferred_username", "alice", "upn", "alice@acme.example"), "email"),
		},
		"one other name": {all("email_verified", false, "name", "Alice"), access.Claims{"sub": "1", "groups": "staff", "email_verified": false, "name": "Alice"}},
	} {
		before := maps.Clone(test.claims)
		if got := trusted(test.claims); !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(test.claims, before) {
			t.Errorf("%s: %v, want %v; what was said is now %v", name, got, test.want, test.claims)
		}
	}
}

func TestOwner(t *testing.T) {
	for _, test := range []struct {
		claims access.Claims
		want   string
	}{
		{access.Claims{"sub": "1", "email": "a@b", "preferred_username": "al", "name": "Alice"}, "a@b (1)"},
		{access.Claims{"sub": "1", "preferred_username": "al", "name": "Alice"}, "al (1)"},
		{access.Claims{"sub": "1", "name": "  Alice\u00a0"}, "Alice (1)"},
		{access.Claims{"sub": "1", "nickname": "al"}, "1"},
		{access.Claims{"sub": "al", "preferred_username": "al", "name": "Alice"}, "Alice (al)"},
		{access.Claims{"sub": "al", "preferred_username": "al"}, "al"},
		{access.Claims{"email": "a@b", "name": "Alice"}, ""},
		{access.Claims{"sub": " ", "name": "Alice"}, ""},
		{access.Claims{"sub": 7, "name": "Alice"}, ""},
	} {
		if got := owner(test.claims); got != test.want {
			t.Errorf("%v: %q, want %q", test.claims, got, test.want)
		}
	}
}

func TestShownTexts(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{shown("abcd", 4), "abcd"},
		{shown("abcde", 4), "abc…"},
		{shown("äöüß", 4), "äöüß"},
		{shown(" a\x1b\nb\xff ", 4), "ab"},
		{bounded(strings.Repeat("ä", 300)), strings.Repeat("ä", 300)},
		{bounded(strings.Repeat("ä", 301)), strings.Repeat("ä", 300) + "…"},
		{bounded(" a\n b\xff"), "a b?"},
		{description(` !"#[\]~` + "\x1f\x7f\nä"), " !'#[']~????"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

// TestCheck: no verifier fits an invalid challenge.
func TestCheck(t *testing.T) {
	f := fields{"client_id": "terraform-cli", "code_verifier": cliVerifier, "redirect_uri": cliRedirect}
	l := login{Port: 10003, Challenge: challengeOf(cliVerifier)}
	if wrong := l.check(f); wrong != nil {
		t.Error(wrong)
	}
	for _, challenge := range []string{"", l.Challenge + "=", l.Challenge + "A", l.Challenge[:42], l.Challenge[:20] + "\n" + l.Challenge[20:]} {
		l.Challenge = challenge
		if wrong := l.check(f); wrong == nil {
			t.Errorf("%q fits", challenge)
		}
	}
}
