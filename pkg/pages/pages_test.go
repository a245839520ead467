package pages

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	markdown "github.com/yuin/goldmark/text"
)

var write = flag.Bool("write", false, "write the golden files")

// golden compares a page with a file that somebody has looked at.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *write {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (go test -write ./pkg/pages renews it): %v\n%s", name, err, got)
	}
}

func version(t *testing.T, s string) registry.Version {
	t.Helper()
	v, err := registry.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var published = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// network is a module that has one of everything.
func network(t *testing.T) Module {
	t.Helper()
	return Module{
		Host: "registry.example.com",
		Module: browse.Module{
			State: registry.ModuleVersion{
				Address: registry.ModuleAddress{Namespace: "acme", Name: "network", System: "aws"}, Version: version(t, "1.2.3"), Revision: 1, Published: published,
				Archive:  registry.ModuleArchive{Format: "tar.gz", SHA256: strings.Repeat("ab", 32), H1: "h1:abc=", Size: 1234, Source: "https://git.example.com/acme/network"},
				Standing: registry.Standing{State: registry.Deprecated, Message: "Use 2.0.0: it has *better* names."},
			},
			Listing: registry.Listing{
				{Version: version(t, "1.0.0"), Standing: registry.Standing{State: registry.Withdrawn}},
				{Version: version(t, "1.2.3"), Standing: registry.Standing{State: registry.Deprecated, Message: "Use 2.0.0: it has *better* names."}},
				{Version: version(t, "2.0.0")}, {Version: version(t, "3.0.0-rc.1")},
			},
			Contents: contents.Module{
				Root: contents.Part{
					Readme: "# Network\n\nIt makes a network.\n\n```hcl\nmodule \"network\" {}\n```\n\n## Inputs\n\nSee above.\n",
					Inputs: []contents.Input{
						{Name: "cidr_block", Type: "string", Description: "The range, such as `10.0.0.0/16`.", Required: true,
							Validations: []contents.Validation{{Condition: `can(cidrhost(var.cidr_block, 0))`, Message: "It must be a CIDR block."}}},
						{Name: "password", Type: "string", Default: `null`, Sensitive: true, Ephemeral: true, NotNullable: true, Deprecated: "Use secrets."},
						{Name: "subnets", Type: "list(object({\n  name = string\n  cidr = string\n  zone = optional(string, \"a|b\")\n}))", Default: "[]", Description: "The subnets."},
						{Name: "tags", Type: "map(string)", Default: `{"a":"b|c"}`, Description: strings.Repeat("All resources get these tags. ", 15)},
					},
					Outputs:   []contents.Output{{Name: "id", Description: "The network's ID."}, {Name: "key", Sensitive: true, Deprecated: "Use id."}},
					Resources: []contents.Resource{{Mode: contents.Managed, Type: "aws_vpc", Name: "this"}, {Mode: contents.Data, Type: "aws_region", Name: "current"}},
					Calls:     []contents.Call{{Name: "subnets", Source: "./modules/subnet"}, {Name: "dns", Source: "registry.example.com/acme/dns/aws", Version: "~> 1.0"}},
					Providers: []contents.Requirement{{Name: "aws", Source: "hashicorp/aws", Versions: []string{">= 5.0", "< 7.0"}, Aliases: []string{"aws.other"}}},
					Versions:  []string{">= 1.5"},
				},
				Submodules: []contents.Part{{Path: "modules/subnet", Name: "subnet", Readme: "# Subnet\n\nOne subnet.\n", Inputs: []contents.Input{{Name: "name", Type: "string", Required: true}}}},
				Examples:   []contents.Part{{Path: "examples/complete", Name: "complete", Calls: []contents.Call{{Name: "network", Source: "../.."}}}, {Path: "examples/none", Name: "none", Empty: true}},
				Problems:   []string{"broken.tf, line 3: an argument or block definition is required."},
			},
		},
	}
}

// widget is a provider that has one of everything.
func widget(t *testing.T) Provider {
	t.Helper()
	return Provider{
		Host: "registry.example.com",
		Provider: browse.Provider{
			State: registry.ProviderVersion{
				Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}, Version: version(t, "1.0.0"), Revision: 3, Published: published,
				Packages: []registry.Package{
					{Platform: registry.Platform{OS: "darwin", Arch: "arm64"}, Sequence: 1, Protocols: []string{"5.0", "6.0"}, Source: "https://git.example.com/acme/widget"},
					{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, Sequence: 2},
				},
				Release: &registry.Release{Author: true, Keys: []registry.SigningKey{{KeyID: "0123456789ABCDEF"}}, Sequence: 3},
			},
			Listing: registry.Listing{{Version: version(t, "0.9.0")}, {Version: version(t, "1.0.0")}},
			Contents: contents.Provider{
				Pages: []contents.Page{
					{Category: contents.Overview, Slug: "index", Title: "Widget Provider", Description: "Manages\nwidgets."},
					{Category: contents.Guides, Slug: "first steps (1)", Title: "First steps"},
					{Category: contents.Resources, Slug: "thing", Title: "widget_thing (Resource)", Subcategory: "Things"},
				},
				Problems: []string{"docs/resources/big.md has 600000 bytes, and 500000 are read."},
			},
		},
	}
}

func TestPages(t *testing.T) {
	m, p := network(t), widget(t)
	golden(t, "module.md", m.Markdown())
	part, ok := m.Part("modules/subnet")
	if _, example := m.Part("examples/complete"); !ok || !example {
		t.Error("a part has no page")
	}
	golden(t, "submodule.md", part)
	if _, ok := m.Part("modules"); ok {
		t.Error("there is a page of a part that is not there")
	}
	golden(t, "provider.md", p.Markdown())
	golden(t, "page.md", p.Page(p.Contents.Pages[2], "\n# widget_thing\r\n\nA thing.\n"))
	golden(t, "llms.txt", LLMs("registry.example.com"))
	golden(t, "empty.md", Module{Host: "registry.example.com", Module: browse.Module{State: registry.ModuleVersion{
		Address: registry.ModuleAddress{Namespace: "acme", Name: "1st", System: "aws"}, Version: version(t, "1.0.0")}}}.Markdown())
}

// hostile are texts that would be markup, if they could.
var hostile = []string{
	"a | b", "`", "``` ```", "\n# heading", "\n\n---\n\n## Inputs\n\n| a | b |\n|---|---|\n", "- item", "1. item", "1) item", "===", "> quote",
	"<script>alert(1)</script>", "<!-- ", "[x](javascript:1)", "![x](http://127.0.0.1/)", "*a* _b_ __c__ ~~d~~", "&lt;b&gt;", `\`, `\|`, "`\\|`", "a\\`|`b",
	"~~~", "    code", "\ttab", "\x00\x1b[31m\u202e", "\xff\xfe", "[a]: http://127.0.0.1", "\u2028## x", "|", "```\n## x\n```", "> ```\n## x", "</details>", "$x$", "+ a", "# a",
}

// poison is a module every text of which is one text, but for those that others have checked.
func poison(t *testing.T, with string) Module {
	t.Helper()
	m := network(t)
	for _, part := range []*contents.Part{&m.Contents.Root, &m.Contents.Submodules[0], &m.Contents.Examples[0]} {
		part.Readme = with
		for i := range part.Inputs {
			in := &part.Inputs[i]
			in.Name, in.Type, in.Default, in.Description, in.Deprecated = with, with, with, with, with
			for j := range in.Validations {
				in.Validations[j] = contents.Validation{Condition: with, Message: with}
			}
		}
		for i := range part.Outputs {
			part.Outputs[i] = contents.Output{Name: with, Description: with, Deprecated: with}
		}
		for i := range part.Resources {
			part.Resources[i] = contents.Resource{Mode: contents.ResourceMode(with), Type: with, Name: with}
		}
		for i := range part.Calls {
			part.Calls[i] = contents.Call{Name: with, Source: with, Version: with}
		}
		for i := range part.Providers {
			part.Providers[i] = contents.Requirement{Name: with, Source: with, Versions: []string{with}, Aliases: []string{with}}
		}
		part.Versions = []string{with}
	}
	m.Contents.Submodules[0].Path, m.Contents.Submodules[0].Name = with, with
	m.Contents.Problems = []string{with}
	m.State.Standing.Message = with
	m.Listing[1].Standing.Message = with
	return m
}

// structure is what a page is made of, as a reader of Markdown sees it: headings, rows and
// cells of tables, items of lists, links and images, raw HTML.
func structure(source string) map[string]int {
	tree := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(markdown.NewReader([]byte(source)))
	found := map[string]int{}
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Blockquote:
			found["quotation"]++
			return ast.WalkSkipChildren, nil
		case *ast.Heading:
			found["heading "+strings.Repeat("#", n.Level)]++
		case *tables.TableRow, *tables.TableCell, *tables.Table, *ast.ListItem, *ast.Link, *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.FencedCodeBlock, *ast.ThematicBreak, *ast.AutoLink, *ast.CodeBlock:
			found[n.Kind().String()]++
		}
		return ast.WalkContinue, nil
	})
	return found
}

// What publishers write cannot change what a page is made of.
func TestNothingBreaksOut(t *testing.T) {
	for _, long := range []int{1, 100} {
		want := structure(poison(t, strings.Repeat("word ", long)).Markdown())
		for _, with := range hostile {
			if long > 1 {
				with = strings.Repeat(with+" word ", long)
			}
			m := poison(t, with)
			if got := structure(m.Markdown()); !equal(got, want) {
				t.Errorf("with %.40q (%d times) the page is %v, want %v\n%.3000s", with, long, got, want, m.Markdown())
			}
			if strings.ContainsAny(m.Markdown(), "\x00\x1b\u202e") {
				t.Errorf("with %.40q the page has invisible characters", with)
			}
		}
	}
}

func equal(a, b map[string]int) bool {
	for key := range b {
		if _, ok := a[key]; !ok {
			return false
		}
	}
	for key, n := range a {
		if b[key] != n {
			return false
		}
	}
	return true
}

func TestNothingBreaksOutOfAProvider(t *testing.T) {
	page := func(with string) string {
		p := widget(t)
		for i := range p.Contents.Pages {
			q := &p.Contents.Pages[i]
			q.Slug, q.Title, q.Subcategory, q.Description = with, with+" ", with, with
		}
		p.Contents.Problems = []string{with}
		return p.Markdown()
	}
	want := structure(page("word"))
	for _, with := range hostile {
		if got := structure(page(with)); !equal(got, want) {
			t.Errorf("with %q the page is %v, want %v\n%s", with, got, want, page(with))
		}
	}
}

// A page has an end, whatever a module has, and says what it leaves out.
func TestAPageHasAnEnd(t *testing.T) {
	m := network(t)
	for range 2000 {
		m.Contents.Root.Inputs = append(m.Contents.Root.Inputs, contents.Input{Name: "a", Type: strings.Repeat("x", 16<<10)})
	}
	got := m.Markdown()
	if len(got) > MaxPage || !strings.HasSuffix(got, "too large. The whole is at <https://registry.example.com/v1/modules/acme/network/aws/1.2.3>\n") {
		t.Errorf("%d bytes, ends with %q", len(got), got[max(0, len(got)-200):])
	}
	if provider := widget(t); len(provider.Page(provider.Contents.Pages[0], strings.Repeat("y", MaxPage))) > MaxPage {
		t.Error("a page of a provider has no end")
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<10 { // the reader of Markdown in this test takes long for such
			return
		}
		p := newPage()
		p.heading(2, "A %s", code(s))
		p.paragraph("%s", start(s))
		p.table([]string{"a", "b"}, [][]string{{codeCell(s), text(s)}})
		p.list([]string{start(s)})
		p.paragraph("%s", block("hcl", s))
		p.paragraph("%s", quoted(s))
		p.heading(2, "End")
		got := structure(p.end("x"))
		for kind, want := range map[string]int{"heading ##": 2, "Table": 1, "TableRow": 1, "TableCell": 4, "ListItem": 1, "FencedCodeBlock": 1, "quotation": 1, "Link": 0, "Image": 0, "RawHTML": 0, "HTMLBlock": 0} {
			if got[kind] != want {
				t.Errorf("%q makes %d of %s, want %d\n%s", s, got[kind], kind, want, p.text.String())
			}
		}
	})
}
