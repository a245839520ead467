package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// Handler answers requests. It is safe for concurrent use.
type Handler struct {
	store access.Store
	audit access.Audit
	now   func() time.Time
}

// New answers from a store. It calls audit for every change that somebody asks for.
func New(store access.Store, audit access.Audit) *Handler { return &Handler{store, audit, time.Now} }

// Handle answers a request. What goes wrong is in the answer.
func (h *Handler) Handle(ctx context.Context, r Request) Answer {
	answer, err := h.answer(ctx, r)
	if err != nil {
		err = errors.New(secret.ReplaceAllString(err.Error(), "(a secret)"))
	}
	if what := r.change(); what != "" {
		h.auditChange(ctx, what, answer, err)
	}
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return answer
}

func (h *Handler) answer(ctx context.Context, r Request) (a Answer, err error) {
	switch {
	case r.CreateToken != nil:
		a.Token, err = h.createToken(ctx, *r.CreateToken)
	case r.ListTokens != nil:
		a.Tokens, err = h.listTokens(ctx, r.ListTokens.After)
	case r.RevokeToken != nil:
		a.Token, err = h.revokeToken(ctx, r.RevokeToken.Which)
	case r.AddRule != nil:
		a.Rule, err = h.addRule(ctx, *r.AddRule)
	case r.ListRules != nil:
		a.Rules, err = h.listRules(ctx)
	case r.RemoveRule != nil:
		a.Rule, err = h.removeRule(ctx, r.RemoveRule.Name)
	default:
		err = errors.New("the request asks for nothing that this larder knows: a newer one sent it, so upgrade this one")
	}
	return a, err
}

// change is what a request would change, in the words of a decision.
func (r Request) change() string {
	switch {
	case r.CreateToken != nil:
		return "create token " + quoted(r.CreateToken.Name)
	case r.RevokeToken != nil:
		return "revoke token " + quoted(r.RevokeToken.Which)
	case r.AddRule != nil:
		return "add rule " + quoted(r.AddRule.Name)
	case r.RemoveRule != nil:
		return "remove rule " + quoted(r.RemoveRule.Name)
	default:
		return ""
	}
}

// quoted is a name that somebody gave, for a log.
func quoted(name string) string {
	if secret.MatchString(name) {
		return "(a secret)"
	}
	return fmt.Sprintf("%.200q", name)
}

// auditChange reports a change, or a failed one, to the audit.
func (h *Handler) auditChange(ctx context.Context, what string, a Answer, err error) {
	d := access.Decision{Who: "operator", What: what, Allowed: err == nil}
	switch {
	case err != nil:
		d.Why = err.Error()
	case a.Token != nil:
		d.What += fmt.Sprintf(" of %s (%s): %s", a.Token.Owner, a.Token.ID.Short(), a.Token.Scopes)
	case a.Rule != nil:
		d.What += ": " + a.Rule.Gives()
	}
	h.audit(ctx, d)
}

// createToken keeps a token, unless a good token of an operator has its name. Two
// requests at the same moment may both succeed; their tokens differ in ID.
func (h *Handler) createToken(ctx context.Context, r CreateToken) (*access.Token, error) {
	wanted, err := r.token(h.now())
	if err != nil {
		return nil, err
	}
	for t, err := range h.tokens(ctx) {
		if err != nil {
			return nil, err
		}
		if t.Name == wanted.Name && t.Origin == access.ByOperator && t.ID != wanted.ID && !t.Expired(h.now()) {
			return nil, fmt.Errorf("there is a token of that name, %s of %s: revoke it first, or choose another name", t.ID.Short(), t.Owner)
		}
	}
	err = h.store.CreateToken(ctx, wanted)
	if errors.Is(err, access.ErrExists) {
		return h.existingToken(ctx, wanted)
	}
	if err != nil {
		return nil, err
	}
	return &wanted, nil
}

// existingToken is the token with the wanted ID, if it is equal to the wanted one: a
// request whose answer was lost comes again.
func (h *Handler) existingToken(ctx context.Context, wanted access.Token) (*access.Token, error) {
	kept, err := h.store.Token(ctx, wanted.ID)
	if err != nil {
		return nil, err
	}
	if kept.Name != wanted.Name || kept.Owner != wanted.Owner || !reflect.DeepEqual(kept.Scopes, wanted.Scopes) {
		return nil, fmt.Errorf("there is another token with the ID %s already: make a new one", wanted.ID)
	}
	return &kept, nil
}

// maxPage is how many bytes of tokens one answer has: a Lambda function answers with at
// most 6 MB.
const maxPage = 2 << 20

func (h *Handler) listTokens(ctx context.Context, after string) (*TokenPage, error) {
	page, next, err := h.store.Tokens(ctx, after)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, t := range page {
		data, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > maxPage && i > 0 {
			return &TokenPage{page[:i], page[i-1].ID.String()}, nil
		}
	}
	return &TokenPage{page, next}, nil
}

// tokens is all tokens.
func (h *Handler) tokens(ctx context.Context) iter.Seq2[access.Token, error] {
	return func(yield func(access.Token, error) bool) {
		for after := ""; ; {
			page, next, err := h.store.Tokens(ctx, after)
			if err != nil {
				yield(access.Token{}, err)
				return
			}
			for _, t := range page {
				if !yield(t, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			after = next
		}
	}
}

func (h *Handler) revokeToken(ctx context.Context, which string) (*access.Token, error) {
	t, err := h.find(ctx, which)
	if err != nil {
		return nil, err
	}
	err = h.store.RevokeToken(ctx, t.ID)
	if err != nil && !errors.Is(err, access.ErrNotFound) { // somebody else was faster: it is revoked
		return nil, err
	}
	return &t, nil
}

// find is the one token that is meant. Of several with one name it takes those that
// have not expired, and of these the operators': others have the names of the rules that
// gave them.
func (h *Handler) find(ctx context.Context, which string) (access.Token, error) {
	if err := (RevokeToken{which}).Validate(); err != nil {
		return access.Token{}, err
	}
	var id access.ID
	if id.UnmarshalText([]byte(which)) == nil {
		t, err := h.store.Token(ctx, id)
		if errors.Is(err, access.ErrNotFound) {
			err = noSuchToken(which)
		}
		return t, err
	}
	var good, expired []access.Token
	for t, err := range h.tokens(ctx) {
		if err != nil {
			return access.Token{}, err
		}
		switch named := t.Name == which || idBegins(t.ID, which); {
		case named && t.Expired(h.now()):
			expired = append(expired, t)
		case named:
			good = append(good, t)
		}
	}
	if len(good) == 0 {
		good = expired
	}
	if slices.ContainsFunc(good, func(t access.Token) bool { return t.Name == which && t.Origin == access.ByOperator }) {
		good = slices.DeleteFunc(good, func(t access.Token) bool { return t.Origin != access.ByOperator && !idBegins(t.ID, which) })
	}
	switch len(good) {
	case 0:
		return access.Token{}, noSuchToken(which)
	case 1:
		return good[0], nil
	default:
		return access.Token{}, ambiguous(which, good)
	}
}

// idBegins says whether an ID begins with the digits, and these are enough.
func idBegins(id access.ID, digits string) bool {
	return len(digits) >= MinPrefix && strings.HasPrefix(id.String(), strings.ToLower(digits))
}

func noSuchToken(which string) error {
	return fmt.Errorf("there is no token %.200q: give its name, its ID, or the first %d digits of it or more", which, MinPrefix)
}

// ambiguous is an error that lists the tokens that may be meant.
func ambiguous(which string, tokens []access.Token) error {
	const most = 10
	text := fmt.Sprintf("%.200q may be any of %d tokens: give the ID of one:", which, len(tokens))
	for i, t := range tokens {
		if i == most {
			text += fmt.Sprintf("\n  and %d more", len(tokens)-most)
			break
		}
		text += fmt.Sprintf("\n  %s %q of %s", t.ID, t.Name, t.Owner)
	}
	return errors.New(text)
}

// addRule keeps a rule. The same rule again changes nothing.
func (h *Handler) addRule(ctx context.Context, r access.Rule) (*access.Rule, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	rules, err := h.store.Rules(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range rules {
		if reflect.DeepEqual(other, r) {
			return &r, nil
		}
	}
	err = h.store.AddRule(ctx, r)
	if errors.Is(err, access.ErrExists) {
		return nil, fmt.Errorf("there is another rule of the name %s: remove it first, or choose another name", r.Name)
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func (h *Handler) listRules(ctx context.Context) (*RuleList, error) {
	rules, err := h.store.Rules(ctx)
	if err != nil {
		return nil, err
	}
	return &RuleList{rules}, nil
}

func (h *Handler) removeRule(ctx context.Context, name string) (*access.Rule, error) {
	if err := (RemoveRule{name}).Validate(); err != nil {
		return nil, err
	}
	rules, err := h.store.Rules(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if r.Name != name {
			continue
		}
		err := h.store.RemoveRule(ctx, name)
		if err != nil && !errors.Is(err, access.ErrNotFound) { // somebody else was faster
			return nil, err
		}
		return &r, nil
	}
	return nil, fmt.Errorf("there is no rule %.100q: \"larder trust list\" says which there are", name)
}
