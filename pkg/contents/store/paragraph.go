package store

import (
	"regexp"
	"strings"
)

// maxParagraph is how much of a README is looked at for its first paragraph, in bytes.
const maxParagraph = 16 << 10

// What a paragraph of Markdown has beside its text. A description is one line in a list, so it
// is enough to know the common forms.
var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
	images   = regexp.MustCompile(`!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])`)
	links    = regexp.MustCompile(`\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])`)
	tags     = regexp.MustCompile(`</?[a-zA-Z][^>]*>`)
	emphasis = regexp.MustCompile("[*`]+|\\b__|__\\b|\\b_|_\\b")
	list     = regexp.MustCompile(`^([-*+]|\d+[.)])\s`)
	rule     = regexp.MustCompile(`^([-=*_]\s*){2,}$`)
)

// firstParagraph returns the first paragraph of a README as plain text in one line, or "" if
// there is none. Headings, images, code, tables and lists are no paragraphs.
func firstParagraph(readme string) string {
	readme = comments.ReplaceAllString(head(readme), "")
	fenced := false
	for block := range strings.SplitSeq(readme, "\n\n") {
		was := fenced
		if strings.Count(block, "```")%2 == 1 {
			fenced = !fenced
		}
		if was || strings.Contains(block, "```") {
			continue
		}
		if text := plain(block); text != "" {
			return text
		}
	}
	return ""
}

// head is the beginning of a text, up to the end of a paragraph where it is cut.
func head(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if len(text) <= maxParagraph {
		return text
	}
	text = strings.ToValidUTF8(text[:maxParagraph], "")
	if end := strings.LastIndex(text, "\n\n"); end > 0 {
		return text[:end]
	}
	return text
}

// plain is a block of Markdown as plain text, or "" if it is no paragraph.
func plain(block string) string {
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" && len(lines) > 0:
			return inline(lines)
		case trimmed == "", strings.HasPrefix(trimmed, "#"):
		case len(lines) > 0 && rule.MatchString(trimmed):
			lines = nil // what was above was a heading
		case rule.MatchString(trimmed), strings.HasPrefix(trimmed, "|"), list.MatchString(trimmed), strings.HasPrefix(line, "    "), strings.HasPrefix(line, "\t"):
			if len(lines) > 0 {
				return inline(lines)
			}
		default:
			lines = append(lines, strings.TrimLeft(trimmed, "> "))
		}
	}
	return inline(lines)
}

// inline is the text of some lines without the marks in them.
func inline(lines []string) string {
	text := images.ReplaceAllString(strings.Join(lines, " "), "")
	text = links.ReplaceAllString(text, "$1")
	text = tags.ReplaceAllString(text, "")
	text = emphasis.ReplaceAllString(text, "")
	return strings.Join(strings.Fields(text), " ")
}
