package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/larder-registry/larder/internal/printable"
)

// Untrusted says that an origin contradicts itself, so that its packages must not be used.
// It does not help to ask again; somebody has to find out why.
type Untrusted struct {
	// Problem is a full sentence that says what is wrong, and where.
	Problem string

	cause error
}

func (e *Untrusted) Error() string { return "not to be trusted: " + e.Problem }

// Unwrap returns the cause, if there is one: an error of package signing or shasums.
func (e *Untrusted) Unwrap() error { return e.cause }

// untrusted is an Untrusted whose text may quote an origin.
func untrusted(cause error, format string, args ...any) error {
	return &Untrusted{Problem: oneLine(fmt.Sprintf(format, args...)), cause: cause}
}

// fault is why an origin could not be asked, or why its answer cannot be used. Its text can
// be shown, whatever the origin sent.
type fault struct {
	text  string
	cause error
}

func (f *fault) Error() string { return f.text }

func (f *fault) Unwrap() error { return f.cause }

// newFault is a fault with a cause. It leaves out the URL in an error of an HTTP client,
// which may have the right to download in its query.
func newFault(what string, cause error) error {
	var u *url.Error
	for errors.As(cause, &u) {
		cause = u.Err
	}
	return &fault{oneLine(what + ": " + cause.Error()), cause}
}

func newFaultf(format string, args ...any) error {
	return &fault{text: oneLine(fmt.Sprintf(format, args...))}
}

// where is a URL for errors: without a user name and a query, which could be secret.
func where(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// maxText is the longest text of an error that may quote an origin, in bytes.
const maxText = 1000

// oneLine is a text in one line, without control characters, cut if it is too long.
func oneLine(text string) string {
	more := ""
	if len(text) > maxText {
		text, more = text[:maxText], "…"
	}
	return strings.ReplaceAll(printable.Replace(text, '?'), string(unicode.ReplacementChar), "?") + more
}
