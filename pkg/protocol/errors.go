package protocol

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

var (
	// ErrMalformed says that a path can be no address.
	ErrMalformed = errors.New("malformed address")

	// ErrMethod says that an address is there, but not for this method.
	ErrMethod = errors.New("method not allowed")
)

// statuses says how an error is answered, and with which header. Any error
// that is not here is internal.
var statuses = []struct {
	kind          error
	status        int
	header, value string
}{
	{ErrMalformed, http.StatusBadRequest, "", ""},
	{catalog.ErrUnauthorized, http.StatusUnauthorized, "WWW-Authenticate", "Bearer"},
	{registry.ErrNotFound, http.StatusNotFound, "", ""},
	{ErrMethod, http.StatusMethodNotAllowed, "", ""}, // with an Allow of its own
}

// refusal is an error in words that are meant for the user. No other text of
// an error is ever answered.
type refusal struct {
	kind    error // one of those in statuses
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

// orMissing says in the user's words what was not found. Any other error stays
// what it is.
func orMissing(err error, format string, args ...any) error {
	if errors.Is(err, registry.ErrNotFound) {
		return refuse(registry.ErrNotFound, format, args...)
	}
	return err
}

type errorDocument struct {
	Errors []string `json:"errors"`
}

func errorResponse(err error) response {
	answer := response{status: http.StatusInternalServerError, cache: noStore}
	message := "internal error"
	for _, known := range statuses {
		if !errors.Is(err, known.kind) {
			continue
		}
		answer.status, message = known.status, known.kind.Error()
		if known.header != "" {
			answer.header = map[string]string{known.header: known.value}
		}
		var refused *refusal
		if errors.As(err, &refused) {
			message = refused.message
		}
		var method *methodError
		if errors.As(err, &method) {
			message = method.Error()
			answer.header = map[string]string{"Allow": strings.Join(method.allowed, ", ")}
		}
		break
	}
	answer.body = encode(errorDocument{[]string{message}})
	return answer
}

// plainHost is a hostname as clients send it, perhaps with a port.
var plainHost = regexp.MustCompile(`^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$`)

// unauthorized tells a person who has no token, or none that is good, why that
// is and what to do. Terraform prints it as it is where a module cannot be
// downloaded.
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
	if !plainHost.MatchString(host) {
		return "give one for its hostname in a credentials block of the CLI configuration"
	}
	advice := fmt.Sprintf("give one in a credentials %q block of the CLI configuration", host)
	if !strings.Contains(host, ":") { // no shell takes a variable with a colon in its name
		advice += ", or in the environment variable TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
	}
	if h.Login {
		advice = fmt.Sprintf("run \"terraform login %s\" or \"tofu login %[1]s\", or %s", host, advice)
	}
	return advice
}
