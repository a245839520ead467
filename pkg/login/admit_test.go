package login

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/larder-registry/larder/pkg/protocol"
)

// A malformed request takes no room, and has no line in the audit, however often a stranger
// sends it. If there is no room for a well-formed one, the answer says when to try again,
// before anything is read or kept.
func TestAdmit(t *testing.T) {
	exchange := func(changes ...string) string {
		return with(url.Values{"grant_type": {grantExchange}, "subject_token_type": {typeJWT}, "subject_token": {"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2NpIn0.c2ln"}}, changes...).Encode()
	}
	post := func(body string) *http.Request { return newForm(protocol.TokenPath, body) }
	get := func(query url.Values) *http.Request {
		return httptest.NewRequest("GET", "https://"+host+protocol.LoginPath+"?"+query.Encode(), nil)
	}
	tests := []struct {
		name    string
		request func() *http.Request
		counts  bool
	}{
		{"nothing", func() *http.Request { return httptest.NewRequest("POST", "https://"+host+protocol.TokenPath, nil) }, false},
		{"an empty form", func() *http.Request { return post("") }, false},
		{"a form that is none", func() *http.Request { return post("%") }, false},
		{"a parameter twice", func() *http.Request { return post(exchange() + "&grant_type=x") }, false},
		{"another grant", func() *http.Request { return post("grant_type=password") }, false},
		{"no identity token", func() *http.Request { return post(exchange("subject_token", "")) }, false},
		{"an identity token that is none", func() *http.Request { return post(exchange("subject_token", "x")) }, false},
		{"another type of token", func() *http.Request { return post(exchange("subject_token_type", "x")) }, false},
		{"an actor", func() *http.Request { return post(exchange("actor_token", "x")) }, false},
		{"an exchange", func() *http.Request { return post(exchange()) }, true},
		{"no code", func() *http.Request { return post("grant_type=authorization_code") }, false},
		{"a code", func() *http.Request { return post("grant_type=authorization_code&code=x") }, true},
		{"no login", func() *http.Request { return get(url.Values{}) }, false},
		{"a login of another client", func() *http.Request { return get(asked("client_id", "x")) }, false},
		{"a login", func() *http.Request { return get(asked()) }, true},
		{"a login that is looked at", func() *http.Request { r := get(asked()); r.Method = http.MethodHead; return r }, true},
		{"a person who comes back", func() *http.Request {
			return httptest.NewRequest("GET", "https://"+host+protocol.LoginCallbackPath+"?state=x&code=x", nil)
		}, false},
	}
	for _, tt := range tests {
		asked, room := 0, true
		w := newWorld(t, func(c *Config) { c.Admit = func(*http.Request) bool { asked++; return room } })
		before := w.do(tt.request())
		if (asked == 1) != tt.counts || asked > 1 || before.status == http.StatusTooManyRequests {
			t.Errorf("%s: was counted %d times, and answered %d", tt.name, asked, before.status)
		}
		if audit := w.audit(); !tt.counts && len(audit) != 0 {
			t.Errorf("%s: the audit tells of it: %q", tt.name, audit)
		}
		w.people.state, room = "", false
		after := w.do(tt.request())
		full := after.status == http.StatusTooManyRequests && after.header.Get("Retry-After") == "5" && w.people.state == ""
		if full != tt.counts || !tt.counts && (after.status != before.status || after.body != before.body) {
			t.Errorf("%s: without room it is answered %+v", tt.name, after)
		}
	}
}

// Both kinds of clients read why there is no room.
func TestNoRoom(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Admit = func(*http.Request) bool { return false } })
	got := w.wantToken(newForm(protocol.TokenPath, "grant_type=authorization_code&code=x"), http.StatusTooManyRequests, unavailable)
	if got.Errors[0] != errTooOften.text || got.Description != errTooOften.text {
		t.Errorf("%+v", got)
	}
	if audit := w.audit(); len(audit) != 0 {
		t.Errorf("the audit tells of it, and strangers fill the log: %q", audit)
	}
}

// Where nothing limits what is asked, or nobody can log in, nothing is counted.
func TestAdmitNoneConfigured(t *testing.T) {
	w := newWorld(t)
	for range 200 {
		w.wantToken(newForm(protocol.TokenPath, "grant_type=authorization_code&code=x"), http.StatusBadRequest, invalidGrant)
	}
	asked := 0
	w = newWorld(t, func(c *Config) {
		c.Provider = nil
		c.Admit = func(*http.Request) bool { asked++; return false }
	})
	b := browser{world: w}
	if answer := b.get(protocol.LoginPath, url.Values{"client_id": {"terraform-cli"}}); answer.status != http.StatusNotFound || asked != 0 {
		t.Errorf("nobody can log in: %d, counted %d times", answer.status, asked)
	}
}
