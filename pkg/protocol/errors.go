package protocol

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

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
	{registry.ErrUnauthorized, http.StatusUnauthorized, "WWW-Authenticate", "Bearer"},
	{registry.ErrNotFound, http.StatusNotFound, "", ""},
	{ErrMethod, http.StatusMethodNotAllowed, "Allow", "GET, HEAD"},
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
		break
	}
	answer.body = encode(errorDocument{[]string{message}})
	return answer
}

// plainHost is a hostname as clients send it, perhaps with a port.
var plainHost = regexp.MustCompile(`^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$`)

// howToAuthenticate tells a person who has no token, or none that is good, what
// to do. Terraform prints it as it is where a module cannot be downloaded.
func howToAuthenticate(host string) string {
	host = strings.ToLower(host)
	if !plainHost.MatchString(host) {
		return "this registry wants a token: give one for its hostname in a credentials block of the CLI configuration"
	}
	message := fmt.Sprintf("this registry wants a token: give one in a credentials %q block of the CLI configuration", host)
	if strings.Contains(host, ":") { // no shell takes a variable with a colon in its name
		return message
	}
	return message + ", or in the environment variable TF_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(host)
}
