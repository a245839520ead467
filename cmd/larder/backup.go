package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/larder-registry/larder/internal/node/backup"
	"github.com/larder-registry/larder/internal/shell"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// standardStream is the name of standard input and output.
const standardStream = "-"

func newBackupCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "backup",
		Short: "Copy all data of a single node, and make a data folder of the copy",
		Args:  cobra.NoArgs,
		RunE:  showHelp,
	}
	command.AddCommand(newBackupCreateCommand(), newBackupVerifyCommand(), newBackupRestoreCommand())
	return command
}

func newBackupCreateCommand() *cobra.Command {
	var data string
	var withoutKeys bool
	command := &cobra.Command{
		Use:   "create DIR|-",
		Short: "Copy all data of a single node to a folder, or to a tar stream",
		Long: `Copy all data of a single node to the folder DIR, or as a tar stream to standard
output: what is published, the outcomes of uploads, uploads that are not published yet,
tokens, rules of trust and keys. The server may run meanwhile, or be stopped. The backup
may lack what is uploaded after it has begun.

At the end every file is compared with its checksum, and all of them with what was
published. A backup that was interrupted before that cannot be restored. A folder that
has a backup gets what is new. The old backup stays whole until the new one is whole.

A backup holds the signing key, the local CA's key and the access keys of the bucket:
anyone who reads it can sign as the registry. With --without-keys it has no keys, and
the restored registry makes new ones.`,
		Example: `  larder backup create /mnt/backup/larder
  larder backup create - | ssh backup.example.com 'cat > larder.tar'`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := dataFolder(cmd, data)
			if err != nil {
				return err
			}
			return createBackup(cmd, args[0], backup.Options{
				Data: folder, WithoutKeys: withoutKeys, Progress: newProgress(cmd), Logger: quietLogger(cmd),
			})
		},
	}
	addDataFlag(command, &data)
	command.Flags().BoolVar(&withoutKeys, "without-keys", false, "leave out all keys")
	return command
}

func createBackup(cmd *cobra.Command, to string, o backup.Options) error {
	out := cmd.OutOrStdout()
	if to != standardStream {
		path, err := filepath.Abs(to) // the bucket's folder may become the process's own
		if err != nil {
			return err
		}
		summary, err := backup.Create(cmd.Context(), o, path)
		return writeSummary(out, to+": ", summary, wasVerified, err)
	}
	if file, ok := out.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		return errors.New("a backup is not for a terminal: send it to a file or to another command")
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	summary, err := backup.CreateStream(cmd.Context(), o, buffered)
	err = errors.Join(err, buffered.Flush())
	return writeSummary(cmd.ErrOrStderr(), "", summary, "written", err)
}

func newBackupVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR|-",
		Short: "Read a backup, and say whether it can be restored",
		Long: `Read the backup in the folder DIR, or the tar stream on standard input. Compare every
file with its checksum, and all files with what was published. Nothing is written. The
exit status is 0 if the backup can be restored.`,
		Example: `  larder backup verify /mnt/backup/larder
  larder backup verify - < larder.tar`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			told := newProgress(cmd)
			if args[0] == standardStream {
				summary, err := backup.VerifyStream(cmd.Context(), cmd.InOrStdin(), told)
				return writeSummary(cmd.OutOrStdout(), "", summary, wasVerified, err)
			}
			summary, err := backup.Verify(cmd.Context(), args[0], told)
			return writeSummary(cmd.OutOrStdout(), args[0]+": ", summary, wasVerified, err)
		},
	}
}

func newBackupRestoreCommand() *cobra.Command {
	var data string
	var plain bool
	command := &cobra.Command{
		Use:   "restore DIR|-",
		Short: "Make a data folder of a backup",
		Long: `Make a data folder of the backup in the folder DIR, or of the tar stream on standard
input. The data folder must be missing or empty: nothing is overwritten. It is made
under another name beside its place, verified as "larder verify" does, and renamed
at the end. If anything fails before that, there is no data folder.

Then "larder serve --data" starts with it, also on another machine: it has the same
archives, hashes and signatures, and tokens still work. Lock files still work, too, if
the host name is the same.

With --plain, DIR has only registry/, copied by "aws s3 sync" from the bucket of any
registry. That has no tokens, rules of trust and keys.`,
		Example: `  larder backup restore /mnt/backup/larder --data /srv/larder
  ssh backup.example.com 'cat larder.tar' | larder backup restore - --data /srv/larder
  larder backup restore copied --plain --data /srv/larder`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := dataFolder(cmd, data)
			if err != nil {
				return err
			}
			o := backup.RestoreOptions{Data: folder, Progress: newProgress(cmd), Logger: quietLogger(cmd)}
			summary, err := restoreBackup(cmd.Context(), o, args[0], plain, cmd.InOrStdin())
			return writeSummary(cmd.OutOrStdout(), "", summary, wasVerified+"\nstart it with  larder serve --data "+shell.Quote(folder), err)
		},
	}
	addDataFlag(command, &data)
	command.Flags().BoolVar(&plain, "plain", false, "DIR is not a backup, but has a copy of registry/ of a bucket")
	return command
}

func restoreBackup(ctx context.Context, o backup.RestoreOptions, from string, plain bool, in io.Reader) (backup.Summary, error) {
	switch {
	case from == standardStream && plain:
		return backup.Summary{}, errors.New("--plain is for a folder: name it in place of -")
	case from == standardStream:
		return backup.RestoreStream(ctx, o, in)
	}
	from, err := filepath.Abs(from) // the bucket's folder becomes the process's own
	if err != nil {
		return backup.Summary{}, err
	}
	if plain {
		return backup.RestorePlain(ctx, o, from)
	}
	return backup.Restore(ctx, o, from)
}

const wasVerified = "all of it was verified"

// writeSummary prints what a backup has, and what was done with it, unless that failed.
func writeSummary(out io.Writer, of string, summary backup.Summary, done string, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s%s; %s\n", of, summary, done)
	return err
}

// quietLogger logs warnings and errors, and no progress.
func quietLogger(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
