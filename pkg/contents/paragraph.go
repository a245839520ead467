package contents

import (
	"regexp"
	"strings"
	"sync"
)

// MaxParagraph is how much of a README is looked at for its first paragraph, in bytes.
const MaxParagraph = 16 << 10

// marks are what a paragraph of Markdown has beside its text. A description is one line in a
// list, so it is enough to know the common forms.
type marks struct{ comments, images, links, tags, emphasis, list, rule *regexp.Regexp }

// known are compiled when they are first needed, and not in every cold start of a function.
var known = sync.OnceValue(func() marks {
	return marks{
		comments: regexp.MustCompile(`(?s)<!--.*?-->`),
		images:   regexp.MustCompile(`!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])`),
		links:    regexp.MustCompile(`\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])`),
		tags:     regexp.MustCompile(`</?[a-zA-Z][^>]*>`),
		emphasis: regexp.MustCompile("[*`]+|\\b__|__\\b|\\b_|_\\b"),
		list:     regexp.MustCompile(`^([-*+]|\d+[.)])\s`),
		rule:     regexp.MustCompile(`^([-=*_]\s*){2,}$`),
	}
})

// FirstParagraph returns the first paragraph of a README as plain text in one line, or "" if
// there is none. Headings, images, code, tables and lists are no paragraphs.
func FirstParagraph(readme string) string {
	readme = known().comments.ReplaceAllString(head(readme), "")
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
	if len(text) <= MaxParagraph {
		return text
	}
	text = strings.ToValidUTF8(text[:MaxParagraph], "")
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
		case len(lines) > 0 && known().rule.MatchString(trimmed):
			lines = nil // what was above was a heading
		case known().rule.MatchString(trimmed), strings.HasPrefix(trimmed, "|"), known().list.MatchString(trimmed), strings.HasPrefix(line, "    "), strings.HasPrefix(line, "\t"):
			if len(lines) > 0 {
				return inline(lines)
			}
		default:
			lines = append(lines, strings.TrimLeft(trimmed, "> "))
		}
	}
	return inline(lines)
}

// PlainText is a line of Markdown without the marks in it.
func PlainText(line string) string { return inline([]string{line}) }

// inline is the text of some lines without the marks in them.
func inline(lines []string) string {
	text := known().images.ReplaceAllString(strings.Join(lines, " "), "")
	text = known().links.ReplaceAllString(text, "$1")
	text = known().tags.ReplaceAllString(text, "")
	text = known().emphasis.ReplaceAllString(text, "")
	return strings.Join(strings.Fields(text), " ")
}
