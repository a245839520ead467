package terraformignore

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// compile makes a regular expression of a pattern, which begins at the root.
func compile(pattern string) (*regexp.Regexp, error) {
	var expr strings.Builder
	expr.WriteString(`(?s)\A`)
	for pattern != "" {
		next, rest, err := translate(pattern)
		if err != nil {
			return nil, err
		}
		expr.WriteString(next)
		pattern = rest
	}
	expr.WriteString(`\z`)
	return regexp.Compile(expr.String())
}

// translate takes the first token off a pattern.
func translate(pattern string) (expr, rest string, err error) {
	switch {
	case strings.HasPrefix(pattern, "**"):
		rest = strings.TrimPrefix(pattern[2:], "/")
		if rest == "" {
			return ".*", "", nil
		}
		return "(?:.*/)?", rest, nil
	case pattern[0] == '*':
		return "[^/]*", pattern[1:], nil
	case pattern[0] == '?':
		return "[^/]", pattern[1:], nil
	case pattern[0] == '[':
		return translateClass(pattern)
	case pattern[0] == '\\' && len(pattern) > 1:
		pattern = pattern[1:]
	}
	_, size := utf8.DecodeRuneInString(pattern)
	return regexp.QuoteMeta(pattern[:size]), pattern[size:], nil
}

// translateClass takes a group of characters, such as [a-z], off a pattern.
func translateClass(pattern string) (expr, rest string, err error) {
	end := strings.IndexByte(pattern, ']')
	if end < 0 {
		return "", "", errors.New(`"[" has no "]"`)
	}
	if others, ok := strings.CutPrefix(pattern[:end+1], "[^"); ok {
		return "[^/" + others, pattern[end+1:], nil
	}
	return pattern[:end+1], pattern[end+1:], nil
}
