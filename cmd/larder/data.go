package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// addDataFlag defines the flag that names a data folder.
func addDataFlag(command *cobra.Command, value *string) {
	command.Flags().StringVar(value, "data", ".larder", "the data `folder` of a single node [LARDER_DATA]")
}

// namedData is the data folder that the flag, or else the environment, names, as it is
// written there.
func namedData(cmd *cobra.Command, value string) (string, error) {
	if named := os.Getenv("LARDER_DATA"); named != "" && !cmd.Flags().Changed("data") {
		value = named
	}
	if value == "" {
		return "", errors.New("--data is empty: give the data folder, or leave it out for .larder")
	}
	return value, nil
}

// dataFolder is the absolute path of the data folder that the flag, or else the
// environment, names.
func dataFolder(cmd *cobra.Command, value string) (string, error) {
	named, err := namedData(cmd, value)
	if err != nil {
		return "", err
	}
	return filepath.Abs(named)
}
