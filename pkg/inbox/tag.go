package inbox

import (
	"fmt"
	"regexp"
	"strings"
)

// The tags of an upload's object version.
const (
	StatusTag = "larder-status"
	ReasonTag = "larder-reason" // of an upload with reasons; see [TagValue]
)

// maxTagValue is S3's limit for the value of a tag, in characters.
const maxTagValue = 256

// plainPunctuation replaces the punctuation that tags cannot have.
var plainPunctuation = strings.NewReplacer(", ", " - ", "; ", " - ", " (", " - ", ")", "", `"`, "", "'", "")

// inParentheses matches hashes. They tell a reader nothing, and take the room of what to do.
var inParentheses = regexp.MustCompile(`\s*\([^()]*(?:[0-9a-f]{64}|h1:[0-9A-Za-z+/]{43}=)[^()]*\)`)

// placeholder matches a part of a name that the reader has to replace.
var placeholder = regexp.MustCompile(`<[a-z ]+>`)

// TagValue writes reasons as the value of a tag: the first reason, and how many more there
// are. S3 allows 256 letters, digits, spaces and _.:/=+-@ there. Hashes in parentheses are
// left out, and placeholders are in upper case.
func TagValue(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	var rest string
	if more := len(reasons) - 1; more > 0 {
		rest = fmt.Sprintf(" - and %d more", more)
	}
	text := placeholder.ReplaceAllStringFunc(inParentheses.ReplaceAllString(reasons[0], ""), func(name string) string {
		return strings.ToUpper(strings.Trim(name, "<>"))
	})
	first := strings.Join(strings.FieldsFunc(plainPunctuation.Replace(text), notInTags), " ")
	if room := maxTagValue - len(rest); len(first) > room {
		first = strings.TrimSpace(first[:room])
	}
	return first + rest
}

func notInTags(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	default:
		return !strings.ContainsRune("_.:/=+-@", c)
	}
}
