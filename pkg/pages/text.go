package pages

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// text is s within a line of Markdown, whatever s has: no character of it is markup.
func text(s string) string {
	line := oneLine(s)
	var b strings.Builder
	before := ' '
	for i, c := range line {
		after, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(c):])
		if isMarkup(c, before, after) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		before = c
	}
	return b.String()
}

// isMarkup says whether a character between two others could be more than itself. An
// underscore between letters, as names have it, could not.
func isMarkup(c, before, after rune) bool {
	switch c {
	case '\\', '`', '*', '[', ']', '<', '>', '|', '~', '&', '$':
		return true
	case '_':
		return !isWord(before) || !isWord(after)
	}
	return false
}

func isWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// start is s at the beginning of a line, where more characters could be markup.
func start(s string) string {
	line := text(s)
	if line != "" && strings.ContainsRune("#+-=:", rune(line[0])) {
		return `\` + line
	}
	rest := strings.TrimLeft(line, "0123456789")
	if digits := len(line) - len(rest); digits > 0 && rest != "" && (rest[0] == '.' || rest[0] == ')') {
		return line[:digits] + `\` + rest
	}
	return line
}

// oneLine is a text in one line, with one space where it has some, and without invisible
// characters.
func oneLine(s string) string {
	return strings.Join(strings.Fields(visible(s)), " ")
}

// visible is a text without the characters that nobody sees, but with its lines. Bytes that
// are not UTF-8 become U+FFFD.
func visible(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsPrint(c) {
			return c
		}
		if unicode.IsSpace(c) {
			return ' '
		}
		return -1
	}, s)
}

// code is a text as code within a line. Empty text is no code.
func code(s string) string {
	line := oneLine(s)
	if line == "" {
		return ""
	}
	mark := strings.Repeat("`", longestRun(line, '`')+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return mark + line + mark
}

// codeCell is code within a table. There a bar ends the cell, in code as well. Readers do not
// agree on a bar after a backslash in code, so that is plain text.
func codeCell(s string) string {
	if strings.Contains(s, `\|`) {
		return text(s)
	}
	return strings.ReplaceAll(code(s), "|", `\|`)
}

// block is a block of code in a language. Its fence is longer than any within the text.
func block(language, s string) string {
	body := strings.Trim(visible(s), "\n")
	fence := strings.Repeat("`", max(3, longestRun(body, '`')+1))
	return fence + language + "\n" + body + "\n" + fence
}

// quoted is a document within another: every line of it is a line of a quotation, so nothing
// in it, such as a heading or an open fence, reaches what is around it.
func quoted(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(visible(s), "\n"), "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// longestRun is the length of the longest run of a character.
func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// shortened is at most so many characters of a text.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
