package pages

import (
	"net/url"
	"strings"
)

// escape is a segment of a path.
func escape(segment string) string {
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(url.PathEscape(segment))
}

// LLMs is /llms.txt, in the form of llmstxt.org: what the registry is, and how an assistant
// asks it. It is the same for everybody, and names nothing that is published: a caller who
// may read something asks for it.
func LLMs(host string) string {
	at := "https://" + host
	p := newPage()
	p.heading(1, "Larder at %s", text(host))
	p.paragraph("> A private registry of modules and providers for Terraform and OpenTofu.")
	p.paragraph("What it has is in no public registry. Ask it before you write a `module` block or a `required_providers` block for its hostname: the pages say which inputs a module takes, and which versions there are.")
	p.paragraph("If the registry is not open to everybody, send a token as `Authorization: Bearer TOKEN`. It is the one that Terraform and OpenTofu have for this hostname. What a token may not read is not found.")
	p.paragraph("In a configuration, the source of a module is `%s/NAMESPACE/NAME/SYSTEM`, and that of a provider `%[1]s/NAMESPACE/TYPE`.", host)
	p.heading(2, "Ask")
	p.list([]string{
		"[Tools](" + at + "/mcp): the same as tools of the Model Context Protocol, by HTTP POST",
		"[Modules](" + at + "/v1/modules): a list, as JSON. Take `?offset=` from `next_url`",
		"[Search](" + at + "/v1/modules/search?q=network): modules by their names, descriptions, inputs, outputs and resources",
		"[Providers](" + at + "/v1/providers): a list, as JSON",
	})
	p.heading(2, "Read")
	p.list([]string{
		"Newest version of a module: `" + at + "/v1/modules/NAMESPACE/NAME/SYSTEM.md`",
		"One version of a module: `" + at + "/v1/modules/NAMESPACE/NAME/SYSTEM/VERSION.md`",
		"Newest version of a provider, with links to its pages: `" + at + "/v1/providers/NAMESPACE/TYPE.md`",
		"One version of a provider: `" + at + "/v1/providers/NAMESPACE/TYPE/VERSION.md`",
		"A page of a provider: `" + at + "/v1/providers/NAMESPACE/TYPE/VERSION/docs/CATEGORY/SLUG.md`",
		"All versions: `" + at + "/v1/modules/NAMESPACE/NAME/SYSTEM/versions` and `" + at + "/v1/providers/NAMESPACE/TYPE/versions`",
	})
	return p.end(at)
}
