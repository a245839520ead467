package reader

import (
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
		return m, markdown, "The front matter is not valid: " + message(err.Error())
	}
	return m, markdown, ""
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
				return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(text), "#"))
			}
		}
	}
	return ""
}
