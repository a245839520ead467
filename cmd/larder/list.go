package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/internal/registryclient"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/spf13/cobra"
)

func newListCommand() *cobra.Command {
	var o reach.Options
	var host string
	var asJSON bool
	command := &cobra.Command{
		Use:   "list [NAMESPACE|ADDRESS|HOSTNAME]",
		Short: "List what a registry has",
		Long: `List what a registry has: every version of its modules, its providers and the
providers that it mirrors, with its state and the platforms of its packages. With a
namespace, an address or the hostname of a mirrored registry, it lists only the
versions of that.

Clients are offered a version that is "listed", and with a warning a version that is
"deprecated"; not a version that is "withdrawn". A version is "unlisted" when nothing
of it can be served: a provider's has only its documentation so far, or "larder verify"
says why.

With --registry it asks over HTTP, as readers do, for what your token may read: every
module and provider with its newest version, or the versions of one address.
` + whichRegistry,
		Example: `  larder list
  larder list acme/widget
  larder list registry.terraform.io/hashicorp --json --stack acme-registry
  larder list acme --registry registry.example.com`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			of := strings.Join(args, "")
			if cmd.Flags().Changed("registry") {
				return listAsReader(cmd, host, of, asJSON)
			}
			versions, totals, err := listVersions(cmd, o, of)
			if _, nobody := errors.AsType[*reach.Lost](err); nobody && o.Stack == "" && len(versions) == 0 {
				return fmt.Errorf("%w; readers name the registry's host with --registry", err)
			}
			if err != nil {
				return err
			}
			err = show(cmd, asJSON, map[string][]control.Version{"versions": versions}, func(out io.Writer) error {
				return writeVersions(out, versions, of)
			})
			return errors.Join(err, totals.Err())
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().StringVar(&host, "registry", "", "ask the registry at this `host` over HTTP, as readers do")
	command.Flags().BoolVar(&asJSON, "json", false, "write the versions as one JSON document")
	checkFlags(command, notTogether("registry", "data"), notTogether("registry", "stack"), notTogether("registry", "region"))
	return command
}

// listAsReader lists what a token may read.
func listAsReader(cmd *cobra.Command, host, of string, asJSON bool) error {
	reader, err := newReader(cmd, host)
	if err != nil {
		return err
	}
	if strings.Contains(of, "/") {
		return listVersionsAsReader(cmd, reader, of, asJSON)
	}
	if of != "" && !isNamespace(of) {
		return fmt.Errorf("%q is not a namespace", of)
	}
	found, err := reader.find(cmd.Context(), kinds{true, true}, registryclient.Query{Namespace: of, Limit: mostFound}, true)
	if err != nil {
		return reader.explain(err)
	}
	return show(cmd, asJSON, found, func(out io.Writer) error { return writeFound(out, found, "") })
}

// listVersionsAsReader lists the versions of one address.
func listVersionsAsReader(cmd *cobra.Command, reader *reader, text string, asJSON bool) error {
	address, err := parseShown(text, "")
	if err != nil {
		return err
	}
	details, _, err := reader.Show(cmd.Context(), address, "")
	if err != nil {
		return reader.explain(err)
	}
	versions := make([]readersVersion, len(details.Versions))
	for i, v := range details.Versions {
		versions[i] = readersVersion{v, control.Listed}
		if slices.Contains(details.Larder.DeprecatedVersions, v) {
			versions[i].Status = registry.Deprecated
		}
	}
	document := map[string]any{"address": address, "versions": versions}
	return show(cmd, asJSON, document, func(out io.Writer) error { return writeReadersVersions(out, versions) })
}

// readersVersion is a version as readers see it, who are offered it.
type readersVersion struct {
	Version string                 `json:"version"`
	Status  registry.StandingState `json:"status"`
}

func writeReadersVersions(out io.Writer, versions []readersVersion) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "VERSION\tSTATUS")
	for _, v := range versions {
		_, failed := fmt.Fprintf(table, "%s\t%s\n", cell(v.Version, wideAddress), v.Status)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, table.Flush())
}

// isNamespace says whether a text can be the namespace of a module.
func isNamespace(text string) bool {
	_, err := registry.ParseModuleAddress(text, "x", "x")
	return err == nil
}

// listVersions lists every version, sorted by address and then by precedence.
func listVersions(cmd *cobra.Command, o reach.Options, of string) (versions []control.Version, totals walk.Totals, err error) {
	request := func(after string) control.Request {
		return control.Request{List: &control.List{Part: control.Part{After: after}, Of: of}}
	}
	versions = []control.Version{}
	totals, err = listAll(cmd, o, request, func(part *control.Walked) { versions = append(versions, part.Versions...) })
	slices.SortStableFunc(versions, compareVersions)
	return versions, totals, err
}

func compareVersions(a, b control.Version) int {
	if of := cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Address, b.Address)); of != 0 {
		return of
	}
	one, errOne := registry.ParseVersion(a.Version)
	other, errOther := registry.ParseVersion(b.Version)
	if errOne != nil || errOther != nil {
		return cmp.Compare(a.Version, b.Version)
	}
	return one.Compare(other)
}

func writeVersions(out io.Writer, versions []control.Version, of string) error {
	if len(versions) == 0 {
		if of != "" {
			of = " of " + printable.Text(of)
		}
		_, err := fmt.Fprintf(out, "there is no version%s\n", of)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "KIND\tADDRESS\tVERSION\tSTANDING\tPLATFORMS\tMESSAGE")
	for _, v := range versions {
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Kind, v.Address, v.Version, v.Standing,
			cmp.Or(strings.Join(v.Platforms, " "), "-"), cmp.Or(printable.Text(v.Message), "-"))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, table.Flush())
}
