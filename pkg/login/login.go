// Package login gives tokens to those who prove who they are: to people, whom
// "terraform login" and "tofu login" send here with a browser, and to pipelines, which
// send an identity token. With that, pipelines also get access keys for uploads, where
// the registry has the bucket itself ([NewSTS]).
//
// A person comes from the client (GET /v1/login), is sent on to the company's
// provider of identities and comes back (GET /v1/login/callback), sees what the
// client would get and allows it (POST /v1/login/consent), and is sent to the
// client, on the same computer, with a code. The client exchanges that for a
// token (POST /v1/token). Each of these steps makes a ticket, which the next one takes
// once. The first three are bound to one browser by a cookie, the last to the
// client by PKCE.
//
// The clients do not understand an error that a browser brings back: they wait for ever.
// So every error ends on a page for the person, who can end the client.
//
// The rules for people say what a person may do, by the claims of the provider. An email
// address, also of a pipeline, counts only if the provider says, with email_verified,
// that it belongs to them: where anybody can enter any address, a rule for one address
// would be a rule for everybody.
package login

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/identity"
	"github.com/larder-registry/larder/pkg/protocol"
)

// Identities verifies the identity tokens of pipelines: an [identity.Verifier].
type Identities interface {
	// Verify is the claims in an identity token, which must be for one of the
	// audiences.
	//
	// Errors: [identity.ErrInvalid], [identity.ErrUnavailable], [identity.ErrTooSoon].
	Verify(ctx context.Context, raw, issuer string, audiences []string) (access.Claims, error)
}

// Provider identifies people: an [identity.Provider].
type Provider interface {
	// AuthURL is where a person goes to log in.
	//
	// Errors: [identity.ErrUnavailable].
	AuthURL(ctx context.Context, state, nonce, verifier string) (string, error)

	// Exchange is the claims of the person who came back with a code.
	//
	// Errors: [identity.ErrInvalid], [identity.ErrUnavailable], [identity.ErrTooSoon].
	Exchange(ctx context.Context, code, verifier, nonce string) (access.Claims, error)
}

// Config is what a handler works with.
type Config struct {
	// Store has the rules, and gets tickets and tokens. Required.
	Store access.Store

	// Identities verifies the identity tokens of pipelines. Required.
	Identities Identities

	// Provider is the company's own. Nil: nobody logs in, and only pipelines get
	// tokens.
	Provider Provider

	// ProviderName is its name on pages and in the log: the host of its issuer.
	ProviderName string

	// Host is the registry's own, as browsers send it: in lower case and in
	// punycode, with its port unless that is 443.
	Host string

	// Admit says whether there is room for a request that costs something. It is
	// asked for well-formed requests that keep or take a ticket, or read rules and
	// ask an issuer. Nil: always, or something else limits requests.
	Admit func(*http.Request) bool

	// Logger gets a line for every decision, and one for an internal error. They
	// never have a secret. Required.
	Logger *slog.Logger
}

type handler struct {
	Config
	audit access.Audit
}

// New answers the routes of login and of tokens, each by its path.
func New(config Config) http.Handler {
	h := &handler{config, access.LogTo(config.Logger)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+protocol.TokenPath, h.token)
	mux.HandleFunc("GET "+protocol.LoginPath, h.page(h.begin))
	mux.HandleFunc("GET "+protocol.LoginCallbackPath, h.page(h.callback))
	mux.HandleFunc("POST "+protocol.LoginConsentPath, h.page(h.consent))
	return mux
}

// page answers a browser.
func (h *handler) page(step func(*http.Request) (answer, error)) http.HandlerFunc {
	if h.Provider == nil {
		step = func(*http.Request) (answer, error) {
			return answer{}, refuse(http.StatusNotFound, "", "nobody can log in at this registry: ask those who run it for a token")
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := step(r)
		if err != nil {
			a = failure(h.refusal(r, err))
		}
		h.write(w, r, a)
	}
}

// refusal is an error with a text for the user. Of other errors, only those of package
// identity are answered with their own text.
type refusal struct {
	status int
	code   string // RFC 6749, section 5.2
	text   string
	again  time.Duration // after which the client may try again, where that helps; 0 is soon
}

func refuse(status int, code, text string) *refusal {
	return &refusal{status: status, code: code, text: text}
}

func (r *refusal) Error() string { return r.text }

// The codes of errors at the token endpoint: RFC 6749, sections 4.1.2.1 and 5.2.
const (
	invalidRequest   = "invalid_request"
	invalidGrant     = "invalid_grant"
	unsupportedGrant = "unsupported_grant_type"
	unavailable      = "temporarily_unavailable"
	serverError      = "server_error"
)

// errTooOften refuses a request for which there is no room at the moment.
var errTooOften = refuse(http.StatusTooManyRequests, unavailable, "too many ask for this at the same time: try again in some seconds")

// admit finds room for a well-formed request. Malformed ones are refused before, so that
// they do not take room.
func (h *handler) admit(r *http.Request) error {
	if h.Admit != nil && !h.Admit(r) {
		return errTooOften
	}
	return nil
}

// setRetryAfter tells the client when to try again, where that helps.
func setRetryAfter(header http.Header, status int, again time.Duration) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		header.Set("Retry-After", strconv.Itoa(int(cmp.Or(again, soon).Seconds())))
	}
}

// refusal is the answer to an error. It logs internal errors.
func (h *handler) refusal(r *http.Request, err error) *refusal {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, identity.ErrInvalid):
		return refuse(http.StatusForbidden, invalidGrant, err.Error())
	case errors.Is(err, identity.ErrUnavailable):
		h.log(r, slog.LevelWarn, "an issuer cannot be asked", err)
		return refuse(http.StatusServiceUnavailable, unavailable, err.Error())
	case errors.Is(err, identity.ErrTooSoon): // not logged: strangers can cause it
		return &refusal{http.StatusTooManyRequests, unavailable, err.Error(), identity.Rest}
	case errors.Is(err, access.ErrFull):
		h.log(r, slog.LevelWarn, "no more tickets can be kept", err)
		return refuse(http.StatusServiceUnavailable, unavailable, "too many people are logging in at the same time: try again in some minutes")
	default:
		h.log(r, slog.LevelError, "request failed", err)
		return refuse(http.StatusInternalServerError, serverError, "something went wrong in the registry: those who run it find it in its log")
	}
}

func (h *handler) log(r *http.Request, level slog.Level, message string, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the client has gone, which causes errors of no interest
	}
	h.Logger.LogAttrs(r.Context(), level, message, slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
}

// decide reports a decision to the audit.
func (h *handler) decide(ctx context.Context, who, what string, allowed bool, why string) {
	h.audit(ctx, access.Decision{Who: who, What: what, Allowed: allowed, Why: why})
}
