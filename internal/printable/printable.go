// Package printable keeps off a terminal what it would take for more than text, whoever
// the text is from.
package printable

import (
	"strings"
	"unicode"
)

// Text is a text as it may be written to a terminal.
func Text(text string) string { return Replace(text, unicode.ReplacementChar) }

// Replace is a text with another character in the place of each that is not to be
// seen, or nothing in its place where that is negative. What is no UTF-8 becomes
// [unicode.ReplacementChar], which is to be seen.
func Replace(text string, with rune) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return with
	}, text)
}
