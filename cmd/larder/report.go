package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/larder-registry/larder/internal/check/findings"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// report runs checks and prints their findings: each at once, or all at the end as
// JSON. It fails if a check fails.
func report(cmd *cobra.Command, asJSON bool, subject string, run func(context.Context, *findings.List)) error {
	out := cmd.OutOrStdout()
	var written error
	list := new(findings.List)
	if !asJSON {
		list.Each = func(f findings.Finding) { written = errors.Join(written, findings.WriteLine(out, f)) }
	}
	run(cmd.Context(), list)
	if cmd.Context().Err() != nil {
		return errors.New("interrupted")
	}
	if asJSON {
		written = list.WriteJSON(out, subject)
	} else {
		_, err := fmt.Fprintf(out, "\n%s: %s\n", subject, list.Summary())
		written = errors.Join(written, err)
	}
	if written != nil {
		return fmt.Errorf("write the findings: %w", written)
	}
	return list.Err()
}

// show writes the answer of a command: as a JSON document, or for people to read.
func show(cmd *cobra.Command, asJSON bool, document any, write func(io.Writer) error) error {
	if asJSON {
		return writeJSON(cmd.OutOrStdout(), document)
	}
	return write(cmd.OutOrStdout())
}

// hint says what to do with what was printed: to a person, not to a program that
// reads the output.
func hint(cmd *cobra.Command, format string, args ...any) error {
	if !isatty.IsTerminal(os.Stdout.Fd()) {
		return nil
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), format, args...)
	return err
}

func writeJSON(out io.Writer, document any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

func addJSONFlag(command *cobra.Command, value *bool) {
	command.Flags().BoolVar(value, "json", false, "write the findings as one JSON document")
}

func addRegionFlag(command *cobra.Command, value *string) {
	command.Flags().StringVar(value, "region", "", "AWS `region`; without it, that of the environment")
}
