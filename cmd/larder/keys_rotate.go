package main

import (
	"fmt"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/internal/shell"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

func newRotateCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "rotate",
		Short: "Make a new signing key, and sign with it from now on",
		Long: `Make a new signing key on a single node, and sign with it what is published from
now on. Versions that are published already keep their signatures, and clients still
get the key that made them; "larder keys resign" signs them anew. The old private key
stays in the data folder, under a name with its key ID.

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
own, in the file "env" of the data folder, and the registry's. The operator's old key
ends at once. The registry's old key works for 15 more minutes, for downloads only:
until the links that it signed have expired. Uploaders keep their keys: "larder
uploader revoke" ends them.

On AWS, IAM's users and roles have the access keys.
` + whichNode,
		Example: `  larder keys rotate-access`,
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := ask(cmd, o, control.Request{RotateAccess: &control.RotateAccess{}})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the operator's access key is %s from now on, and the old one does not work any more; "+
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
		Short: "Sign anew, with the current key, what the registry signed with an older one",
		Long: `Sign anew, with the current key, the versions that the registry signed with an older
key. Signatures of authors stay.

The registry serves meanwhile, and no download fails: a client gets the old signature
and key, or the new ones. No lock file has to change: packages and checksums stay the
same.
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
