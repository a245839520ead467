package main

import (
	"fmt"
	"strings"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

func newDistrustCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "distrust FINGERPRINT",
		Short: "End the trust in an author's key, for new releases",
		Long: `End the trust in an author's key, for new releases, in every namespace and for good:
for example, when its owner cannot revoke it. Releases that it signed before are still
served; "larder verify" names them, and "larder withdraw" takes them off the lists.

"gpg --fingerprint" and "larder keys" print the fingerprint. The author uploads a new
key in the place of this one.
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
