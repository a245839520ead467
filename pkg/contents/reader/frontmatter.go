package reader

import (
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// matter is what is read of the front matter of a page.
type matter struct {
	PageTitle   string `yaml:"page_title"`
	Subcategory string `yaml:"subcategory"`
	Description string `yaml:"description"`
}

// maxFrontMatter is the longest front matter, in bytes.
const maxFrontMatter = 64 << 10

// frontMatter parts the front matter of a page from its Markdown. If it is not valid, a
// problem says so, and as much is used as can be read. text is clean.
func frontMatter(text string) (m matter, markdown, problem string) {
	const fence = "---\n"
	text = strings.TrimLeft(text, "\n")
	rest, found := strings.CutPrefix(text, fence)
	if !found {
		return m, text, ""
	}
	header, markdown, found := cutLine("\n"+rest, "---")
	if !found {
		return m, text, "The page begins as front matter does, and that does not end."
	}
	markdown = strings.TrimLeft(markdown, "\n")
	if len(header) > maxFrontMatter {
		return m, markdown, "The front matter is longer than 64 KiB, and is not read."
	}
	m, err := parseMatter(header)
	if err != nil {
		return m.or(simpleLines(header)), markdown, "The front matter is not valid: " + message(err.Error())
	}
	return m, markdown, ""
}

// or returns what is known of a page, and otherwise what else says.
func (m matter) or(other matter) matter {
	return matter{
		PageTitle:   cmp.Or(m.PageTitle, other.PageTitle),
		Subcategory: cmp.Or(m.Subcategory, other.Subcategory),
		Description: cmp.Or(m.Description, other.Description),
	}
}

// simpleLines reads the lines of front matter that are a key and a text. Most front matter that
// is not valid is so for another line: often the lines of a description are not indented.
func simpleLines(header string) (m matter) {
	for line := range strings.Lines(header) {
		key, text, _ := strings.Cut(line, ":")
		text = strings.TrimSpace(text)
		if quoted := len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]; quoted {
			text = text[1 : len(text)-1]
		} else if strings.ContainsAny(text[:min(1, len(text))], "\"'|>[{&*!#%@`") {
			continue // more than a text
		}
		switch key {
		case "page_title":
			m.PageTitle = text
		case "subcategory":
			m.Subcategory = text
		case "description":
			m.Description = text
		}
	}
	return m
}

// cutLine cuts a text around the first line that has this content.
func cutLine(text, line string) (before, after string, found bool) {
	for start := 0; ; {
		i := strings.Index(text[start:], "\n"+line)
		if i < 0 {
			return text, "", false
		}
		i += start
		rest := text[i+1+len(line):]
		content, after, _ := strings.Cut(rest, "\n")
		if strings.TrimSpace(content) == "" {
			return text[:i], after, true
		}
		start = i + 1
	}
}

// parseMatter reads texts only: what else the YAML may say is not made.
func parseMatter(header string) (m matter, err error) {
	err = yaml.Unmarshal([]byte(header), &m)
	return m, err
}

// escaped is a character that Markdown shows as it is.
var escaped = regexp.MustCompile("\\\\([!-/:-@[-`{-~])")

// plain returns a heading without the Markdown that names in headings have: google\_project and
// `google_project` are the same title.
func plain(heading string) string {
	if parts := strings.Split(heading, "`"); len(parts) == 3 {
		return escaped.ReplaceAllString(parts[0], "$1") + parts[1] + escaped.ReplaceAllString(parts[2], "$1")
	}
	return escaped.ReplaceAllString(heading, "$1")
}

// firstHeading returns the text of the first heading of a page, or "".
func firstHeading(markdown string) string {
	fenced := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(line, "#"):
			text := strings.TrimLeft(line, "#")
			if strings.HasPrefix(text, " ") && len(line)-len(text) <= 6 {
				return plain(strings.TrimSpace(strings.TrimRight(strings.TrimSpace(text), "#")))
			}
		}
	}
	return ""
}
