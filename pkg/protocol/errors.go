package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

var (
	// ErrMalformed says that a path cannot be an address.
	ErrMalformed = errors.New("malformed address")

	// ErrMethod says that an address does not answer this method.
	ErrMethod = errors.New("method not allowed")
)

// statuses has the status and the header for each error. Any other error is internal.
var statuses = []struct {
	kind          error
	status        int
	header, value string
	message       string // instead of the error's
}{
	{ErrMalformed, http.StatusBadRequest, "", "", ""},
	{catalog.ErrUnauthorized, http.StatusUnauthorized, "Www-Authenticate", "Bearer", ""},
	{registry.ErrNotFound, http.StatusNotFound, "", "", ""},
	{ErrMethod, http.StatusMethodNotAllowed, "", "", ""}, // with an Allow of its own
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "Retry-After", "1", "the registry's storage does not answer at the moment: try again in some seconds"},
}

// refusal is an error with a message for the user. The text of no other error is ever
// answered.
type refusal struct {
	kind    error // of statuses
	message string
}

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string { return r.message }

func (r *refusal) Unwrap() error { return r.kind }

// methodError is the [ErrMethod] of an address that answers other methods.
type methodError struct{ allowed []string }

func (e *methodError) Error() string {
	return "this address answers " + strings.Join(e.allowed, " and ") + " alone"
}

func (e *methodError) Unwrap() error { return ErrMethod }

// orMissing gives a not-found error a message for the user, if it has none yet. It returns
// any other error as it is.
func orMissing(err error, format string, args ...any) error {
	if _, refused := errors.AsType[*refusal](err); refused || !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	return refuse(registry.ErrNotFound, format, args...)
}

type errorDocument struct {
	Errors []string `json:"errors"`
}

func errorResponse(err error) response {
	answer := response{status: http.StatusInternalServerError, cache: noStore}
	message := "internal error"
	for _, candidate := range statuses {
		if !errors.Is(err, candidate.kind) {
			continue
		}
		answer.status, message = candidate.status, cmp.Or(candidate.message, candidate.kind.Error())
		if candidate.header != "" {
			answer.header[0] = field{candidate.header, []string{candidate.value}}
		}
		var refused *refusal
		if errors.As(err, &refused) {
			message = refused.message
		}
		var method *methodError
		if errors.As(err, &method) {
			message = method.Error()
			answer.header[0] = field{"Allow", []string{strings.Join(method.allowed, ", ")}}
		}
		break
	}
	if refuser, ok := errors.AsType[Refuser](err); ok {
		answer.status, message = refuser.Refusal()
	}
	answer.body = encode(errorDocument{[]string{message}})
	return answer
}

// plainHost is a hostname as clients send it, perhaps with a port. It is compiled when it is
// first needed: that takes more time than all else at a function's start.
var plainHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$`)
})

// unauthorized says why a person has no good token, and what to do. Terraform prints it
// as it is when it cannot download a module.
func (h *handler) unauthorized(host string, err error) error {
	why := "there is no token"
	var unauthorized *catalog.UnauthorizedError
	if errors.As(err, &unauthorized) {
		why = unauthorized.Why
	}
	return refuse(catalog.ErrUnauthorized, "this registry wants a token, and %s: %s", why, h.howToAuthenticate(host))
}

func (h *handler) howToAuthenticate(host string) string {
	host = strings.ToLower(host)
	if !plainHost().MatchString(host) {
		return "give one for its hostname in a credentials block of the CLI configuration"
	}
	advice := fmt.Sprintf("give one in a credentials %q block of the CLI configuration", host)
	if !strings.Contains(host, ":") { // a shell variable cannot have a colon in its name
		advice += ", or in the environment variable TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
	}
	if h.Login {
		advice = fmt.Sprintf("run \"terraform login %s\" or \"tofu login %[1]s\", or %s", host, advice)
	}
	return advice
}
