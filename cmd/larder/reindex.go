package main

import (
	"errors"
	"fmt"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/reach/walk"
	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newReindexCommand() *cobra.Command {
	var o reach.Options
	var after string
	var withContents, again bool
	command := &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the catalog of a registry from its records",
		Long: `Rebuild the catalog of a registry from the records under registry/ in its bucket:
after registry/ was copied there from another registry, or when the catalog was
lost or damaged.

The registry does it, while it serves. Every version is compared with all of its
records and written where the catalog differs; versions of the catalog that have no
record are removed; and what was accepted and not signed yet is signed. Lists and
searches follow in the end. It can be interrupted anywhere, and be run again to go on.

With --contents it also reads the documentation of every module and provider that
this release has not read yet: run it once after an upgrade whose notes ask for it.
With --contents --again it does nothing else, and reads all of them, also those that
were read before.
` + whichRegistry + `

The exit status is 0 when every version is in the catalog as its records say.`,
		Example: `  larder reindex
  larder reindex --contents
  larder reindex --stack acme-registry --region eu-central-1`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := newWalk(cmd, o, after, func(after string) control.Request {
				return control.Request{Reindex: &control.Reindex{Part: control.Part{After: after}, Contents: withContents, Again: again}}
			})
			if err != nil {
				return err
			}
			return runWalk(cmd, w, func(t walk.Totals) string { return concludeReindex(t, withContents, again) })
		},
	}
	addRegistryFlags(command, &o)
	addAfterFlag(command, &after)
	command.Flags().BoolVar(&withContents, "contents", false, "also read the documentation that this release has not read yet")
	command.Flags().BoolVar(&again, "again", false, "with --contents: only read documentation, and all of it again")
	checkFlags(command, func(flags *pflag.FlagSet) error {
		if again && !withContents {
			return errors.New("--again is for --contents: without it, reindex compares everything each time")
		}
		return nil
	})
	return command
}

// concludeReindex says what changed. Versions with the same bytes have one archive.
func concludeReindex(t walk.Totals, withContents, again bool) string {
	switch {
	case again:
		return fmt.Sprintf("all archives read again, documentation of %d changed", t.Changed)
	case withContents:
		return fmt.Sprintf("%d written or removed, %s read", t.Changed, size.Count(t.Read, "archive"))
	default:
		return fmt.Sprintf("%d written or removed", t.Changed)
	}
}
