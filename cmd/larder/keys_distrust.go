package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/control"
)

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
