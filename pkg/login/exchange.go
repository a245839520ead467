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

// exchange gives a token for the identity token of a pipeline: RFC 8693.
func (h *handler) exchange(r *http.Request, f fields) (tokenDocument, error) {
	if err := checkExchange(f); err != nil {
		return tokenDocument{}, err
	}
	p, err := h.identify(r, f["subject_token"], wish{"token for an identity", func(rule access.Rule) bool { return len(rule.Scopes) > 0 }})
	if err != nil {
		return tokenDocument{}, err
	}
	return h.giveToken(r.Context(), p)
}

// wish is what a pipeline asks for with its identity.
type wish struct {
	what     string                 // for the audit
	servedBy func(access.Rule) bool // whether a rule gives it, or a part of it
}

// identified is a pipeline that has shown who it is.
type identified struct {
	wish
	subject, issuer string
	access.Grant    // of the rules that fit it
}

func (p identified) who() string { return "pipeline " + p.subject + " of " + p.issuer }

// identify finds out who a pipeline is, by its identity token, and what the rules give
// it. It asks only issuers that a rule names.
func (h *handler) identify(r *http.Request, raw string, wanted wish) (identified, error) {
	ctx := r.Context()
	raw = strings.TrimRight(raw, "\r\n") // a file ends with it
	issuer, err := identity.Issuer(raw)
	if err != nil { // not an identity: there is nothing to decide
		return identified{}, err
	}
	if err := h.admit(r); err != nil {
		return identified{}, err
	}
	rules, err := h.rules(ctx, func(rule access.Rule) bool {
		return rule.Use == access.ForPipelines && rule.Issuer == issuer && wanted.servedBy(rule)
	})
	if err != nil {
		return identified{}, err
	}
	who := "a pipeline of " + shown(issuer, access.MaxName) // not verified yet
	if len(rules) == 0 {
		h.decide(ctx, who, wanted.what, false, "no rule trusts the issuer")
		return identified{}, refuse(http.StatusBadRequest, invalidGrant, "no rule of this registry trusts the issuer of the identity token")
	}
	claims, err := h.Identities.Verify(ctx, raw, issuer, audiences(rules))
	if err != nil {
		h.decide(ctx, who, wanted.what, false, auditReason(err))
		return identified{}, err
	}
	return h.match(ctx, identified{wish: wanted, issuer: issuer}, rules, trusted(claims))
}

// checkExchange refuses a request that cannot succeed.
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

// auditReason is why an identity was refused, for the audit. It hides internal errors.
func auditReason(err error) string {
	for _, kind := range []error{identity.ErrInvalid, identity.ErrUnavailable, identity.ErrTooSoon} {
		if errors.Is(err, kind) {
			return err.Error()
		}
	}
	return "who it is could not be found out"
}

// match adds to a pipeline its subject, and the grant of the rules that fit its claims.
func (h *handler) match(ctx context.Context, p identified, rules []access.Rule, claims access.Claims) (identified, error) {
	p.subject = shown(claims["sub"], access.MaxName)
	if p.subject == "" {
		h.decide(ctx, "a pipeline of "+p.issuer, p.what, false, errNoSubject.text)
		return p, errNoSubject
	}
	audiences := identity.Audiences(claims)
	p.Grant = access.Granted(slices.DeleteFunc(rules, func(rule access.Rule) bool { return !slices.Contains(audiences, rule.Audience) }), claims)
	if len(p.Rules) == 0 {
		h.decide(ctx, p.who(), p.what, false, "no rule fits its claims")
		return p, refuse(http.StatusBadRequest, invalidGrant,
			"the identity token is good, but no rule of this registry fits its claims; its sub is "+p.subject)
	}
	return p, nil
}

// giveToken makes a token for a pipeline.
func (h *handler) giveToken(ctx context.Context, p identified) (tokenDocument, error) {
	if len(p.Scopes) > access.MaxScopes {
		h.decide(ctx, p.who(), p.what, false, errTooMuch.text)
		return tokenDocument{}, errTooMuch
	}
	document, id, err := h.create(ctx, access.Token{Name: shown(strings.Join(p.Rules, ", "), access.MaxName), Owner: p.subject, Origin: access.ByExchange, Scopes: p.Scopes}, p.Lifetime)
	if err != nil {
		return tokenDocument{}, err
	}
	h.decide(ctx, p.who(), "token for "+p.Scopes.String(), true, byRules(p.Rules)+", token "+id.Short())
	document.IssuedTokenType = typeAccess
	return document, nil
}
