// Command larder runs a private registry for Terraform and OpenTofu on a single
// machine, and helps with one on AWS.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
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
		Version:       thisBuild().String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(explainFlag)
	root.AddCommand(
		newListCommand(), newSearchCommand(), newShowCommand(), newUploadsCommand(),
		newServeCommand(), newEnvCommand(), newDoctorCommand(), newPreflightCommand(), newPublishCommand(),
		newDeprecateCommand(), newWithdrawCommand(), newRestoreCommand(),
		newTokenCommand(), newTrustCommand(), newUploaderCommand(),
		newKeysCommand(), newVerifyCommand(), newReindexCommand(), newMirrorCommand(),
		newBackupCommand(), newPruneCommand(), newMCPCommand(), newVersionCommand(),
	)
	return root
}
