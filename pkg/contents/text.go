package contents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns a text as documents have it: in UTF-8, with "\n" at the end of lines, and
// without a byte order mark and other control characters than "\n" and "\t".
func Clean(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if isClean(text) {
		return text
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if isUnwanted(r) {
			return -1
		}
		return r // what is not UTF-8 is U+FFFD here
	}, text)
}

func isClean(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, isUnwanted) < 0
}

func isUnwanted(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

// Cut returns the first bytes of a text, at most limit of them, and whether something was
// cut off. It does not part a character.
func Cut(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}
