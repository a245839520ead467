package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/spf13/cobra"
)

// uploadStatuses are the values that --status takes.
var uploadStatuses = []string{string(inbox.Rejected), string(inbox.Pending), string(inbox.Ignored), string(inbox.Published), string(control.AnyStatus)}

func newUploadsCommand() *cobra.Command {
	var o reach.Options
	var status string
	var asJSON bool
	command := &cobra.Command{
		Use:   "uploads [PREFIX]",
		Short: "Say what became of uploads, and why",
		Long: `Say what became of uploads that are rejected, pending or ignored, with all reasons.
With a prefix, only of uploads whose keys in the bucket begin with it.

It names the outcome of the last upload under each key, even if the upload was deleted
from the bucket.
` + whichRegistry,
		Example: `  larder uploads
  larder uploads --status rejected providers/acme/
  larder uploads --status all --json --stack acme-registry`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if status != "" && !slices.Contains(uploadStatuses, status) {
				return fmt.Errorf("--status: %q is not a status: give %s", status, strings.Join(uploadStatuses, ", "))
			}
			uploads, totals, err := listUploads(cmd, o, control.Uploads{Prefix: strings.Join(args, ""), Status: inbox.Status(status)})
			if err != nil {
				return err
			}
			none := "there is no such upload"
			if len(args) == 0 && status == "" {
				none = "no upload is rejected, pending or ignored"
			}
			err = show(cmd, asJSON, map[string][]inbox.Outcome{"uploads": uploads}, func(out io.Writer) error {
				return writeUploads(out, uploads, none)
			})
			return errors.Join(err, totals.Err())
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().StringVar(&status, "status", "", "only uploads of this `status`: rejected, pending, ignored, published, or all")
	command.Flags().BoolVar(&asJSON, "json", false, "write the uploads as one JSON document")
	return command
}

func listUploads(cmd *cobra.Command, o reach.Options, r control.Uploads) (uploads []inbox.Outcome, totals walk.Totals, err error) {
	request := func(after string) control.Request {
		r := r
		r.After = after
		return control.Request{Uploads: &r}
	}
	uploads = []inbox.Outcome{}
	totals, err = listAll(cmd, o, request, func(part *control.Walked) { uploads = append(uploads, part.Uploads...) })
	slices.SortStableFunc(uploads, func(a, b inbox.Outcome) int { return strings.Compare(a.Key, b.Key) })
	return uploads, totals, err
}

// writeUploads prints the outcomes of uploads, or none if there are no uploads.
func writeUploads(out io.Writer, uploads []inbox.Outcome, none string) error {
	if len(uploads) == 0 {
		_, err := fmt.Fprintln(out, none)
		return err
	}
	var text strings.Builder
	for _, u := range uploads {
		fmt.Fprintf(&text, "%-9s  %s  %s\n", u.Status, u.Time.UTC().Format(time.DateTime), printable.Text(u.Key))
		for _, sentence := range append(slices.Clone(u.Reasons), u.Warnings...) {
			fmt.Fprintf(&text, "    %s\n", printable.Text(sentence))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
