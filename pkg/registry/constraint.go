package registry

import (
	"fmt"
	"strings"

	goversion "github.com/hashicorp/go-version"
)

// MaxConstraintLength is the longest version constraint that is read, in bytes.
const MaxConstraintLength = 1024

// Constraint says which versions of a provider are wanted, as a configuration
// says it: ">= 1.0, < 2.0". The zero Constraint allows nothing.
type Constraint struct {
	text  string
	parts goversion.Constraints
}

// ParseConstraint reads a version constraint. The error says what is wrong with
// it.
func ParseConstraint(s string) (Constraint, error) {
	if len(s) > MaxConstraintLength {
		return Constraint{}, fmt.Errorf("the version constraint has %d characters, %d are allowed", len(s), MaxConstraintLength)
	}
	parts, err := goversion.NewConstraint(s)
	if err != nil {
		return Constraint{}, fmt.Errorf("%q is not a version constraint such as 1.2.3, \"~> 1.2\" or \">= 1.0, < 2.0\"", s)
	}
	return Constraint{s, parts}, nil
}

// String is the constraint as it was written.
func (c Constraint) String() string { return c.text }

// Given is false for the zero Constraint.
func (c Constraint) Given() bool { return len(c.parts) > 0 }

// Allows says whether a version meets the constraint. As in the clients, a
// pre-release must be named exactly.
func (c Constraint) Allows(v Version) bool {
	parsed, err := goversion.NewVersion(v.text)
	if err != nil || !c.Given() || !c.parts.Check(parsed) {
		return false
	}
	return !v.Prerelease() || c.namesExactly(parsed)
}

// namesExactly says whether a part of the constraint is this one version.
func (c Constraint) namesExactly(v *goversion.Version) bool {
	for _, part := range c.parts {
		text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(part.String()), "="))
		if exact, err := goversion.NewVersion(text); err == nil && exact.Equal(v) {
			return true
		}
	}
	return false
}
