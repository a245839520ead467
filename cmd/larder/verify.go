package main

import (
	"errors"
	"io"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

func newVerifyCommand() *cobra.Command {
	var o reach.Options
	var after string
	var quick, asJSON bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Compare all that a registry has, and name every difference",
		Long: `Compare all that a registry has, and name every difference: the catalog with the
records, and the other way round; the bytes of every archive with their checksum;
every SHA256SUMS with what it covers, and with its signature; and the uploads in the
inbox with their outcomes.

The registry does it, while it serves, and changes nothing. It reads all archives,
which takes time; with --quick it only checks that they exist, and their sizes.
"larder reindex" mends what is wrong in the catalog.
` + whichRegistry + `

Each difference is one line. The exit status is 0 when there is none.

A line that begins with "note:" is not a difference. It names a version that an
author's key signed before the trust in that key ended, or whose documentation was
not read yet. It is served as before.`,
		Example: `  larder verify
  larder verify --quick --stack acme-registry --region eu-central-1`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := newWalk(cmd, o, after, func(after string) control.Request {
				return control.Request{Verify: &control.Verify{Part: control.Part{After: after}, Quick: quick}}
			})
			if err != nil {
				return err
			}
			if asJSON {
				return verifyAsJSON(cmd, w)
			}
			return runWalk(cmd, w, concludeVerification)
		},
	}
	addRegistryFlags(command, &o)
	addAfterFlag(command, &after)
	command.Flags().BoolVar(&quick, "quick", false, "look at the sizes of archives, and do not read them")
	command.Flags().BoolVar(&asJSON, "json", false, "write the differences and notes as one JSON document")
	return command
}

// concludeVerification says the result of a verification in words.
func concludeVerification(t walk.Totals) string {
	switch {
	case t.Findings > 0:
		return "not all is well"
	case t.Notes > 0:
		return "nothing is wrong, but see the notes above"
	default:
		return "nothing is wrong"
	}
}

// verifyAsJSON writes the result of a verification when it is done.
func verifyAsJSON(cmd *cobra.Command, w *walk.Walk) error {
	document := struct {
		Versions int               `json:"versions"`
		Uploads  int               `json:"uploads"`
		Findings []control.Finding `json:"findings"`
		Notes    []control.Finding `json:"notes"`
	}{Findings: []control.Finding{}, Notes: []control.Finding{}}
	w.Out = io.Discard
	w.Each = func(part *control.Walked) {
		document.Findings = append(document.Findings, part.Findings...)
		document.Notes = append(document.Notes, part.Notes...)
	}
	totals, err := runToEnd(cmd, w)
	if err != nil {
		return err
	}
	document.Versions, document.Uploads = totals.Versions, totals.Uploads
	return errors.Join(writeJSON(cmd.OutOrStdout(), document), totals.Err())
}
