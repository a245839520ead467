// Package terraformignore reads a .terraformignore file, in which the author of a module
// excludes files of its folder.
//
// The rules are Terraform's own, from its documentation and from the library that it uses
// (hashicorp/go-slug, whose code for this is internal). They look like the rules of
// .gitignore, but differ:
//
//   - Every pattern matches at any depth, also one with a slash inside, unless
//     it begins with a slash.
//   - A pattern with a slash at its end matches a folder with all its files.
//     Without that slash, it matches a file of that name.
//   - "!" includes files again that earlier lines exclude, also inside of an
//     excluded folder. The last line that matches decides.
//   - "*" and "?" do not match a slash, "**" does, and [a-z] is one of these
//     characters.
//
// Without any line, .git/ and .terraform/ are excluded, but not .terraform/modules/.
package terraformignore

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Filename is the name of the file, at the root of the module.
const Filename = ".terraformignore"

// maxSize is the largest file that is read, in bytes.
const maxSize = 1 << 20

// Rules say what is excluded.
type Rules []rule

type rule struct {
	negated bool
	match   *regexp.Regexp
}

// Defaults returns the rules without a file. They also come before the lines of every file.
func Defaults() Rules {
	var rules Rules
	for _, line := range []string{".git/", ".terraform/", "!.terraform/modules/"} {
		parsed, err := parseLine(line)
		if err != nil {
			panic(err) // never: these patterns are right
		}
		rules = append(rules, parsed)
	}
	return rules
}

// Parse reads a file. The error names a line that is not a pattern, and says why, or is the
// reader's.
func Parse(r io.Reader) (Rules, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Filename, err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", Filename, maxSize)
	}
	rules := Defaults()
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parsed, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %q is not a pattern: %w", Filename, i+1, line, err)
		}
		rules = append(rules, parsed)
	}
	return rules, nil
}

func parseLine(line string) (rule, error) {
	pattern, negated := strings.CutPrefix(line, "!")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	if rooted, ok := strings.CutPrefix(pattern, "/"); ok {
		pattern = rooted
	} else {
		pattern = "**/" + pattern
	}
	match, err := compile(pattern)
	return rule{negated, match}, err
}

// Excludes reports whether a file is excluded. Its path is relative to the root
// of the module and has forward slashes.
func (rules Rules) Excludes(file string) bool {
	excluded := false
	for _, r := range rules {
		if r.negated == excluded && r.match.MatchString(file) {
			excluded = !r.negated
		}
	}
	return excluded
}
