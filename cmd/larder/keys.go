package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

func newKeysCommand() *cobra.Command {
	var o reach.Options
	var versions, asJSON bool
	command := &cobra.Command{
		Use:   "keys",
		Short: "Say which key signed which versions",
		Long: `Say which signing keys there are, and how many versions of providers each of them
signed. The registry's own keys are the current one, which signs what is published
from now on, and the ones before it. An author's key signed a release that was
uploaded with a signature. An author's key is "trusted" for new releases, even if it
has expired; "revoked", by its owner; or "distrusted", by "larder keys distrust".
` + whichRegistry,
		Example: `  larder keys
  larder keys --versions --stack acme-registry`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, totals, err := listKeys(cmd, o)
			if err != nil {
				return err
			}
			err = show(cmd, asJSON, map[string][]control.Key{"keys": keys}, func(out io.Writer) error {
				return writeKeys(out, keys, versions)
			})
			return errors.Join(err, totals.Err())
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().BoolVar(&versions, "versions", false, "name the versions, too")
	command.Flags().BoolVar(&asJSON, "json", false, "write the keys and their versions as one JSON document")
	command.AddCommand(newRotateCommand(), newRotateAccessCommand(), newResignCommand(), newDistrustCommand())
	return command
}

// listKeys lists all keys, and the versions that each signed.
func listKeys(cmd *cobra.Command, o reach.Options) (keys []control.Key, totals walk.Totals, err error) {
	request := func(after string) control.Request {
		return control.Request{Keys: &control.Part{After: after}}
	}
	totals, err = listAll(cmd, o, request, func(part *control.Walked) { keys = mergeKeys(keys, part.Keys) })
	return keys, totals, err
}

// mergeKeys adds the keys of another part of the list.
func mergeKeys(keys, part []control.Key) []control.Key {
	at := map[string]int{}
	for i, key := range keys {
		at[key.KeyID] = i
	}
	for _, key := range part {
		i, known := at[key.KeyID]
		if !known {
			i = len(keys)
			at[key.KeyID] = i
			keys = append(keys, control.Key{KeyID: key.KeyID})
		}
		keys[i].Role = key.Role
		if key.Fingerprint != "" {
			keys[i].Fingerprint = key.Fingerprint
		}
		if key.Trust != "" {
			keys[i].Trust = key.Trust
		}
		for _, namespace := range key.Namespaces {
			if !slices.Contains(keys[i].Namespaces, namespace) {
				keys[i].Namespaces = append(keys[i].Namespaces, namespace)
			}
		}
		keys[i].Versions = append(keys[i].Versions, key.Versions...)
	}
	return keys
}

func writeKeys(out io.Writer, keys []control.Key, versions bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "KEY ID\tFINGERPRINT\tROLE\tTRUST\tVERSIONS")
	for _, key := range keys {
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", key.KeyID, key.Fingerprint, key.Role, cmp.Or(key.Trust, "-"), len(key.Versions))
		err = errors.Join(err, failed)
	}
	err = errors.Join(err, table.Flush())
	if !versions {
		return err
	}
	for _, key := range keys {
		for _, version := range key.Versions {
			_, failed := fmt.Fprintf(out, "%s signed %s\n", key.KeyID, version)
			err = errors.Join(err, failed)
		}
	}
	return err
}
