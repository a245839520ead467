package pages

import (
	"fmt"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// Provider is a version of a provider, as its page shows it.
type Provider struct {
	Host string // of the registry, as in source addresses
	browse.Provider
}

// base is where the documents of a version are.
func (m Provider) base(v registry.Version) string {
	return "https://" + m.Host + "/v1/providers/" + m.State.Address.String() + "/" + v.String()
}

func (m Provider) url(v registry.Version) string { return m.base(v) + ".md" }

// Markdown is the page of the provider version: how to require it, and its pages.
func (m Provider) Markdown() string {
	p := newPage()
	p.heading(1, "Provider %s %s", text(m.State.Address.String()), text(m.State.Version.String()))
	m.facts(p)
	p.heading(2, "Usage")
	p.paragraph("%s", block("hcl", m.usage()))
	m.pages(p)
	p.versions(m.Listing, m.url)
	p.problems(m.Contents.Problems)
	return p.end(m.base(m.State.Version))
}

// facts adds what is known of the version as a whole.
func (m Provider) facts(p *page) {
	lines := []string{
		"Version: " + text(m.State.Version.String()) + newer(m.Listing, m.State.Version, m.url),
		"Status: " + status(m.State.Standing),
	}
	if !m.State.Published.IsZero() {
		lines = append(lines, "Published: "+m.State.Published.UTC().Format(time.RFC3339))
	}
	if source := m.State.Source(); source != "" {
		lines = append(lines, "Source: "+link(source))
	}
	listed := m.State.Listed()
	platforms := make([]string, 0, len(listed.Platforms))
	for _, platform := range listed.Platforms {
		platforms = append(platforms, code(platform.String()))
	}
	lines = append(lines, "Platforms: "+strings.Join(platforms, ", "), "Plugin protocols: "+text(strings.Join(listed.Protocols, ", ")))
	if m.State.Release != nil {
		lines = append(lines, "Signed by: "+signer(*m.State.Release))
	}
	p.list(append(lines, "As JSON: "+link(m.base(m.State.Version))))
}

// signer says whose keys signed a release.
func signer(release registry.Release) string {
	keys := make([]string, 0, len(release.Keys))
	for _, key := range release.Keys {
		keys = append(keys, code(key.KeyID))
	}
	whose := "the registry"
	if release.Author {
		whose = "its author"
	}
	return whose + ", key " + strings.Join(keys, ", ")
}

// usage is the block that requires the provider.
func (m Provider) usage() string {
	a := m.State.Address
	return fmt.Sprintf("terraform {\n  required_providers {\n    %s = {\n      source  = %q\n      version = %q\n    }\n  }\n}",
		a.Type, m.Host+"/"+a.String(), m.State.Version)
}

// titles are the headings of the categories, in the order of the page.
var titles = []struct {
	category contents.Category
	title    string
}{
	{contents.Overview, "Overview"}, {contents.Guides, "Guides"}, {contents.Resources, "Resources"},
	{contents.DataSources, "Data sources"}, {contents.Functions, "Functions"}, {contents.EphemeralResources, "Ephemeral resources"},
	{contents.Actions, "Actions"}, {contents.ListResources, "List resources"}, {contents.StateStores, "State stores"},
}

// pages adds links to the pages of the documentation.
func (m Provider) pages(p *page) {
	for _, c := range titles {
		var lines []string
		for _, page := range m.Contents.Pages {
			if page.Category == c.category {
				lines = append(lines, m.entry(page))
			}
		}
		if len(lines) > 0 {
			p.heading(2, "%s", c.title)
			p.list(lines)
		}
	}
}

// entry is a line for a page: where it is, and what it is about.
func (m Provider) entry(page contents.Page) string {
	line := fmt.Sprintf("[%s](%s)", text(page.Slug), m.pageURL(page))
	if title := shortened(oneLine(page.Title), longText); title != "" && title != page.Slug {
		line += " " + text(title)
	}
	if page.Subcategory != "" {
		line += " (" + text(shortened(page.Subcategory, longText)) + ")"
	}
	if page.Description != "" {
		line += ": " + text(shortened(oneLine(page.Description), longText))
	}
	return line
}

func (m Provider) pageURL(page contents.Page) string {
	return m.base(m.State.Version) + "/docs/" + escape(string(page.Category)) + "/" + escape(page.Slug) + ".md"
}

// Page is one page of the provider's documentation, with its Markdown, which comes last and
// as its author wrote it.
func (m Provider) Page(of contents.Page, markdown string) string {
	p := newPage()
	p.heading(1, "%s of provider %s %s", text(string(of.Category)+"/"+of.Slug), text(m.State.Address.String()), text(m.State.Version.String()))
	p.list([]string{
		"Version: " + text(m.State.Version.String()) + newer(m.Listing, m.State.Version, m.url),
		"Status: " + status(m.State.Standing),
		"Other pages: " + link(m.url(m.State.Version)),
	})
	p.paragraph("---")
	p.write(strings.Trim(visible(markdown), "\n") + "\n")
	return p.end(strings.TrimSuffix(m.pageURL(of), ".md"))
}
