package login

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// failing is a store that fails one call: before it has done anything, or after it has
// done all, so that only the answer is lost.
type failing struct {
	access.Store
	at    int // the call that fails, counted from 1; 0 for none
	lost  bool
	calls []string
}

var errFire = errors.New("the disk is on fire")

func (f *failing) call(name string, do func() error) error {
	f.calls = append(f.calls, name)
	if len(f.calls) != f.at {
		return do()
	}
	if f.lost {
		_ = do()
	}
	return errFire
}

func (f *failing) KeepTicket(ctx context.Context, id access.ID, data []byte, expires time.Time) error {
	return f.call("KeepTicket", func() error { return f.Store.KeepTicket(ctx, id, data, expires) })
}

func (f *failing) TakeTicket(ctx context.Context, id access.ID) ([]byte, error) {
	var data []byte
	if err := f.call("TakeTicket", func() (err error) { data, err = f.Store.TakeTicket(ctx, id); return err }); err != nil {
		return nil, err
	}
	return data, nil
}

func (f *failing) Rules(ctx context.Context) ([]access.Rule, error) {
	var rules []access.Rule
	if err := f.call("Rules", func() (err error) { rules, err = f.Store.Rules(ctx); return err }); err != nil {
		return nil, err
	}
	return rules, nil
}

func (f *failing) CreateToken(ctx context.Context, t access.Token) error {
	return f.call("CreateToken", func() error { return f.Store.CreateToken(ctx, t) })
}

// flow is one way to a token, whose steps each say what they got.
type flow struct {
	calls []string
	steps func(*world) []func() reply
}

// loggingIn is the steps of a browser, and the last of the client.
func loggingIn(w *world) []func() reply {
	w.staff()
	w.people.claims = alice
	b := &browser{world: w}
	var ticket, code string
	return []func() reply{
		func() reply { return b.get("/v1/login", asked()) },
		func() reply {
			page := b.get("/v1/login/callback", url.Values{"code": {providerCode}, "state": {w.people.state}})
			if found := ticketField.FindStringSubmatch(page.body); found != nil {
				ticket = found[1]
			}
			return page
		},
		func() reply {
			answer := b.post(url.Values{"ticket": {ticket}, "decision": {"allow"}})
			code = answer.location().Query().Get("code")
			return answer
		},
		func() reply {
			return w.do(newForm("/v1/token", url.Values{
				"grant_type": {grantCode}, "client_id": {"terraform-cli"}, "code": {code}, "code_verifier": {cliVerifier}, "redirect_uri": {cliRedirect},
			}.Encode()))
		},
	}
}

// exchangingOnce is the one step of a pipeline.
func exchangingOnce(i *issuer) func(w *world) []func() reply {
	return func(w *world) []func() reply {
		w.rule(access.Rule{Name: "acme", Use: access.ForPipelines, Issuer: i.URL, Audience: audience}, "repository_owner=acme", "read providers:acme/*")
		return []func() reply{func() reply { return w.do(newForm("/v1/token", exchanging(i.token(w.T, pipeline)).Encode())) }}
	}
}

// TestEveryCallMayFail: if any call of the store fails, the step fails, no token is given,
// and the audit has no allowed decision. The next step is decided by itself.
func TestEveryCallMayFail(t *testing.T) {
	i := newIssuer(t)
	for name, flow := range map[string]flow{
		"login": {[]string{
			"KeepTicket",
			"TakeTicket", "Rules", "KeepTicket",
			"TakeTicket", "KeepTicket",
			"TakeTicket", "Rules", "CreateToken",
		}, loggingIn},
		"exchange": {[]string{"Rules", "CreateToken"}, exchangingOnce(i)},
	} {
		for at := range len(flow.calls) + 1 {
			for _, lost := range []bool{false, true} {
				t.Run(strings.Join([]string{name, append([]string{"none"}, flow.calls...)[at], map[bool]string{true: "lost", false: "failed"}[lost]}, " "), func(t *testing.T) {
					store := &failing{at: at, lost: lost}
					w := newWorld(t, func(c *Config) { store.Store, c.Store, c.Identities = c.Store, store, i.verifier() })
					flow.play(w, store)
				})
			}
		}
	}
}

// play takes the steps, and one that fails again.
func (f flow) play(w *world, store *failing) {
	for _, step := range f.steps(w) {
		audit := w.audit()
		answer := step()
		if store.at == 0 || len(store.calls) < store.at {
			if answer.status >= http.StatusBadRequest {
				w.Fatalf("without a failure: %+v", answer)
			}
			continue
		}
		created := store.calls[store.at-1] == "CreateToken" && store.lost
		if answer.status != http.StatusInternalServerError || answer.header.Get("Location") != "" || !strings.Contains(answer.body, "omething went wrong in the registry") || strings.Contains(answer.body, "fire") {
			w.Errorf("call %d failed, and the answer is %+v", store.at, answer)
		}
		if got := handedOut(answer); got != "" || (len(w.tokens()) == 1) != created || !slices.Equal(w.audit(), audit) || !strings.Contains(w.log.String(), "level=ERROR msg=\"request failed\"") {
			w.Errorf("call %d failed: the token %q, %d tokens, audit %q, log %s", store.at, got, len(w.tokens()), w.audit()[len(audit):], w.log)
		}
		again := step()
		taken := slices.Index(f.calls[:store.at], "TakeTicket") >= 0 && (f.calls[store.at-1] != "TakeTicket" || store.lost) // a ticket is good once
		if (again.status == http.StatusBadRequest) != taken || !taken && again.status >= http.StatusBadRequest {
			w.Errorf("call %d failed, and then the answer is %+v", store.at, again)
		}
		return
	}
	if !slices.Equal(store.calls, f.calls) || len(w.tokens()) != 1 {
		w.Errorf("%d tokens for %q; want %q", len(w.tokens()), store.calls, f.calls)
	}
}

func handedOut(answer reply) string {
	var document tokenDocument
	_ = json.Unmarshal([]byte(answer.body), &document)
	return document.AccessToken
}

// TestUnreadableTicket: a ticket with data that cannot be read is an error.
func TestUnreadableTicket(t *testing.T) {
	w := newWorld(t)
	secret, id := access.NewTicket(forCode)
	if err := w.store.KeepTicket(t.Context(), id, []byte("{"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	w.wantToken(newForm("/v1/token", url.Values{
		"grant_type": {grantCode}, "client_id": {"terraform-cli"}, "code": {secret}, "code_verifier": {cliVerifier}, "redirect_uri": {cliRedirect},
	}.Encode()), 500, serverError)
	if len(w.tokens()) != 0 || len(w.audit()) != 0 {
		t.Errorf("%v %q", w.tokens(), w.audit())
	}
}

// TestKeep: a ticket may have as much data as a store accepts, and as many scopes as a token
// can have, but not more.
func TestKeep(t *testing.T) {
	w := newWorld(t)
	h := &handler{Config: Config{Store: w.store}}
	padded := func(n int) login {
		empty, err := json.Marshal(login{})
		if err != nil {
			t.Fatal(err)
		}
		return login{State: strings.Repeat("s", n-len(empty))}
	}
	scope, err := access.ParseScope("read *")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		login login
		want  error
	}{
		"the largest":     {padded(access.MaxTicket), nil},
		"larger":          {padded(access.MaxTicket + 1), errTooMuch},
		"all scopes":      {login{Scopes: slices.Repeat(access.Scopes{scope}, access.MaxScopes)}, nil},
		"one scope above": {login{Scopes: slices.Repeat(access.Scopes{scope}, access.MaxScopes+1)}, errTooMuch},
	} {
		secret, id := access.NewTicket(forLogin)
		if err := h.keep(t.Context(), id, test.login, loginTime); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
		got, err := h.take(t.Context(), forLogin, secret)
		if test.want == nil && (err != nil || got.State != test.login.State || len(got.Scopes) != len(test.login.Scopes)) || test.want != nil && !errors.Is(err, access.ErrNotFound) {
			t.Errorf("%s: then %v, %v", name, got, err)
		}
	}
}
