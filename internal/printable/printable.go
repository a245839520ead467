// Package printable keeps off a terminal what it would take for more than text, whoever
// the text is from.
package printable

import (
	"strings"
	"unicode"
)

// Text is a text as it may be written to a terminal.
func Text(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return unicode.ReplacementChar
	}, text)
}
