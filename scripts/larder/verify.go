package main

import (
	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/scripts/larder/internal/reach"
	"github.com/larder-registry/larder/scripts/larder/internal/walk"
)

func newVerifyCommand() *cobra.Command {
	var o reach.Options
	var after string
	var quick bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Compare all that a registry has, and name every difference",
		Long: `Compare all that a registry has, and name every difference: the catalog with the
records, and the other way round; the bytes of every archive with their checksum;
every SHA256SUMS with what it covers, and with its signature; and what lies in the
inbox with what became of it.

The registry does it, while it serves, and changes nothing. It reads all archives,
which takes its time; with --quick it looks only whether they are there, and at
their sizes. "larder reindex" mends what is wrong in the catalog.
` + whichRegistry + `

Each difference is one line. The exit status is 0 when there is none.

A line that begins with "note:" is no difference. It names a version that is signed
by an author's key which is not trusted any more: it was released before that, and
is served as it was.`,
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
			return runWalk(cmd, w, func(t walk.Totals) string {
				switch {
				case t.Findings > 0:
					return "not all is well"
				case t.Notes > 0:
					return "nothing is wrong, but see the notes above"
				}
				return "nothing is wrong"
			})
		},
	}
	addRegistryFlags(command, &o)
	addAfterFlag(command, &after)
	command.Flags().BoolVar(&quick, "quick", false, "look at the sizes of archives, and do not read them")
	return command
}
