package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/protocol"
)

// The grants, RFC 6749, section 4.1.3, and RFC 8693, section 2.1.
const (
	grantCode     = "authorization_code"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// tokenDocument is the answer with a token: RFC 6749, section 5.1, and RFC 8693,
// section 2.2.1.
type tokenDocument struct {
	AccessToken     string `json:"access_token"`
	IssuedTokenType string `json:"issued_token_type,omitempty"`
	TokenType       string `json:"token_type"`
	ExpiresIn       int64  `json:"expires_in"` // seconds
}

// errorDocument has the fields of OAuth's errors and of the registry's own.
type errorDocument struct {
	Error       string   `json:"error"`
	Description string   `json:"error_description"`
	Errors      []string `json:"errors"`
}

// token answers the token endpoint.
func (h *handler) token(w http.ResponseWriter, r *http.Request) {
	document, err := h.issue(r)
	if err == nil {
		writeJSON(w, http.StatusOK, document)
		return
	}
	refused := h.refusal(r, err)
	status := refused.status
	if status == http.StatusForbidden { // OAuth's clients expect 400
		status = http.StatusBadRequest
	}
	setRetryAfter(w.Header(), status, refused.again)
	writeJSON(w, status, errorDocument{refused.code, description(refused.text), []string{refused.text}})
}

func (h *handler) issue(r *http.Request) (tokenDocument, error) {
	f, err := readForm(r)
	if err != nil {
		return tokenDocument{}, err
	}
	switch f["grant_type"] {
	case grantCode:
		return h.redeem(r, f)
	case grantExchange:
		return h.exchange(r, f)
	case "":
		return tokenDocument{}, refuse(http.StatusBadRequest, invalidRequest, "there is no grant_type")
	default:
		return tokenDocument{}, refuse(http.StatusBadRequest, unsupportedGrant, "the grant_type must be "+grantCode+" or "+grantExchange)
	}
}

// redeem gives a token for the code of a login. The code is used up, even if something
// else in the request is wrong.
func (h *handler) redeem(r *http.Request, f fields) (tokenDocument, error) {
	if f["code"] == "" {
		return tokenDocument{}, refuse(http.StatusBadRequest, invalidRequest, "there is no code")
	}
	if err := h.admit(r); err != nil {
		return tokenDocument{}, err
	}
	ctx := r.Context()
	l, err := h.take(ctx, forCode, f["code"])
	if errors.Is(err, access.ErrNotFound) {
		h.decide(ctx, "nobody", "token for a code", false, "there is no such code, or it was used, or is too old")
		return tokenDocument{}, refuse(http.StatusBadRequest, invalidGrant, "there is no such code: it was used already, or is older than a minute; log in again")
	}
	if err != nil {
		return tokenDocument{}, err
	}
	what := "token for " + l.Scopes.String()
	wrong := l.check(f)
	if wrong == nil {
		wrong, err = h.checkRules(ctx, l)
	}
	if err != nil {
		return tokenDocument{}, err
	}
	if wrong != nil {
		h.decide(ctx, h.who(l), what, false, wrong.text)
		return tokenDocument{}, wrong
	}
	document, id, err := h.create(ctx, access.Token{Name: "terraform login", Owner: l.Owner, Origin: access.ByLogin, Scopes: l.Scopes}, time.Duration(l.Lifetime))
	if err == nil {
		h.decide(ctx, h.who(l), what, true, byRules(l.Rules)+", token "+id.Short())
	}
	return document, err
}

// verifierText is RFC 7636, section 4.1.
var verifierText = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// check says whether a code comes from the client that began the login.
func (l login) check(f fields) *refusal {
	if !verifierText.MatchString(f["code_verifier"]) {
		return refuse(http.StatusBadRequest, invalidRequest, "the code_verifier is missing, or is none: log in again")
	}
	sum := sha256.Sum256([]byte(f["code_verifier"]))
	want, err := decodeChallenge(l.Challenge)
	switch {
	case f["client_id"] != protocol.LoginClientID:
		return refuse(http.StatusBadRequest, invalidGrant, "the client_id is not that of Terraform and OpenTofu: log in again")
	case f["redirect_uri"] != l.redirectURI():
		return refuse(http.StatusBadRequest, invalidGrant, "the redirect_uri is not that of the login: log in again")
	case err != nil || subtle.ConstantTimeCompare(sum[:], want) != 1:
		return refuse(http.StatusBadRequest, invalidGrant, "the code_verifier is not that of the login: log in again")
	}
	return nil
}

// checkRules refuses a login whose rules were removed or changed since: nobody may get a
// token by a rule that is removed.
func (h *handler) checkRules(ctx context.Context, l login) (*refusal, error) {
	rules, err := h.rules(ctx, isForPeople)
	if err != nil {
		return nil, err
	}
	hash, err := hashRules(rules, l.Rules)
	if err != nil || hash == l.RulesHash {
		return nil, err
	}
	return refuse(http.StatusBadRequest, invalidGrant, "a rule that gave the access was removed or changed meanwhile: log in again"), nil
}

// create makes a token that is good for a while from now on.
func (h *handler) create(ctx context.Context, t access.Token, lasts time.Duration) (tokenDocument, access.ID, error) {
	secret, id := access.NewToken()
	t.ID, t.Created = id, time.Now().UTC()
	t.Expires = t.Created.Add(lasts)
	if err := t.Validate(); err != nil {
		return tokenDocument{}, id, err
	}
	if err := h.Store.CreateToken(ctx, t); err != nil {
		return tokenDocument{}, id, err
	}
	return tokenDocument{AccessToken: secret, TokenType: "Bearer", ExpiresIn: int64(lasts / time.Second)}, id, nil
}

// rules is the rules that fit a condition. They are read each time, which is seldom: so a
// removed rule has no effect any more.
func (h *handler) rules(ctx context.Context, condition func(access.Rule) bool) ([]access.Rule, error) {
	rules, err := h.Store.Rules(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rules, func(rule access.Rule) bool { return !condition(rule) }), nil
}

func isForPeople(rule access.Rule) bool { return rule.Use == access.ForPeople }

// description is a text in the characters of an error_description: RFC 6749,
// appendix A.8.
func description(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\\':
			return '\''
		case c < ' ' || c > '~':
			return '?'
		default:
			return c
		}
	}, text)
}

func writeJSON(w http.ResponseWriter, status int, document any) {
	body, err := json.Marshal(document)
	if err != nil { // never: it has only texts and numbers
		status, body = http.StatusInternalServerError, []byte(`{"errors":["internal error"]}`)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client has gone
}
