package main

import "github.com/spf13/cobra"

func newTokenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens that reading needs",
		Long: `Make, list and revoke the tokens that reading a registry needs, unless it is open
to all. Pipelines can also use their identity tokens, and people can log in: see
"larder trust".`,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	command.AddCommand(newTokenCreateCommand(), newTokenListCommand(), newTokenRevokeCommand())
	return command
}
