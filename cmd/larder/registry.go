package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/internal/shell"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// whichRegistry says which registry a command asks.
const whichRegistry = `
The registry is the one that "larder serve" runs from the data folder, as the same
user; or with --stack a deployment on AWS, by the name of its bucket. A deployment
is asked with your own credentials, found as the AWS CLI finds them. They need
lambda:InvokeFunction on the function <name>-publish; the policy <name>-operate of the
deployment allows it. AWS_ENDPOINT_URL_LAMBDA sets another server.`

// whichNode says which registry a command asks that is for a single node alone.
const whichNode = `
The registry is the one that "larder serve" runs from the data folder, as the same
user.`

// addRegistryFlags defines the flags that say which registry is asked.
func addRegistryFlags(command *cobra.Command, o *reach.Options) {
	addDataFlag(command, &o.Data)
	command.Flags().StringVar(&o.Stack, "stack", "", "the `name` of a deployment on AWS: its BucketName parameter")
	addRegionFlag(command, &o.Region)
	checkFlags(command, notTogether("data", "stack"))
}

// findRegistry finds the registry that the flags, or else the environment, name.
func findRegistry(cmd *cobra.Command, o reach.Options) (*reach.Registry, error) {
	if cmd.Flags().Changed("stack") && o.Stack == "" {
		return nil, errors.New("--stack is empty: give the BucketName parameter of the deployment")
	}
	var err error
	if o.Data, err = namedData(cmd, o.Data); err != nil {
		return nil, err
	}
	return reach.Find(cmd.Context(), o)
}

// ask asks the registry that the flags, or else the environment, name.
func ask(cmd *cobra.Command, o reach.Options, r control.Request) (control.Answer, error) {
	registry, err := findRegistry(cmd, o)
	if err != nil {
		return control.Answer{}, err
	}
	return registry.Ask(cmd.Context(), r)
}

// addAfterFlag defines the flag with which an interrupted walk goes on.
func addAfterFlag(command *cobra.Command, value *string) {
	command.Flags().StringVar(value, "after", "", "go on after this `cursor`, which an interrupted run has printed")
}

// newWalk makes a walk that writes its findings to the command's output, and its
// progress beside it.
func newWalk(cmd *cobra.Command, o reach.Options, after string, request func(after string) control.Request) (*walk.Walk, error) {
	registry, err := findRegistry(cmd, o)
	if err != nil {
		return nil, err
	}
	return &walk.Walk{
		Registry: registry,
		Request:  request,
		After:    after,
		Out:      cmd.OutOrStdout(),
		Progress: progress.NewLine(cmd.ErrOrStderr(), isTerminal(os.Stderr)),
	}, nil
}

// listAll asks for all parts of a list. Findings go beside the command's output.
func listAll(cmd *cobra.Command, o reach.Options, request func(after string) control.Request, each func(*control.Walked)) (walk.Totals, error) {
	w, err := newWalk(cmd, o, "", request)
	if err != nil {
		return walk.Totals{}, err
	}
	w.Each = each
	w.Out = cmd.ErrOrStderr()
	return w.Run(cmd.Context())
}

// isTerminal says whether a file is a terminal that can draw a line again.
func isTerminal(file *os.File) bool {
	return isatty.IsTerminal(file.Fd()) && os.Getenv("TERM") != "dumb"
}

// runToEnd runs a walk of a command that has the flag "after". If the walk is
// interrupted, the error says how it goes on.
func runToEnd(cmd *cobra.Command, w *walk.Walk) (walk.Totals, error) {
	totals, err := w.Run(cmd.Context())
	if err != nil && totals.Next != "" {
		err = fmt.Errorf("%w, after %s; the same command goes on there with --after %s", err, totals, shell.Quote(totals.Next))
	}
	return totals, err
}

// runWalk runs a walk to its end, prints its result in one line, and fails if
// something is wrong.
func runWalk(cmd *cobra.Command, w *walk.Walk, conclude func(walk.Totals) string) error {
	totals, err := runToEnd(cmd, w)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", totals, conclude(totals)); err != nil {
		return err
	}
	return totals.Err()
}
