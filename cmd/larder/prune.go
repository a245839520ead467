package main

import (
	"fmt"
	"time"

	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/prune"
	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/spf13/cobra"
)

func newPruneCommand() *cobra.Command {
	var data string
	var days int
	var dryRun bool
	command := &cobra.Command{
		Use:   "prune",
		Short: "Remove from a single node's inbox what nobody needs any more",
		Long: fmt.Sprintf(`Remove from the inbox of a single node what nobody needs any more: uploads that are
published, because the registry has its own copy; files that were ignored, because they
are not uploads; versions that were overwritten; and what "aws s3 rm" leaves of deleted
files. What is served stays as it is.

The server does this itself, once a day, with what is older than LARDER_INBOX_DAYS.
This command does it now, whether the server runs or not. --older-than 0 removes all of
it. But uploads that were rejected or are pending are kept for at least %d days. Uploads
that the server has not looked at yet are always kept.`, prune.OthersDays),
		Example: `  larder prune --dry-run --older-than 0
  larder prune --older-than 7`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := dataFolder(cmd, data)
			if err != nil {
				return err
			}
			if days < 0 {
				return fmt.Errorf("--older-than is %d: give a number of days, or 0", days)
			}
			return runPrune(cmd, folder, days, dryRun)
		},
	}
	addDataFlag(command, &data)
	command.Flags().IntVar(&days, "older-than", prune.OthersDays, "remove what was uploaded, overwritten or deleted so many `days` ago, or before")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "say what would go, and remove nothing")
	return command
}

func runPrune(cmd *cobra.Command, folder string, days int, dryRun bool) (err error) {
	connection, _, closeAll, err := locals3.Reach(cmd.Context(), folder, quietLogger(cmd))
	if err != nil {
		return err
	}
	defer func() {
		if closed := closeAll(); err == nil {
			err = closed
		}
	}()
	bucket, err := connection.Bucket()
	if err != nil {
		return err
	}
	total, err := prune.Run(cmd.Context(), prune.Options{
		Bucket: bucket,
		Inbox:  inbox.New(inbox.Config{Bucket: bucket, Logger: quietLogger(cmd), KeysAreFiles: true}),
		Days:   days, Now: time.Now(), DryRun: dryRun,
		Each: func(i prune.Item) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%-11s  %s  %s  %s\n", i.What, i.Modified.UTC().Format(time.DateOnly), size.Of(i.Size), printable.Text(i.Key))
			return err
		},
	})
	if err != nil {
		return err
	}
	said := "removed"
	if dryRun {
		said = "would be removed"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s of %s %s\n", size.Count(total.Objects, "object"), size.Of(total.Bytes), said)
	return err
}
