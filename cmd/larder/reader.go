package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/larder-registry/larder/internal/credentials"
	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/registryclient"
	"github.com/spf13/cobra"
)

// whichReader says which registry a command of readers asks, and as whom.
const whichReader = `
The registry is that of --registry, or else of LARDER_HOST, which ". .larder/env" sets.
It may run on a machine or on AWS. The token is the one that Terraform and OpenTofu
have for the host: in TF_TOKEN_<host>, in their configuration, or from a login. The
certificates of SSL_CERT_FILE are trusted, as by the clients on Linux.`

// hostVariable is where commands of readers look for the host.
const hostVariable = "LARDER_HOST"

// addReaderFlag defines the flag that says which registry is read.
func addReaderFlag(command *cobra.Command, host *string) {
	command.Flags().StringVar(host, "registry", "", "the `host` of the registry, like registry.example.com; without it, "+hostVariable)
}

// reader asks a registry as the person who runs the command may.
type reader struct {
	*registryclient.Client
	host    string
	problem error // why there may be a token that was not found
}

func newReader(cmd *cobra.Command, named string) (*reader, error) {
	if cmd.Flags().Changed("registry") && named == "" {
		return nil, errors.New("--registry is empty: give the host of the registry, like registry.example.com")
	}
	if named == "" {
		named = os.Getenv(hostVariable)
	}
	if named == "" {
		return nil, fmt.Errorf("which registry? Give its host with --registry, or in %s", hostVariable)
	}
	host, err := credentials.ParseHost(named)
	if err != nil {
		return nil, err
	}
	token, problem := credentials.Find(host, os.Environ())
	return &reader{registryclient.New(host, token), host, problem}, nil
}

// explain adds to a refusal why there may be no token.
func (r *reader) explain(err error) error {
	if refused, ok := errors.AsType[*registryclient.AnswerError](err); ok && refused.Status == http.StatusUnauthorized && r.problem != nil {
		return fmt.Errorf("%w (%v)", err, r.problem)
	}
	return err
}

// cell is a text for a table: one line without control characters, and not longer than so many
// characters. A table has no empty cells.
func cell(text string, most int) string {
	line := strings.Join(strings.Fields(text), " ")
	if line == "" {
		return "-"
	}
	line = printable.Text(line)
	if utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:most-1]) + "…"
	}
	return line
}

// date is the day of a time in an answer, as it is if it is none.
func date(timestamp string) string {
	day, _, _ := strings.Cut(timestamp, "T")
	return cell(day, len("2006-01-02"))
}
