// Command larder is a private registry for Terraform and OpenTofu on a single
// machine.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/scripts/larder/internal/config"
	"github.com/larder-registry/larder/scripts/larder/internal/serve"
)

func main() {
	// The first signal ends the context, a second one the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "larder:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "larder",
		Short:         "A private registry for Terraform and OpenTofu",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newServeCommand())
	return root
}

func newServeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve a registry from this machine",
		Long: `Serve a registry from this machine: modules and providers over TLS, and the
bucket that they are uploaded to. All state is in the data folder.

Each flag can be set by the environment variable in brackets instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(cmd.Flags(), os.Getenv)
			if err != nil {
				return err
			}
			return serve.Run(cmd.Context(), cfg, slog.Default(), cmd.OutOrStdout())
		},
	}
	config.AddFlags(command.Flags())
	return command
}
