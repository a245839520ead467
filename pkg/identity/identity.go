// Package identity finds out who somebody is from the identity tokens of OpenID Connect
// providers.
//
// An identity token is a JWT that its issuer signs with a key that it publishes. It is
// valid if
//
//   - it is a compact JWS of at most [MaxToken] bytes, signed with RS256, RS384,
//     RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA, without critical headers;
//   - its issuer is, letter by letter, the one that the caller names;
//   - the signature is by a key from that issuer's own documents, of the type that
//     the algorithm needs. The token's kid only chooses one of these keys; its jwk, jku,
//     x5c and x5u are ignored;
//   - it is for one of the caller's audiences;
//   - it expires, has not expired yet, and is not from the future, give or take [Skew].
//
// An issuer is asked by https alone, at addresses from its discovery document. No
// redirect is followed, and every answer is bounded in size and in time. Answers are kept
// in memory, so an issuer is asked about once an hour. Tokens with an unknown key, which
// anybody can send, cause a request for its keys at most every half minute.
//
// Sources: OpenID Connect Core 1.0 and Discovery 1.0; RFC 7515, 7517, 7519 and
// 8725.
package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

var (
	// ErrInvalid says that somebody did not prove who they are. An error that wraps
	// it says why, in a text for them.
	ErrInvalid = errors.New("the identity token is not good")

	// ErrUnavailable says that an issuer could not be asked, or that its answer
	// cannot be used. It may help to try again later. An error that wraps it has a
	// text for users, which names the issuer.
	ErrUnavailable = errors.New("the issuer cannot be asked")

	// ErrTooSoon says that an identity token is signed with an unknown key, and that
	// its issuer was asked for its keys less than [Rest] ago. If the issuer has just
	// changed them, it helps to try again after that. Anybody who sends a token can
	// cause this error. An error that wraps it has a text for users.
	ErrTooSoon = errors.New("the issuer may not be asked again yet")
)

// Rest is the time between two requests for an issuer's keys because of unknown keys in
// tokens.
const Rest = 30 * time.Second

// fault is an error of one of these kinds, with a text of its own.
type fault struct {
	kind error
	text string
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

func invalid(format string, args ...any) error {
	return &fault{ErrInvalid, fmt.Sprintf(format, args...)}
}

func unavailable(issuer, format string, args ...any) error {
	return &fault{ErrUnavailable, fmt.Sprintf("the issuer %.200s cannot be asked just now: %s", issuer, fmt.Sprintf(format, args...))}
}

func tooSoon(issuer string) error {
	return &fault{ErrTooSoon, fmt.Sprintf("the identity token is signed by a key that is not known, and %.200s was asked for its keys "+
		"a moment ago: try again in half a minute", issuer)}
}

// Config is what a [Verifier] needs.
type Config struct {
	// Transport carries the requests to issuers. Nil: Go's default transport, with
	// the proxy that the environment names.
	Transport http.RoundTripper

	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// maxIssuers is how many issuers are remembered: those of [access.MaxRules]
// rules, and some more.
const maxIssuers = access.MaxRules + 50

// Verifier verifies identity tokens, and remembers the keys of their issuers. It
// is safe for concurrent use.
type Verifier struct {
	http *http.Client
	now  func() time.Time

	mu      sync.Mutex
	issuers map[string]*issuer // by URL
}

// NewVerifier is a verifier that has not asked any issuer yet.
func NewVerifier(c Config) *Verifier {
	v := &Verifier{http: newClient(c.Transport), now: c.Now, issuers: map[string]*issuer{}}
	if v.now == nil {
		v.now = time.Now
	}
	return v
}

// Verify is the claims of an identity token, which must be by the issuer and for one of
// the audiences. Only that issuer is asked.
//
// When the context is canceled, a request to the issuer goes on for some seconds, until
// the context's deadline at most: others may wait for the answer.
//
// Errors: [ErrInvalid], [ErrUnavailable], [ErrTooSoon].
func (v *Verifier) Verify(ctx context.Context, raw, issuer string, audiences []string) (access.Claims, error) {
	t, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if t.standard.Issuer != issuer {
		return nil, invalid("the identity token is of the issuer %.200q, and must be of %.200q, letter by letter", t.standard.Issuer, issuer)
	}
	if err := v.issuer(issuer).verify(ctx, t.jws); err != nil {
		return nil, err
	}
	if err := t.check(issuer, audiences, v.now()); err != nil {
		return nil, err
	}
	return t.claims, nil
}

func (v *Verifier) issuer(url string) *issuer {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, ok := v.issuers[url]
	if !ok {
		if len(v.issuers) >= maxIssuers { // a forgotten issuer is asked again
			clear(v.issuers)
		}
		i = newIssuer(v, url)
		v.issuers[url] = i
	}
	return i
}
