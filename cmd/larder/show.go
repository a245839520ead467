package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/registryclient"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/spf13/cobra"
)

func newShowCommand() *cobra.Command {
	var host, version, part, page string
	var asJSON, asMarkdown bool
	command := &cobra.Command{
		Use:   "show ADDRESS",
		Short: "Show what a module takes and gives, or what a provider has",
		Long: `Show a version of a module or a provider: of a module its inputs, outputs, providers
and resources; of a provider its platforms and the pages of its documentation. Without
--version it is the newest. --page writes one of these pages, as Markdown.
` + whichReader,
		Example: `  larder show acme/network/aws
  larder show acme/network/aws --version 1.2.3 --part modules/subnet
  larder show acme/widget --registry registry.example.com --markdown
  larder show acme/widget --page resources/box
  larder show acme/network/aws --json`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := parseShown(args[0], version)
			if err != nil {
				return err
			}
			reader, err := newReader(cmd, host)
			if err != nil {
				return err
			}
			if page != "" {
				return showPage(cmd, reader, address, version, page)
			}
			if asMarkdown {
				page, err := reader.Markdown(cmd.Context(), address, version)
				if err != nil {
					return reader.explain(err)
				}
				return writeLines(cmd.OutOrStdout(), page)
			}
			details, document, err := reader.Show(cmd.Context(), address, version)
			if err != nil {
				return reader.explain(err)
			}
			return show(cmd, asJSON, document, func(out io.Writer) error { return writeDetails(out, address, details, part) })
		},
	}
	addReaderFlag(command, &host)
	flags := command.Flags()
	flags.StringVar(&version, "version", "", "this `version`; without it, the newest")
	flags.StringVar(&part, "part", "", "of a module, the submodule or example at this `path`, like modules/subnet")
	flags.StringVar(&page, "page", "", "of a provider, the `page` of its documentation, like resources/box")
	flags.BoolVar(&asMarkdown, "markdown", false, "write the whole page as Markdown, with the README")
	flags.BoolVar(&asJSON, "json", false, "write the registry's document as it is")
	checkFlags(command, notTogether("json", "markdown"), notTogether("json", "part"), notTogether("markdown", "part"),
		notTogether("page", "part"), notTogether("page", "json"), notTogether("page", "markdown"))
	return command
}

// showPage writes one page of a provider's documentation.
func showPage(cmd *cobra.Command, reader *reader, address, version, page string) error {
	if strings.Count(address, "/") != 1 {
		return fmt.Errorf("--page is for providers: %s is a module", address)
	}
	if category, slug, ok := strings.Cut(page, "/"); !ok || category == "" || slug == "" {
		return fmt.Errorf("--page: %q is not a page: give category/slug, as larder show %s lists them", page, address)
	}
	if version == "" {
		newest, _, err := reader.Show(cmd.Context(), address, "")
		if err != nil {
			return reader.explain(err)
		}
		version = newest.Version
	}
	text, err := reader.Page(cmd.Context(), address, version, page)
	if err != nil {
		return reader.explain(err)
	}
	return writeLines(cmd.OutOrStdout(), text)
}

// parseShown checks what is asked for, and returns the address as the registry has it.
func parseShown(text, version string) (string, error) {
	if version != "" {
		if _, err := registry.ParseVersion(version); err != nil {
			return "", fmt.Errorf("--version: %w", err)
		}
	}
	a, err := registry.ParseAddress(registry.Modules, text)
	if strings.Count(text, "/") == 1 {
		a, err = registry.ParseAddress(registry.Providers, text)
	} else if at := strings.LastIndex(text, "/"); strings.Count(text, "/") == 3 && isVersion(text[at+1:]) {
		return "", fmt.Errorf("%q has a version in it: write %s --version %s", text, text[:at], text[at+1:])
	} else if strings.Count(text, "/") != 2 {
		return "", fmt.Errorf("%q is not an address: give namespace/name/system of a module, or namespace/type of a provider", text)
	}
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

func isVersion(text string) bool {
	_, err := registry.ParseVersion(text)
	return err == nil
}

// writeLines writes a text of others with its lines, and without what a terminal would obey.
func writeLines(out io.Writer, text string) error {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
		if _, err := fmt.Fprintln(out, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

// section is a part of what is shown: a table.
type section struct {
	head string
	rows []string
}

func (s *section) add(cells ...string) { s.rows = append(s.rows, strings.Join(cells, "\t")) }

func writeDetails(out io.Writer, address string, d *registryclient.Details, path string) error {
	part := d.Root
	if path != "" {
		found := false
		for _, p := range slices.Concat(d.Submodules, d.Examples) {
			if p.Path == path {
				part, found = p, true
			}
		}
		if !found {
			return fmt.Errorf("%s %s has no submodule or example %q", address, printable.Text(d.Version), path)
		}
	}
	if err := writeFacts(out, address, d); err != nil {
		return err
	}
	sections := partSections(part)
	if path == "" {
		sections = append(sections, otherSections(d)...)
	}
	for _, s := range sections {
		if err := writeSection(out, s); err != nil {
			return err
		}
	}
	return nil
}

// maxListed is how many versions are named.
const maxListed = 10

// writeFacts writes what is known of the version as a whole.
func writeFacts(out io.Writer, address string, d *registryclient.Details) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "%s %s\n", address, cell(d.Version, wideAddress))
	status := d.Larder.Status
	if d.Larder.Message != "" {
		status += ": " + d.Larder.Message
	}
	var platforms []string
	for _, p := range d.Larder.Packages {
		platforms = append(platforms, p.OS+"_"+p.Arch)
	}
	signer := d.Larder.Signer
	if len(d.Larder.Keys) > 0 {
		signer += ", key " + strings.Join(d.Larder.Keys, ", ")
	}
	for _, fact := range [][2]string{{"status", status}, {"published", d.Published}, {"source", d.Source}, {"platforms", strings.Join(platforms, " ")}, {"signed by", signer}, {"versions", versionsOf(d)}, {"about", d.Description}} {
		if fact[1] != "" {
			_, failed := fmt.Fprintf(table, "  %s\t%s\n", fact[0], cell(fact[1], 1000))
			err = errors.Join(err, failed)
		}
	}
	return errors.Join(err, table.Flush())
}

// versionsOf names the newest versions, and says which of them are deprecated.
func versionsOf(d *registryclient.Details) string {
	named := slices.Clone(d.Versions[:min(len(d.Versions), maxListed)])
	for i, v := range named {
		if slices.Contains(d.Larder.DeprecatedVersions, v) {
			named[i] += " (deprecated)"
		}
	}
	versions := strings.Join(named, ", ")
	if more := len(d.Versions) - maxListed; more > 0 {
		versions += fmt.Sprintf(", and %d more", more)
	}
	return versions
}

// partSections are the interface of a part, and what it needs.
func partSections(p registryclient.Part) []section {
	inputs := section{head: "INPUT\tTYPE\tDEFAULT\tDESCRIPTION"}
	for _, in := range p.Inputs {
		value := cell(in.Default, wideWord)
		if in.Required {
			value = "(required)"
		}
		inputs.add(cell(in.Name, wideAddress), cell(in.Type, wideWord), value, cell(marked(in.Larder, in.Description), wideText))
	}
	outputs := section{head: "OUTPUT\tDESCRIPTION"}
	for _, o := range p.Outputs {
		outputs.add(cell(o.Name, wideAddress), cell(marked(o.Larder, o.Description), wideText))
	}
	providers := section{head: "PROVIDER\tSOURCE\tVERSIONS"}
	for _, r := range p.Providers {
		providers.add(cell(r.Name, wideAddress), cell(r.Source, wideAddress), cell(r.Version, wideText))
	}
	calls := section{head: "CALLS\tSOURCE\tVERSION"}
	for _, c := range p.Dependencies {
		calls.add(cell(c.Name, wideAddress), cell(c.Source, wideAddress), cell(c.Version, wideText))
	}
	resources := section{head: "RESOURCE\tNAME"}
	for _, r := range p.Resources {
		resources.add(cell(r.Type, wideAddress), cell(r.Name, wideAddress))
	}
	return []section{inputs, outputs, providers, calls, resources}
}

// marked is a description after what one must know first. A deprecation has its message.
func marked(m registryclient.Marks, description string) string {
	var marks []string
	if m.Sensitive {
		marks = append(marks, "sensitive")
	}
	if m.Ephemeral {
		marks = append(marks, "ephemeral")
	}
	if m.Deprecated != "" {
		marks = append(marks, "deprecated: "+m.Deprecated)
	}
	if len(marks) == 0 {
		return description
	}
	return "(" + strings.Join(marks, ", ") + ") " + description
}

// otherSections are the parts of a module, the pages of a provider, and what could not be read.
func otherSections(d *registryclient.Details) []section {
	parts := section{head: "SUBMODULE OR EXAMPLE\tINPUTS\tOUTPUTS"}
	for _, p := range slices.Concat(d.Submodules, d.Examples) {
		parts.add(cell(p.Path, wideAddress), fmt.Sprint(len(p.Inputs)), fmt.Sprint(len(p.Outputs)))
	}
	pages := section{head: "PAGE\tTITLE"}
	for _, p := range d.Docs {
		pages.add(cell(p.ID, wideAddress), cell(p.Title, wideText))
	}
	problems := section{head: "NOT READ"}
	for _, p := range d.Larder.Problems {
		problems.add(cell(p, 1000))
	}
	return []section{parts, pages, problems}
}

// writeSection writes a table after an empty line, or nothing if it has no rows.
func writeSection(out io.Writer, s section) error {
	if len(s.rows) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "\n%s\n%s\n", s.head, strings.Join(s.rows, "\n"))
	return errors.Join(err, table.Flush())
}
