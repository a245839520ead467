// Package printable removes from a text the characters that a terminal would obey.
package printable

import (
	"strings"
	"unicode"
)

// Text returns a text that may be written to a terminal.
func Text(text string) string { return Replace(text, unicode.ReplacementChar) }

// Replace replaces each invisible character of a text by with, or removes it if with is
// negative. Bytes that are not UTF-8 become [unicode.ReplacementChar], which is visible.
func Replace(text string, with rune) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return with
	}, text)
}
