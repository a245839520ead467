package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/envfile"
	"github.com/spf13/cobra"
)

func newEnvCommand() *cobra.Command {
	var data string
	var unset bool
	command := &cobra.Command{
		Use:   "env",
		Short: "Print what a shell needs to publish to this machine's registry, or what undoes it",
		Long: `Print the file env of the data folder, for a shell to evaluate. It sets the AWS CLI,
Terraform and OpenTofu to the registry that "larder serve" runs from there. It
replaces the AWS settings of the shell.

With --unset, print what undoes that: a shell that has evaluated or sourced the file
gets back its settings of before. This needs no registry.`,
		Example: `  eval "$(larder env)"
  eval "$(larder env --unset)"`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			script := envfile.Unset()
			if !unset {
				var err error
				if script, err = readEnv(cmd, data); err != nil {
					return err
				}
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), script)
			return err
		},
	}
	addDataFlag(command, &data)
	command.Flags().BoolVar(&unset, "unset", false, "print what undoes it")
	return command
}

// readEnv reads the file env of the registry that serves from a data folder.
func readEnv(cmd *cobra.Command, data string) (string, error) {
	data, err := namedData(cmd, data)
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(data, datadir.Env))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no registry serves from %s: start one with larder serve, or name its data folder with --data", data)
	}
	return string(script), datadir.AsOwner(data, err)
}
