package shasums

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	separator     = "  "
	hashLength    = 64
	maxNameLength = 255 // the longest file name that common file systems store
	maxQuoted     = 80  // bytes of foreign text that a violation repeats
	maxViolations = 100
)

// Violations are the reasons why a document was refused, each a plain
// sentence part such as "line 3 is blank…". There are at most 101: past 100,
// the last one says that there are more.
type Violations []string

func (v Violations) Error() string {
	return "invalid SHA256SUMS: " + strings.Join(v, "; ")
}

func (v *Violations) add(format string, args ...any) {
	switch {
	case len(*v) < maxViolations:
		*v = append(*v, fmt.Sprintf(format, args...))
	case len(*v) == maxViolations:
		*v = append(*v, "there are more problems than are listed here")
	}
}

// addDocument adds what is wrong with the size of a document, in bytes.
func (v *Violations) addDocument(size int) {
	switch {
	case size == 0:
		v.add("the document is empty: it needs one line per package")
	case size > MaxSize:
		v.add("the document has %d bytes, more than the %d that are allowed", size, MaxSize)
	}
}

// parseLine splits a line, without its line feed, and returns what is wrong with it.
func parseLine(line string) (hash, name string, problems []string) {
	line, carriageReturn := strings.CutSuffix(line, "\r")
	if carriageReturn {
		problems = append(problems, "ends in a carriage return: lines must end in a line feed alone")
	}
	if strings.TrimSpace(line) == "" {
		return "", "", append(problems, "is blank: Terraform and OpenTofu crash on a blank line")
	}
	hash, name, found := strings.Cut(line, separator)
	switch {
	case found:
		problems = append(problems, checkName(name)...)
	case strings.Contains(line, " *"):
		hash, _, _ = strings.Cut(line, " *")
		problems = append(problems, `marks its file with "*" (binary mode): write two spaces before the file name`)
	default:
		hash, _, _ = strings.Cut(line, " ")
		problems = append(problems, "lacks the two spaces between hash and file name")
	}
	return hash, name, append(problems, checkHash(hash)...)
}

func checkHash(hash string) []string {
	switch {
	case len(hash) != hashLength || strings.Trim(strings.ToLower(hash), "0123456789abcdef") != "":
		return []string{"does not have a SHA-256 of 64 hexadecimal digits but " + quote(hash)}
	case strings.ToLower(hash) != hash:
		return []string{"has a hash with upper-case digits: write it in lower case"}
	}
	return nil
}

func checkName(name string) (problems []string) {
	if len(name) > maxNameLength {
		problems = append(problems, fmt.Sprintf("has a file name of %d bytes, more than the %d that are allowed", len(name), maxNameLength))
	}
	switch {
	case name == "", name == ".", name == "..":
		problems = append(problems, "has no file name")
	case !utf8.ValidString(name):
		problems = append(problems, "has a file name that is not UTF-8: "+quote(name))
	case strings.ContainsAny(name, `/\`):
		problems = append(problems, "has a path where a plain file name belongs: "+quote(name))
	case strings.HasPrefix(name, "*"):
		problems = append(problems, `has a "*" (binary mode) before its file name`)
	case strings.ContainsFunc(name, unicode.IsSpace):
		problems = append(problems, "has white space or further text in or after its file name: "+quote(name))
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		problems = append(problems, "has a control or invisible character in its file name: "+quote(name))
	}
	return problems
}

// quote repeats foreign text, cut to a length that suits a sentence.
func quote(text string) string {
	if len(text) > maxQuoted {
		return fmt.Sprintf("%q…", text[:maxQuoted])
	}
	return fmt.Sprintf("%q", text)
}
