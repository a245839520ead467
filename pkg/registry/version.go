package registry

import (
	"encoding"
	"fmt"
	"regexp"
	"strings"
	"sync"

	goversion "github.com/hashicorp/go-version"
	"golang.org/x/mod/semver"
)

// MaxVersionLength is the longest version that can be published, in bytes.
const MaxVersionLength = 128

// grammar is that of https://semver.org/spec/v2.0.0.html. It is compiled when it is first
// needed, and not in every cold start of a function.
var grammar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
		`(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
		`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)
})

// Version is a full semantic version as its publisher wrote it, without a
// leading v. The zero Version is not a version.
type Version struct{ text string }

var (
	_ encoding.TextMarshaler   = Version{}
	_ encoding.TextUnmarshaler = (*Version)(nil)
)

// ParseVersion reads a version that is to be published: a full semantic
// version, to the letter. The error says what is wrong with it.
func ParseVersion(s string) (Version, error) {
	switch {
	case len(s) > MaxVersionLength:
		return Version{}, fmt.Errorf("the version has %d characters, %d are allowed", len(s), MaxVersionLength)
	case strings.HasPrefix(s, "v") || strings.HasPrefix(s, "V"):
		return Version{}, fmt.Errorf("version %q has a leading v: write %q", s, s[1:])
	case isRelease(s):
		return Version{s}, nil
	case !grammar().MatchString(s):
		return Version{}, fmt.Errorf("version %q is not a full semantic version such as 1.2.3 or 1.2.3-rc.1, without leading zeros", s)
	}
	// Clients ask for a version as their own library writes it, so it must
	// survive that library unchanged.
	if v, err := goversion.NewVersion(s); err != nil || v.String() != s {
		return Version{}, fmt.Errorf("version %q is not understood by Terraform and OpenTofu", s)
	}
	return Version{s}, nil
}

// LookupVersion reads a version out of a request, where it may be written as
// leniently as the clients allow: v1.2 is 1.2.0. The error is always
// [ErrNotFound]: what is not a version cannot have been published.
func LookupVersion(s string) (Version, error) {
	if len(s) > MaxVersionLength {
		return Version{}, ErrNotFound
	}
	if isRelease(s) {
		return Version{s}, nil
	}
	lenient, err := goversion.NewVersion(s)
	if err != nil {
		return Version{}, ErrNotFound
	}
	v, err := ParseVersion(lenient.String())
	if err != nil {
		return Version{}, ErrNotFound
	}
	return v, nil
}

// String is the version as it was published.
func (v Version) String() string { return v.text }

// Key is the version without its build metadata. No two published versions
// share one, because clients could not tell which of them comes first.
func (v Version) Key() string {
	key, _, _ := strings.Cut(v.text, "+")
	return key
}

// Prerelease says that the version comes before a release, as 1.0.0-rc.1 does.
func (v Version) Prerelease() bool { return strings.Contains(v.Key(), "-") }

// Compare orders versions by semantic precedence: negative when v comes before
// w, zero when they differ in build metadata at most. The clients' own library is
// wrong here: it has 1.0.0-a after 1.0.0-a.b, and so no order of pre-releases that a
// listing could keep.
func (v Version) Compare(w Version) int {
	return semver.Compare("v"+v.text, "v"+w.text)
}

// MarshalText writes the version as it was published.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// UnmarshalText reads a stored version. Listings hold thousands, so the
// grammar is checked as for a published one but nothing more.
func (v *Version) UnmarshalText(text []byte) error {
	s := string(text)
	if !isRelease(s) && !grammar().MatchString(s) {
		return fmt.Errorf("stored version %q is not a semantic version", s)
	}
	v.text = s
	return nil
}

// isRelease says whether a text is a version of three numbers alone, as most are. It does
// not need the grammar and the clients' library, which together cost fifteen allocations.
// Longer numbers do.
func isRelease(s string) bool {
	const maxDigits = 9
	dots, digits := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && digits > 0:
			dots, digits = dots+1, 0
		case '0' <= c && c <= '9' && digits < maxDigits && !(digits == 1 && s[i-1] == '0'):
			digits++
		default:
			return false
		}
	}
	return dots == 2 && digits > 0
}
