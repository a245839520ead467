package registry

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Standing is what publishers say of a version after they have published it. At first
// every version has the zero Standing.
type Standing struct {
	State   StandingState `json:"state"`
	Message string        `json:"message,omitempty"` // for those who use the version; one line, see [NewStanding]
}

// StandingState is what publishers said of a version last.
type StandingState string

// The states. Bytes, hashes and signatures are the same in all of them, and
// exact downloads work.
const (
	Deprecated StandingState = "deprecated" // listed, with a warning to those who ask for a list
	Withdrawn  StandingState = "withdrawn"  // not listed
	Restored   StandingState = "restored"   // neither any more; only in records: the version then has the zero Standing
)

// MaxMessage is the longest message of a [Standing], in bytes: listings hold
// one for every deprecated version.
const MaxMessage = 500

// NewStanding is a standing for a record. The error says what is wrong with the
// message: a deprecation must have one, and a restoration must not. It is one line of
// text, since the clients print it as it is.
func NewStanding(state StandingState, message string) (Standing, error) {
	message = strings.TrimSpace(message)
	switch {
	case state == Deprecated && message == "":
		return Standing{}, fmt.Errorf("a deprecation needs a message that says what to use instead")
	case state == Restored && message != "":
		return Standing{}, fmt.Errorf("a restoration has no message")
	case len(message) > MaxMessage:
		return Standing{}, fmt.Errorf("the message has %d bytes, %d are allowed", len(message), MaxMessage)
	case !utf8.ValidString(message) || strings.ContainsFunc(message, func(c rune) bool { return !unicode.IsPrint(c) }):
		return Standing{}, fmt.Errorf("the message must be one line of text without control characters")
	}
	s := Standing{state, message}
	if !s.hasKnownState() {
		return Standing{}, fmt.Errorf("%q is no state of a version: it is %s, %s or %s", state, Deprecated, Withdrawn, Restored)
	}
	return s, nil
}

// hasKnownState is false for nil, and for a state that a newer larder has written.
func (s *Standing) hasKnownState() bool {
	return s != nil && (s.State == Deprecated || s.State == Withdrawn || s.State == Restored)
}

// ofVersion is the standing of a version whose last record of a standing has s.
func (s *Standing) ofVersion() Standing {
	if s.State == Restored {
		return Standing{}
	}
	return *s
}
