package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of things that can be read.
type Kind string

// The kinds. The registry's own providers are Providers also where they are
// read through its mirror.
const (
	Modules   Kind = "modules"   // namespace/name/system
	Providers Kind = "providers" // namespace/type
	Mirror    Kind = "mirror"    // hostname/namespace/type
)

// parts is how many parts a path of each kind has.
var parts = map[Kind]int{Modules: 3, Providers: 2, Mirror: 3}

// Resource is something that can be read.
type Resource struct {
	Kind Kind
	Path string // as many parts as its kind has, with slashes between them
}

// String is the resource as a [Decision] has it.
func (r Resource) String() string { return "read " + string(r.Kind) + ":" + r.Path }

// Scope allows to read what it matches. The zero Scope matches nothing.
type Scope struct {
	kind Kind     // or "*"
	path []string // parts in lower case, or "*"; the last "*" stands for all that remain
}

const (
	read     = "read "
	anything = "*"

	// MaxScopes is how many scopes a token or a rule may have.
	MaxScopes = 50

	// maxScope is the longest text of a scope, in bytes.
	maxScope = 400
)

// ParseScope reads a scope: "read ", a kind, a colon and a path of that kind. Each
// part of the path is a name or "*". A "*" at the end stands for all parts that remain:
//
//	read providers:acme/widget
//	read modules:acme/*
//	read mirror:*
//	read mirror:registry.terraform.io/hashicorp/*
//	read *
//
// The last of them is everything. The case of names does not matter, since addresses
// do not differ in case alone.
//
// The error says what is wrong, and how a scope is written.
func ParseScope(text string) (Scope, error) {
	s, err := parseScope(text)
	if err != nil {
		return Scope{}, fmt.Errorf("%.100q is not a scope: %w; write one like \"read providers:acme/*\"", text, err)
	}
	return s, nil
}

func parseScope(text string) (Scope, error) {
	what, ok := strings.CutPrefix(text, read)
	if !ok || len(text) > maxScope {
		return Scope{}, errors.New("it begins with read and one space")
	}
	if what == anything {
		return Scope{anything, []string{anything}}, nil
	}
	kind, path, ok := strings.Cut(what, ":")
	s := Scope{Kind(kind), strings.Split(strings.ToLower(path), "/")}
	most := parts[s.kind]
	if !ok || most == 0 {
		return Scope{}, errors.New("it is for modules:, providers: or mirror:, or for all with read *")
	}
	for _, part := range s.path {
		if err := checkPart(part); err != nil {
			return Scope{}, err
		}
	}
	if last := s.path[len(s.path)-1]; len(s.path) > most || len(s.path) < most && last != anything {
		return Scope{}, fmt.Errorf("an address of %s has %d parts; fewer of them end with a *", kind, most)
	}
	return s, nil
}

// checkPart checks a part of a path. It accepts some names that nothing can have;
// these match nothing.
func checkPart(part string) error {
	foreign := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	switch {
	case part == anything:
		return nil
	case strings.Contains(part, anything):
		return errors.New("a * stands for a whole part between slashes")
	case part == "" || strings.ContainsFunc(part, foreign):
		return fmt.Errorf("%q can be no part of an address", part)
	}
	return nil
}

// String is the scope as [ParseScope] reads it.
func (s Scope) String() string {
	if s.kind == anything {
		return read + anything
	}
	return read + string(s.kind) + ":" + strings.Join(s.path, "/")
}

// MarshalText is String.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseScope.
func (s *Scope) UnmarshalText(text []byte) (err error) {
	*s, err = ParseScope(string(text))
	return err
}

// allows says whether the scope matches a path of a kind. The path is in lower case, and has as
// many parts as the kind says.
func (s Scope) allows(kind Kind, path string) bool {
	if s.kind == anything {
		return true
	}
	if s.kind != kind {
		return false
	}
	for i, part := range s.path {
		last := i == len(s.path)-1
		if part == anything && last {
			return true
		}
		name, rest, more := strings.Cut(path, "/")
		if part != anything && part != name {
			return false
		}
		if !more {
			return last
		}
		path = rest
	}
	return false
}

// Scopes are all that somebody may do. Without any, they may do nothing.
type Scopes []Scope

// Allow says whether one of the scopes matches. It allocates nothing if the path is in lower case,
// as addresses are: a list asks for each address that there is.
func (s Scopes) Allow(r Resource) bool {
	path, kind := strings.ToLower(r.Path), r.Kind
	if strings.Count(path, "/")+1 != parts[kind] {
		kind = "" // only what matches everything matches that
	}
	for i := range s {
		if s[i].allows(kind, path) {
			return true
		}
	}
	return false
}

// String is the scopes with commas between them.
func (s Scopes) String() string {
	texts := make([]string, len(s))
	for i, scope := range s {
		texts[i] = scope.String()
	}
	return strings.Join(texts, ", ")
}

// ParseScopes reads one scope or more, up to [MaxScopes].
func ParseScopes(texts []string) (Scopes, error) {
	if len(texts) == 0 || len(texts) > MaxScopes {
		return nil, fmt.Errorf("there must be 1 to %d scopes, and there are %d", MaxScopes, len(texts))
	}
	var scopes Scopes
	for _, text := range texts {
		scope, err := ParseScope(text)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(scopes, func(s Scope) bool { return s.String() == scope.String() }) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}
