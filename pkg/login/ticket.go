package login

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// What tickets are for.
const (
	forLogin   = "login"   // for the way to the provider of identities and back
	forConsent = "consent" // for the page that asks for consent
	forCode    = "code"    // for the client
	forBrowser = "browser" // not a ticket: the cookie
)

const (
	loginTime = 10 * time.Minute // for each step of a person
	codeTime  = time.Minute      // for the client to send its code
)

// login is the state of a login between its steps.
type login struct {
	// From the client's request.
	Port      int    `json:"port"` // of localhost
	State     string `json:"state"`
	Challenge string `json:"challenge"`

	Browser access.ID `json:"browser"` // of the cookie

	// For the request to the provider.
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`

	// What the person gets, once it is known who they are.
	Owner     string          `json:"owner,omitempty"`
	Rules     []string        `json:"rules,omitempty"`
	Scopes    access.Scopes   `json:"scopes,omitempty"`
	Lifetime  access.Duration `json:"lifetime,omitempty"`
	RulesHash access.ID       `json:"terms"` // of those rules, see hashRules
}

// redirectURI is where the client listens.
func (l login) redirectURI() string { return l.origin() + clientPath }

func (l login) origin() string { return fmt.Sprintf("%s%d", clientHost, l.Port) }

// who is the person in a [access.Decision].
func (h *handler) who(l login) string { return fmt.Sprintf("person %s of %s", l.Owner, h.ProviderName) }

// byRules is the reason of a decision that rules allow.
func byRules(rules []string) string { return "by rule " + strings.Join(rules, ", ") }

// hashRules is a hash of the rules with some names. It changes when one of them is removed
// or replaced.
func hashRules(rules []access.Rule, names []string) (access.ID, error) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(rule access.Rule) bool { return !slices.Contains(names, rule.Name) })
	data, err := json.Marshal(rules)
	if err != nil {
		return access.ID{}, fmt.Errorf("write rules: %w", err)
	}
	return sha256.Sum256(data), nil
}

// errTooMuch refuses a person or pipeline whom rules with too many scopes fit.
var errTooMuch = refuse(http.StatusBadRequest, invalidGrant,
	"the rules that fit give more scopes than a token can have: ask those who run the registry for fewer, wider ones")

// keep keeps a login in a ticket.
//
// Errors: [access.ErrFull], errTooMuch.
func (h *handler) keep(ctx context.Context, id access.ID, l login, lasts time.Duration) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write a ticket: %w", err)
	}
	if len(data) > access.MaxTicket || len(l.Scopes) > access.MaxScopes {
		return errTooMuch
	}
	return h.Store.KeepTicket(ctx, id, data, time.Now().Add(lasts))
}

// take takes the login out of the ticket with a secret.
//
// Errors: [access.ErrNotFound].
func (h *handler) take(ctx context.Context, purpose, secret string) (l login, err error) {
	data, err := h.Store.TakeTicket(ctx, access.TicketID(purpose, secret))
	if err != nil {
		return login{}, err
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return login{}, fmt.Errorf("read a ticket: %w", err)
	}
	return l, nil
}

// The browser sends this cookie to this host alone, by https alone, and with
// POST only from the registry's own pages.
const cookieName = "__Host-larder-login"

func newCookie() (cookie *http.Cookie, browser access.ID) {
	secret, browser := access.NewTicket(forBrowser)
	return &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", MaxAge: int(2 * loginTime / time.Second),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}, browser
}

// isFrom says whether a request comes from the browser that the login began in.
func (l login) isFrom(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return false
	}
	browser := access.TicketID(forBrowser, cookie.Value)
	return subtle.ConstantTimeCompare(browser[:], l.Browser[:]) == 1
}

var errOtherBrowser = refuse(http.StatusBadRequest, invalidGrant,
	"this login began in another browser, or another one began in this browser since, or the browser keeps no cookies: run the command again, and use the page that it opens")
