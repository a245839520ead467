package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/larder-registry/larder/internal/printable"
)

// Untrusted says that an origin contradicts itself, so that what it offers is
// not to be used: asking again will not help, looking into it will.
type Untrusted struct {
	// Problem is what does not hold, and where, in full words.
	Problem string

	cause error
}

func (e *Untrusted) Error() string { return "not to be trusted: " + e.Problem }

// Unwrap returns the error that was found, if there was one: those of
// packages signing and shasums say more.
func (e *Untrusted) Unwrap() error { return e.cause }

// untrusted is an Untrusted whose words may repeat an origin's.
func untrusted(cause error, format string, args ...any) error {
	return &Untrusted{Problem: oneLine(fmt.Sprintf(format, args...)), cause: cause}
}

// fault is why an origin could not be asked, or what it said that makes no
// sense. Its text is fit to be shown, whatever the origin sent.
type fault struct {
	text  string
	cause error
}

func (f *fault) Error() string { return f.text }

func (f *fault) Unwrap() error { return f.cause }

// newFault is a fault with a cause. An error of an HTTP client repeats its URL,
// which may carry the right to download: that is left out.
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

// where is a URL as errors name it: without what could be a secret.
func where(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// maxText is the longest text of an error that may repeat an origin's words, in
// bytes.
const maxText = 1000

// oneLine is a text on one line, without anything that a terminal would obey,
// and cut where it is too long.
func oneLine(text string) string {
	more := ""
	if len(text) > maxText {
		text, more = text[:maxText], "…"
	}
	return strings.ReplaceAll(printable.Replace(text, '?'), string(unicode.ReplacementChar), "?") + more
}
