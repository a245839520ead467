package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/internal/shell"
	"github.com/larder-registry/larder/pkg/control"
)

func newKeysCommand() *cobra.Command {
	var o reach.Options
	var versions, asJSON bool
	command := &cobra.Command{
		Use:   "keys",
		Short: "Say which key signed which versions",
		Long: `Say which signing keys there are, and how many versions of providers each of them
signed. The registry's own are the current one, which signs what is published from
now on, and those that it replaced; an author's key signed a release that came
with a signature. Of authors' keys it is said whether new releases may be signed
with them: "trusted", which an expired key is, too; "revoked", by its owner; or
"distrusted", by "larder keys distrust".
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

// listKeys is all keys, and the versions that each signed.
func listKeys(cmd *cobra.Command, o reach.Options) (keys []control.Key, totals walk.Totals, err error) {
	request := func(after string) control.Request {
		return control.Request{Keys: &control.Part{After: after}}
	}
	totals, err = listAll(cmd, o, request, func(part *control.Walked) { keys = mergeKeys(keys, part.Keys) })
	return keys, totals, err
}

// mergeKeys adds what another part says of keys.
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

func newRotateCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "rotate",
		Short: "Make a new signing key, and sign with it from now on",
		Long: `Make a new signing key on a single node, and sign with it what is published from
now on. What is published keeps its signatures, and the key that made them, which
the clients go on being given; "larder keys resign" signs it anew. The old private
key stays in the data folder, under a name with its key ID.

A deployment on AWS signs with a key in KMS, which is changed by deploying:
docs/operations.md says how.
` + whichNode,
		Example: `  larder keys rotate && larder keys resign`,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := ask(cmd, o, control.Request{Rotate: &control.Rotate{}})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the registry signs with the key %s from now on, fingerprint %s\n",
				answer.Rotated.KeyID, answer.Rotated.Fingerprint)
			return err
		},
	}
	addRegistryFlags(command, &o)
	return command
}

func newRotateAccessCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "rotate-access",
		Short: "Make a new access key for the operator's uploads, in the place of the old one",
		Long: `Make new access keys of the bucket on a single node, without a restart: the operator's
own, which stands in the file "env" of the data folder, and the registry's. The
operator's old key is good for nothing from then on. The registry's old key goes on
for 15 minutes, and for downloads alone: for as long as links live that were signed
with it. Uploaders keep their keys: "larder uploader revoke" ends them.

On AWS, access keys are those of IAM's users and roles.
` + whichNode,
		Example: `  larder keys rotate-access`,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := ask(cmd, o, control.Request{RotateAccess: &control.RotateAccess{}})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the operator's access key is %s from now on, and the old one is good for nothing; "+
				"in every shell that uploads, source the new one:\n\n  . %s\n", answer.AccessRotated.AccessKeyID, shell.Quote(answer.AccessRotated.Env))
			return err
		},
	}
	addRegistryFlags(command, &o)
	return command
}

func newResignCommand() *cobra.Command {
	var o reach.Options
	var after string
	command := &cobra.Command{
		Use:   "resign",
		Short: "Sign anew, with the current key, what the registry signed with another",
		Long: `Sign anew, with the current key, the versions that the registry signed with one of
the keys that it replaced. What authors signed stays.

It goes on while the registry serves, and no download fails: a client is given the
old signature and key, or the new ones. No lock file has to change, for packages
and checksums are the same.
` + whichRegistry,
		Example: `  larder keys resign
  larder keys resign --stack acme-registry`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := newWalk(cmd, o, after, func(after string) control.Request {
				return control.Request{Resign: &control.Part{After: after}}
			})
			if err != nil {
				return err
			}
			return runWalk(cmd, w, func(t walk.Totals) string { return fmt.Sprintf("%d signed anew", t.Changed) })
		},
	}
	addRegistryFlags(command, &o)
	addAfterFlag(command, &after)
	return command
}

func newDistrustCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "distrust FINGERPRINT",
		Short: "End the trust in an author's key, for new releases",
		Long: `End the trust in an author's key, for new releases, in every namespace and for good:
as when its owner cannot revoke it. What it signed before goes on being served;
"larder verify" names it, and "larder withdraw" takes it off the lists.

The fingerprint is as "gpg --fingerprint" or "larder keys" prints it. The author
goes on with a new key, uploaded in the place of this one.
` + whichRegistry,
		Example: `  larder keys distrust 4F819F9572CA00E0A842483CE29C0AF441B1C040
  larder keys distrust 4F819F9572CA00E0A842483CE29C0AF441B1C040 --stack acme-registry`,
		Args: arguments(1, manyArguments), // gpg prints it in groups
		RunE: func(cmd *cobra.Command, args []string) error {
			request := control.Distrust{Fingerprint: strings.Join(args, " ")}
			if err := request.Validate(); err != nil {
				return err
			}
			answer, err := ask(cmd, o, control.Request{Distrust: &request})
			if err != nil {
				return err
			}
			format := "the key %s is not trusted for new releases any more\n"
			if !answer.Distrusted.Changed {
				format = "the key %s was not trusted for new releases already\n"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), format, answer.Distrusted.Fingerprint)
			return err
		},
	}
	addRegistryFlags(command, &o)
	return command
}
