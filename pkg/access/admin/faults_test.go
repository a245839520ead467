package admin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
)

// failing is a store that fails one call: before it has done anything, or after it has
// done all, so that only the answer is lost.
type failing struct {
	access.Store
	at    int // the call that fails, counted from 1; 0 for none
	lost  bool
	err   error
	calls []string
}

func (f *failing) call(name string, do func() error) error {
	f.calls = append(f.calls, name)
	if len(f.calls) != f.at {
		return do()
	}
	if f.lost {
		_ = do()
	}
	return f.err
}

func (f *failing) CreateToken(ctx context.Context, t access.Token) error {
	return f.call("CreateToken", func() error { return f.Store.CreateToken(ctx, t) })
}

func (f *failing) Token(ctx context.Context, id access.ID) (t access.Token, err error) {
	err = f.call("Token", func() (err error) { t, err = f.Store.Token(ctx, id); return err })
	if err != nil {
		return access.Token{}, err
	}
	return t, nil
}

func (f *failing) Tokens(ctx context.Context, after string) (page []access.Token, next string, err error) {
	err = f.call("Tokens", func() (err error) { page, next, err = f.Store.Tokens(ctx, after); return err })
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

func (f *failing) RevokeToken(ctx context.Context, id access.ID) error {
	return f.call("RevokeToken", func() error { return f.Store.RevokeToken(ctx, id) })
}

func (f *failing) Rules(ctx context.Context) (rules []access.Rule, err error) {
	err = f.call("Rules", func() (err error) { rules, err = f.Store.Rules(ctx); return err })
	if err != nil {
		return nil, err
	}
	return rules, nil
}

func (f *failing) AddRule(ctx context.Context, r access.Rule) error {
	return f.call("AddRule", func() error { return f.Store.AddRule(ctx, r) })
}

func (f *failing) RemoveRule(ctx context.Context, name string) error {
	return f.call("RemoveRule", func() error { return f.Store.RemoveRule(ctx, name) })
}

// TestEveryCallMayFail: whichever call of the store fails, and however, the
// answer says so and has nothing else, and nothing is said to have been allowed.
func TestEveryCallMayFail(t *testing.T) {
	kept := wanted(t, "kept")
	fire := errors.New("the disk is on fire")
	for _, tt := range []struct {
		request Request
		calls   []string
		change  string // as the audit has it
	}{
		{Request{CreateToken: wanted(t, "new")}, []string{"Tokens", "CreateToken"}, `create token "new"`},
		{Request{CreateToken: kept}, []string{"Tokens", "CreateToken", "Token"}, `create token "kept"`},
		{Request{ListTokens: &ListTokens{}}, []string{"Tokens"}, ""},
		{Request{RevokeToken: &RevokeToken{"kept"}}, []string{"Tokens", "RevokeToken"}, `revoke token "kept"`},
		{Request{RevokeToken: &RevokeToken{kept.ID.String()}}, []string{"Token", "RevokeToken"}, `revoke token "` + kept.ID.String() + `"`},
		{Request{AddRule: rule(t, "new")}, []string{"Rules", "AddRule"}, `add rule "new"`},
		{Request{AddRule: rule(t, "kept")}, []string{"Rules"}, `add rule "kept"`},
		{Request{ListRules: &ListRules{}}, []string{"Rules"}, ""},
		{Request{RemoveRule: &RemoveRule{"kept"}}, []string{"Rules", "RemoveRule"}, `remove rule "kept"`},
	} {
		for at := range len(tt.calls) + 1 {
			for _, lost := range []bool{false, true} {
				t.Run(fmt.Sprint(tt.change, " ", at, " ", lost), func(t *testing.T) {
					w := newWorld(t)
					w.must(t, Request{CreateToken: kept})
					w.must(t, Request{AddRule: rule(t, "kept")})
					store := &failing{Store: w.store, at: at, lost: lost, err: fire}
					w.Handler.store, w.decisions = store, nil
					answer := w.Handle(t.Context(), tt.request)
					if at == 0 {
						if answer.Error != "" || !answer.Answers(tt.request) || !slices.Equal(store.calls, tt.calls) {
							t.Errorf("%+v after %q, want %q", answer, store.calls, tt.calls)
						}
						return
					}
					var audit []access.Decision
					if tt.change != "" {
						audit = append(audit, access.Decision{Who: "operator", What: tt.change, Why: fire.Error()})
					}
					if !reflect.DeepEqual(answer, Answer{Error: fire.Error()}) || !slices.Equal(w.decisions, audit) || !slices.Equal(store.calls, tt.calls[:at]) {
						t.Errorf("%+v after %q; the audit has %+v", answer, store.calls, w.decisions)
					}
				})
			}
		}
	}
}

// TestSomebodyElseWasFaster: to end what has ended meanwhile is not an error.
func TestSomebodyElseWasFaster(t *testing.T) {
	for name, r := range map[string]Request{
		"RevokeToken": {RevokeToken: &RevokeToken{"kept"}},
		"RemoveRule":  {RemoveRule: &RemoveRule{"kept"}},
	} {
		w := newWorld(t)
		w.must(t, Request{CreateToken: wanted(t, "kept")})
		w.must(t, Request{AddRule: rule(t, "kept")})
		store := &failing{Store: w.store, at: 2, lost: true, err: fmt.Errorf("read: %w", access.ErrNotFound)}
		w.Handler.store = store
		w.must(t, r)
		if store.calls[1] != name {
			t.Errorf("%q", store.calls)
		}
	}
}

// TestAnswers: an answer has what its own request asks for, and not another one.
func TestAnswers(t *testing.T) {
	answers := map[string]Answer{"token": {Token: &access.Token{}}, "tokens": {Tokens: &TokenPage{}}, "rule": {Rule: &access.Rule{}}, "rules": {Rules: &RuleList{}}, "nothing": {}}
	for _, tt := range []struct {
		request Request
		want    string
	}{
		{Request{CreateToken: &CreateToken{}}, "token"}, {Request{RevokeToken: &RevokeToken{}}, "token"}, {Request{ListTokens: &ListTokens{}}, "tokens"},
		{Request{AddRule: &access.Rule{}}, "rule"}, {Request{RemoveRule: &RemoveRule{}}, "rule"}, {Request{ListRules: &ListRules{}}, "rules"},
	} {
		for name, answer := range answers {
			if got := answer.Answers(tt.request); got != (name == tt.want) {
				t.Errorf("%s answers %+v: %v", name, tt.request, got)
			}
		}
	}
}

// TestAmbiguous names ten, and says how many more there are.
func TestAmbiguous(t *testing.T) {
	for n, more := range map[int]string{10: "", 11: "\n  and 1 more"} {
		tokens := make([]access.Token, n)
		text := ambiguous("ci", tokens).Error()
		if strings.Count(text, "\n  000000") != 10 || strings.Count(text, "\n") != 10+strings.Count(more, "\n") || !strings.HasSuffix(text, more) {
			t.Errorf("of %d: %s", n, text)
		}
	}
}

// byOne is a store whose pages have one token each.
type byOne struct{ access.Store }

func (b byOne) Tokens(ctx context.Context, after string) ([]access.Token, string, error) {
	page, next, err := b.Store.Tokens(ctx, after)
	if len(page) > 1 {
		page, next = page[:1], page[0].ID.String()
	}
	return page, next, err
}

// TestManyPages: a token is searched by its name on all pages.
func TestManyPages(t *testing.T) {
	w := newWorld(t)
	w.Handler.store = byOne{w.store}
	for i := range 5 {
		w.must(t, Request{CreateToken: wanted(t, fmt.Sprint("token ", i))})
	}
	for i := range 5 {
		name := fmt.Sprint("token ", i)
		w.refused(t, Request{CreateToken: wanted(t, name)}, "there is a token of that name")
		w.must(t, Request{RevokeToken: &RevokeToken{name}})
	}
}
