package main

import (
	"os"

	"github.com/larder-registry/larder/internal/node/serve"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/spf13/cobra"
)

func newServeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve a registry from this machine",
		Long: `Serve a registry from this machine: modules and providers over TLS, and the
bucket that they are uploaded to. All state is in the data folder.

Each flag can be set by the environment variable in brackets instead.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := settings.Load(cmd.Flags(), os.Environ())
			if err != nil {
				return err
			}
			settings.CollectLess(os.Getenv)
			return serve.Run(cmd.Context(), set, set.Log.Logger(os.Stderr), cmd.OutOrStdout())
		},
	}
	settings.AddFlags(command.Flags())
	return command
}
