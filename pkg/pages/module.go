package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// Module is a version of a module, as its page shows it.
type Module struct {
	Host string // of the registry, as in source addresses
	browse.Module
}

// url is the page of a version.
func (m Module) url(v registry.Version) string {
	return "https://" + m.Host + "/v1/modules/" + m.State.Address.String() + "/" + v.String() + ".md"
}

// json is the same as a JSON document.
func (m Module) json() string { return strings.TrimSuffix(m.url(m.State.Version), ".md") }

// Markdown is the page of the module version: how to use it, its interface, and its README.
func (m Module) Markdown() string {
	p := newPage()
	p.heading(1, "Module %s %s", text(m.State.Address.String()), text(m.State.Version.String()))
	m.facts(p)
	p.heading(2, "Usage")
	p.paragraph("%s", block("hcl", m.usage(m.Contents.Root)))
	p.part(2, m.Contents.Root)
	m.parts(p, "Submodules", m.Contents.Submodules)
	m.parts(p, "Examples", m.Contents.Examples)
	p.versions(m.Listing, m.url)
	p.problems(m.Contents.Problems)
	p.readme(m.Contents.Root)
	return p.end(m.json())
}

// Part is the page of one submodule or example, by its path, if there is one.
func (m Module) Part(path string) (markdown string, ok bool) {
	for _, part := range slices.Concat(m.Contents.Submodules, m.Contents.Examples) {
		if part.Path != path {
			continue
		}
		p := newPage()
		p.heading(1, "%s of module %s %s", code(part.Path), text(m.State.Address.String()), text(m.State.Version.String()))
		m.facts(p)
		if slices.ContainsFunc(m.Contents.Submodules, func(s contents.Part) bool { return s.Path == path }) {
			p.heading(2, "Usage")
			p.paragraph("%s", block("hcl", m.usage(part)))
		}
		p.part(2, part)
		p.readme(part)
		return p.end(m.json()), true
	}
	return "", false
}

// facts adds what is known of the version as a whole.
func (m Module) facts(p *page) {
	lines := []string{
		"Version: " + text(m.State.Version.String()) + newer(m.Listing, m.State.Version, m.url),
		"Status: " + status(m.State.Standing),
	}
	if !m.State.Published.IsZero() {
		lines = append(lines, "Published: "+m.State.Published.UTC().Format(time.RFC3339))
	}
	if m.State.Archive.Source != "" {
		lines = append(lines, "Source: "+link(m.State.Archive.Source))
	}
	if m.State.Archive.H1 != "" {
		lines = append(lines, fmt.Sprintf("Archive: %s, %d bytes, sha256 %s, %s", text(m.State.Archive.Format),
			m.State.Archive.Size, code(m.State.Archive.SHA256), code(m.State.Archive.H1)))
	}
	lines = append(lines, "As JSON: "+link(m.json()))
	p.list(lines)
}

// usage is the block that calls a part, with its required inputs as comments.
func (m Module) usage(part contents.Part) string {
	source := m.Host + "/" + m.State.Address.String()
	label := m.State.Address.Name
	if part.Path != "" {
		source += "//" + part.Path
		label = part.Name
	}
	if !isIdentifier(label) {
		label = "this"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "module %q {\n  source  = %q\n  version = %q\n", label, source, m.State.Version)
	said := false
	for _, input := range part.Inputs {
		if !input.Required || !isIdentifier(input.Name) {
			continue
		}
		if !said {
			b.WriteString("\n  # Required:\n")
			said = true
		}
		fmt.Fprintf(&b, "  # %s = %s\n", input.Name, shortened(oneLine(input.Type), 100))
	}
	b.WriteString("}")
	return b.String()
}

// isIdentifier says whether a name can stand in HCL as it is.
func isIdentifier(name string) bool {
	for i, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '-')) {
			return false
		}
	}
	return name != ""
}

// parts adds submodules or examples, without their READMEs.
func (m Module) parts(p *page, title string, parts []contents.Part) {
	if len(parts) == 0 {
		return
	}
	p.heading(2, "%s", title)
	for _, part := range parts {
		p.heading(3, "%s", code(part.Path))
		if part.Empty {
			p.paragraph("It has no configuration.")
			continue
		}
		p.part(4, part)
	}
}

// part adds the interface of a part, and what it is made of.
func (p *page) part(level int, part contents.Part) {
	p.inputs(level, part.Inputs)
	p.outputs(level, part.Outputs)
	if rows := requirements(part); len(rows) > 0 {
		p.heading(level, "Requirements")
		p.table([]string{"Name", "Source", "Versions", "Aliases"}, rows)
	}
	if len(part.Resources) > 0 {
		p.heading(level, "Resources")
		rows := make([][]string, 0, len(part.Resources))
		for _, r := range part.Resources {
			rows = append(rows, []string{text(string(r.Mode)), codeCell(r.Type), codeCell(r.Name)})
		}
		p.table([]string{"Mode", "Type", "Name"}, rows)
	}
	if len(part.Calls) > 0 {
		p.heading(level, "Modules that it calls")
		rows := make([][]string, 0, len(part.Calls))
		for _, c := range part.Calls {
			rows = append(rows, []string{codeCell(c.Name), codeCell(c.Source), codeCell(c.Version)})
		}
		p.table([]string{"Name", "Source", "Version"}, rows)
	}
}

// requirements are the client's versions and the providers that a part needs.
func requirements(part contents.Part) (rows [][]string) {
	if len(part.Versions) > 0 {
		rows = append(rows, []string{"terraform", "", codeCell(strings.Join(part.Versions, ", ")), ""})
	}
	for _, r := range part.Providers {
		rows = append(rows, []string{codeCell(r.Name), codeCell(r.Source), codeCell(strings.Join(r.Versions, ", ")), codeCell(strings.Join(r.Aliases, ", "))})
	}
	return rows
}

// From these lengths on, in characters, a text is below the table instead of in it.
const (
	longCode = 60
	longText = 300
)

// inputs adds a table of inputs, and below it what is too long for a cell.
func (p *page) inputs(level int, inputs []contents.Input) {
	if len(inputs) == 0 {
		return
	}
	p.heading(level, "Inputs")
	rows := make([][]string, 0, len(inputs))
	for _, in := range inputs {
		rows = append(rows, []string{codeCell(in.Name), codeOrBelow(in.Type), codeOrBelow(in.Default), yes(in.Required), notes(in), textOrBelow(in.Description)})
	}
	p.table([]string{"Name", "Type", "Default", "Required", "Notes", "Description"}, rows)
	for _, in := range inputs {
		p.inputBelow(level+1, in)
	}
}

// inputBelow adds what the table has no room for.
func (p *page) inputBelow(level int, in contents.Input) {
	if !isLong(in.Type, longCode) && !isLong(in.Default, longCode) && !isLong(in.Description, longText) && len(in.Validations) == 0 {
		return
	}
	p.heading(level, "Input %s", code(in.Name))
	if isLong(in.Description, longText) {
		p.paragraph("%s", quoted(in.Description))
	}
	if isLong(in.Type, longCode) {
		p.paragraph("Type:")
		p.paragraph("%s", block("hcl", in.Type))
	}
	if isLong(in.Default, longCode) {
		p.paragraph("Default:")
		p.paragraph("%s", block("json", in.Default))
	}
	rules := make([]string, 0, len(in.Validations))
	for _, v := range in.Validations {
		rules = append(rules, "Rule: "+text(v.Message)+" ("+code(v.Condition)+")")
	}
	p.list(rules)
}

// outputs adds a table of outputs, and below it what is too long for a cell.
func (p *page) outputs(level int, outputs []contents.Output) {
	if len(outputs) == 0 {
		return
	}
	p.heading(level, "Outputs")
	rows := make([][]string, 0, len(outputs))
	for _, out := range outputs {
		rows = append(rows, []string{codeCell(out.Name), flags(out.Sensitive, out.Ephemeral, false, out.Deprecated), textOrBelow(out.Description)})
	}
	p.table([]string{"Name", "Notes", "Description"}, rows)
	for _, out := range outputs {
		if isLong(out.Description, longText) {
			p.heading(level+1, "Output %s", code(out.Name))
			p.paragraph("%s", quoted(out.Description))
		}
	}
}

// readme adds a README, at the end of a page.
func (p *page) readme(part contents.Part) {
	if strings.TrimSpace(part.Readme) == "" {
		return
	}
	p.heading(2, "README")
	p.paragraph("%s", quoted(part.Readme))
}

// isLong says whether a text does not fit into a cell. A long text in several lines does
// not; a short one is put into one line.
func isLong(s string, from int) bool { return utf8.RuneCountInString(oneLine(s)) > from }

const below = "*below*"

func codeOrBelow(s string) string {
	if isLong(s, longCode) {
		return below
	}
	return codeCell(s)
}

func textOrBelow(s string) string {
	if isLong(s, longText) {
		return below
	}
	return text(s)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func notes(in contents.Input) string {
	return flags(in.Sensitive, in.Ephemeral, in.NotNullable, in.Deprecated)
}

func flags(sensitive, ephemeral, notNullable bool, deprecated string) string {
	var all []string
	for _, flag := range []struct {
		set  bool
		name string
	}{{sensitive, "sensitive"}, {ephemeral, "ephemeral"}, {notNullable, "not null"}} {
		if flag.set {
			all = append(all, flag.name)
		}
	}
	if deprecated != "" {
		all = append(all, "deprecated: "+text(deprecated))
	}
	return strings.Join(all, ", ")
}
