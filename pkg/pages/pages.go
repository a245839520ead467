// Package pages writes what people and assistants read of a module or a provider, as
// Markdown (CommonMark with tables).
//
// Everything that publishers wrote is text of others: names, descriptions and defaults are
// escaped, code is fenced, and a README is quoted line by line. So nothing in them can add a
// heading or a row, or end what is around it. The one exception is the page of a provider's
// documentation, which is Markdown as a whole: it comes last, after a rule.
package pages

import (
	"fmt"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Type is the media type of Markdown.
const Type = "text/markdown; charset=utf-8"

// MaxPage is the longest page, in bytes. What is beyond it is left out, and the page says so.
const MaxPage = 1 << 20

// page is a page that is being written. It is never longer than [MaxPage].
type page struct {
	text strings.Builder
	room int
	cut  bool
}

// reserve is kept for the notice that a page is cut.
const reserve = 256

func newPage() *page { return &page{room: MaxPage - reserve} }

// line adds a line, or nothing when the page is full.
func (p *page) line(format string, args ...any) {
	p.write(fmt.Sprintf(format, args...) + "\n")
}

// write adds a whole piece of Markdown, or nothing when the page is full.
func (p *page) write(piece string) {
	if p.cut = p.cut || len(piece) > p.room; p.cut {
		return
	}
	p.room -= len(piece)
	p.text.WriteString(piece)
}

// paragraph adds a block of its own.
func (p *page) paragraph(format string, args ...any) {
	p.write(fmt.Sprintf(format, args...) + "\n\n")
}

// heading adds a heading. Its text is Markdown.
func (p *page) heading(level int, format string, args ...any) {
	p.paragraph(strings.Repeat("#", level)+" "+format, args...)
}

// table adds a table whose cells are Markdown. Without rows it adds nothing.
func (p *page) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.row(head)
	p.line("|%s", strings.Repeat("---|", len(head)))
	for _, row := range rows {
		p.row(row)
	}
	p.write("\n")
}

func (p *page) row(cells []string) { p.line("| %s |", strings.Join(cells, " | ")) }

// list adds a list of Markdown lines. Without lines it adds nothing.
func (p *page) list(lines []string) {
	for _, line := range lines {
		p.line("- %s", line)
	}
	if len(lines) > 0 {
		p.write("\n")
	}
}

// end is the page, which names where the whole is if it was cut.
func (p *page) end(whole string) string {
	if p.cut {
		p.text.WriteString("\nThis page is cut here, because it would be too large. The whole is at " + link(whole) + "\n")
	}
	return strings.TrimRight(p.text.String(), "\n") + "\n"
}

// link is a URL that leads to where it says. It has no characters that Markdown or people
// could take for something else: see [registry.CheckSource].
func link(url string) string {
	if strings.ContainsFunc(url, func(c rune) bool { return c <= ' ' || c > '~' || c == '<' || c == '>' }) {
		return code(url)
	}
	return "<" + url + ">"
}

// status says what operators said of a version.
func status(s registry.Standing) string {
	switch s.State {
	case "":
		return "listed"
	case registry.Deprecated:
		return "**deprecated**: " + text(s.Message)
	case registry.Withdrawn:
		if s.Message == "" {
			return "**withdrawn**: it is not offered any more"
		}
		return "**withdrawn**: " + text(s.Message)
	default:
		return text(string(s.State))
	}
}

// MaxVersions is how many versions a page lists.
const MaxVersions = 50

// versions adds the versions that are offered, the newest first, each with the URL of its page.
func (p *page) versions(listing registry.Listing, url func(registry.Version) string) {
	var lines []string
	more := 0
	offered := make([]registry.Listed, 0, len(listing))
	for listed := range listing.Offered() {
		offered = append(offered, listed)
	}
	for i := len(offered) - 1; i >= 0; i-- {
		if len(lines) == MaxVersions {
			more = i + 1
			break
		}
		line := fmt.Sprintf("[%s](%s)", text(offered[i].Version.String()), url(offered[i].Version))
		if offered[i].Standing.State != "" {
			line += " " + status(offered[i].Standing)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d older ones", more))
	}
	p.heading(2, "Versions")
	p.list(lines)
}

// problems adds what could not be read.
func (p *page) problems(problems []string) {
	if len(problems) == 0 {
		return
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = start(problem)
	}
	p.heading(2, "What could not be read")
	p.list(lines)
}

// newer names the newest version, if it is another one.
func newer(listing registry.Listing, shown registry.Version, url func(registry.Version) string) string {
	newest, ok := listing.Newest()
	if !ok || newest.Version.Compare(shown) == 0 {
		return ""
	}
	return fmt.Sprintf(" (the newest is [%s](%s))", text(newest.Version.String()), url(newest.Version))
}
