package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/registryclient"
	"github.com/spf13/cobra"
)

// mostFound is how many entries a registry answers with at most.
const mostFound = 100

func newSearchCommand() *cobra.Command {
	var host, kind, namespace string
	var limit int
	var asJSON bool
	command := &cobra.Command{
		Use:   "search TEXT...",
		Short: "Find modules and providers",
		Long: `Find modules and providers of a registry by words. Each word is looked for in
addresses, descriptions, inputs, outputs and types of resources, and need not be
finished. The best come first. You find what your token may read.
` + whichReader,
		Example: `  larder search network
  larder search aws_s3_bucket encryption --kind modules --namespace acme
  larder search vpc --registry registry.example.com --json`,
		Args: arguments(1, manyArguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > mostFound {
				return fmt.Errorf("--limit: give a number from 1 to %d", mostFound)
			}
			kinds, err := kindsOf(kind)
			if err != nil {
				return err
			}
			reader, err := newReader(cmd, host)
			if err != nil {
				return err
			}
			q := registryclient.Query{Text: strings.Join(args, " "), Namespace: namespace, Limit: limit}
			found, err := reader.find(cmd.Context(), kinds, q, false)
			if err != nil {
				return reader.explain(err)
			}
			return show(cmd, asJSON, found, func(out io.Writer) error { return writeFound(out, found, q.Text) })
		},
	}
	addReaderFlag(command, &host)
	command.Flags().StringVar(&kind, "kind", "", "only `modules` or providers")
	command.Flags().StringVar(&namespace, "namespace", "", "only this `namespace`")
	command.Flags().IntVar(&limit, "limit", 20, "at most so `many` of each kind, 1 to 100")
	command.Flags().BoolVar(&asJSON, "json", false, "write what was found as one JSON document")
	return command
}

// kinds are what is looked for.
type kinds struct{ modules, providers bool }

func kindsOf(text string) (kinds, error) {
	switch text {
	case "":
		return kinds{true, true}, nil
	case "modules", "module":
		return kinds{modules: true}, nil
	case "providers", "provider":
		return kinds{providers: true}, nil
	default:
		return kinds{}, fmt.Errorf("--kind: %q is not a kind: give modules or providers", text)
	}
}

// found is what a registry has, as commands write it.
type found struct {
	Modules   []registryclient.Entry `json:"modules"`
	Providers []registryclient.Entry `json:"providers"`
	Total     int                    `json:"total"`
}

// find asks for the kinds; for all parts of their lists, or only for the first.
func (r *reader) find(ctx context.Context, of kinds, q registryclient.Query, all bool) (f found, err error) {
	f = found{Modules: []registryclient.Entry{}, Providers: []registryclient.Entry{}}
	for _, kind := range []struct {
		wanted bool
		to     *[]registryclient.Entry
		ask    func(context.Context, registryclient.Query) (registryclient.List, error)
	}{{of.modules, &f.Modules, r.Modules}, {of.providers, &f.Providers, r.Providers}} {
		for part := q; kind.wanted; part.Offset += part.Limit {
			list, err := kind.ask(ctx, part)
			if err != nil {
				return f, err
			}
			if *kind.to = append(*kind.to, list.Entries...); !all || !list.More || len(list.Entries) == 0 {
				f.Total += list.Total
				break
			}
		}
	}
	return f, nil
}

// The widths of columns, in characters.
const (
	wideText    = 60
	wideAddress = 80
	wideWord    = 24
)

func writeFound(out io.Writer, f found, text string) error {
	if len(f.Modules)+len(f.Providers) == 0 {
		about := ""
		if text != "" {
			about = " for " + printable.Text(text)
		}
		_, err := fmt.Fprintf(out, "there is nothing%s that you may read\n", about)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "KIND\tADDRESS\tVERSION\tSTATUS\tPUBLISHED\tDESCRIPTION")
	for _, kind := range []struct {
		name    string
		entries []registryclient.Entry
	}{{"module", f.Modules}, {"provider", f.Providers}} {
		for _, e := range kind.entries {
			_, failed := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", kind.name, cell(e.Address(), wideAddress), cell(e.Version, wideWord),
				cell(e.Larder.Status, wideWord), date(e.Published), cell(e.Description, wideText))
			err = errors.Join(err, failed)
		}
	}
	if err = errors.Join(err, table.Flush()); err != nil {
		return err
	}
	if more := f.Total - len(f.Modules) - len(f.Providers); more > 0 {
		_, err = fmt.Fprintf(out, "and %d more\n", more)
	}
	return err
}
