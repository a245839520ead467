package login

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/identity"
)

// The types of tokens, RFC 8693, section 3.
const (
	typeAccess   = "urn:ietf:params:oauth:token-type:access_token"
	typeIdentity = "urn:ietf:params:oauth:token-type:id_token"
	typeJWT      = "urn:ietf:params:oauth:token-type:jwt"
)

// exchange gives a token for the identity token of a pipeline: RFC 8693. Nothing
// is asked of an issuer that no rule names.
func (h *handler) exchange(r *http.Request, f fields) (tokenDocument, error) {
	ctx := r.Context()
	if err := checkExchange(f); err != nil {
		return tokenDocument{}, err
	}
	raw := strings.TrimRight(f["subject_token"], "\r\n") // with which a file ends
	issuer, err := identity.Issuer(raw)
	if err != nil { // it is no identity that anything is decided of
		return tokenDocument{}, err
	}
	if err := h.admit(r); err != nil {
		return tokenDocument{}, err
	}
	rules, err := h.rules(ctx, func(rule access.Rule) bool { return rule.Use == access.ForPipelines && rule.Issuer == issuer })
	if err != nil {
		return tokenDocument{}, err
	}
	who := "a pipeline of " + printable(issuer, access.MaxName) // as it says itself, so far
	if len(rules) == 0 {
		h.decide(ctx, who, "token for an identity", false, "no rule trusts the issuer")
		return tokenDocument{}, refuse(http.StatusBadRequest, invalidGrant, "no rule of this registry trusts the issuer of the identity token")
	}
	claims, err := h.Identities.Verify(ctx, raw, issuer, audiences(rules))
	if err != nil {
		h.decide(ctx, who, "token for an identity", false, whyNot(err))
		return tokenDocument{}, err
	}
	return h.give(ctx, issuer, rules, trusted(claims))
}

// checkExchange refuses what would be asked in vain.
func checkExchange(f fields) error {
	wrong := ""
	switch {
	case f["subject_token"] == "":
		wrong = "there is no subject_token"
	case f["subject_token_type"] != typeIdentity && f["subject_token_type"] != typeJWT:
		wrong = "the subject_token_type must be " + typeIdentity + " or " + typeJWT
	case f["requested_token_type"] != "" && f["requested_token_type"] != typeAccess:
		wrong = "the requested_token_type must be " + typeAccess
	case f["actor_token"] != "" || f["scope"] != "":
		wrong = "neither an actor_token nor a scope can be given: rules say what a token is for"
	}
	if wrong != "" {
		return refuse(http.StatusBadRequest, invalidRequest, wrong)
	}
	return nil
}

func audiences(rules []access.Rule) []string {
	var all []string
	for _, rule := range rules {
		if !slices.Contains(all, rule.Audience) {
			all = append(all, rule.Audience)
		}
	}
	return all
}

// whyNot is what of an error with an identity is for the audit.
func whyNot(err error) string {
	for _, kind := range []error{identity.ErrInvalid, identity.ErrUnavailable, identity.ErrTooSoon} {
		if errors.Is(err, kind) {
			return err.Error()
		}
	}
	return "who it is could not be found out"
}

// give gives what those rules give that fit what an issuer said, and to whom.
func (h *handler) give(ctx context.Context, issuer string, rules []access.Rule, claims access.Claims) (tokenDocument, error) {
	subject := printable(claims["sub"], access.MaxName)
	if subject == "" {
		h.decide(ctx, "a pipeline of "+issuer, "token for an identity", false, errNoSubject.text)
		return tokenDocument{}, errNoSubject
	}
	who := "pipeline " + subject + " of " + issuer
	told := identity.Audiences(claims)
	given := access.Granted(slices.DeleteFunc(rules, func(rule access.Rule) bool { return !slices.Contains(told, rule.Audience) }), claims)
	if len(given.Rules) == 0 {
		h.decide(ctx, who, "token for an identity", false, "no rule fits its claims")
		return tokenDocument{}, refuse(http.StatusBadRequest, invalidGrant,
			"the identity token is good, but no rule of this registry fits its claims; its sub is "+subject)
	}
	if len(given.Scopes) > access.MaxScopes {
		h.decide(ctx, who, "token for an identity", false, errTooMuch.text)
		return tokenDocument{}, errTooMuch
	}
	document, id, err := h.create(ctx, access.Token{Name: printable(strings.Join(given.Rules, ", "), access.MaxName), Owner: subject, Origin: access.ByExchange, Scopes: given.Scopes}, given.Lifetime)
	if err != nil {
		return tokenDocument{}, err
	}
	h.decide(ctx, who, "token for "+given.Scopes.String(), true, byRules(given.Rules)+", token "+id.Short())
	document.IssuedTokenType = typeAccess
	return document, nil
}
