package main

import (
	"fmt"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/scripts/larder/internal/progress"
	"github.com/larder-registry/larder/scripts/larder/internal/upload"
)

// outcomeTimeout is how long an outcome is waited for. It takes seconds.
const outcomeTimeout = 5 * time.Minute

func newPublishCommand() *cobra.Command {
	var o upload.Options
	var provider, module, version, source string
	command := &cobra.Command{
		Use:   "publish FILE... --to NAMESPACE/TYPE | --module NAMESPACE/NAME/SYSTEM --version VERSION DIR|ARCHIVE",
		Short: "Upload a provider's release or a module, and say what became of it",
		Long: `Upload a provider's release or a module to a registry, wait until it is
published, and say what became of each file.

With --to, the files are those of a provider's release: packages, SHA256SUMS, its
signature, the registry manifest. They are named as GoReleaser names them, and
what else lies in its dist folder is skipped.

With --module, it is a module's archive, or its folder, which is packed first:
without what its .terraformignore excludes (and without .git/ and .terraform/),
and always to the same bytes.

With --source, the version says where it was made: the URL of its repository, in
which tools look for release notes. It stays with what is published first.

Before anything is uploaded, all files are checked by the registry's own rules. If
one breaks a rule, all its violations are told and nothing is uploaded. What only
the registry can know, such as that a version is published already with other
bytes, it says in the tags of the upload, which are waited for.

It needs s3:PutObject, s3:GetObjectTagging and s3:GetObjectVersionTagging on the
inbox, and nothing else. Region and credentials are found as the AWS CLI finds
them; AWS_ENDPOINT_URL_S3 leads to another server.

The exit status is 0 unless a file was rejected, could not be uploaded or had no
outcome in time. A pending file waits for another one and is no failure.`,
		Example: `  larder publish dist/* --to acme/widget
  larder publish --module acme/network/aws --version 1.2.3 ./network
  (. .larder/env && larder publish --module acme/network/aws --version 1.2.3 network-1.2.3.tar.gz)`,
		Args: arguments(1, manyArguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := registry.CheckSource(source); err != nil {
				return fmt.Errorf("--source: %w", err)
			}
			if provider != "" {
				files, err := upload.Release(provider, args)
				if err != nil {
					return fmt.Errorf("--to: %w", err)
				}
				return checkAndPublish(cmd, o, from(source, files))
			}
			if len(args) != 1 {
				return fmt.Errorf("a module is one folder or one archive, and these are %d", len(args))
			}
			file, cleanUp, err := upload.Module(cmd.Context(), module, version, args[0])
			if err != nil {
				return err
			}
			defer cleanUp()
			return checkAndPublish(cmd, o, from(source, []upload.File{file}))
		},
	}
	flags := command.Flags()
	flags.StringVar(&provider, "to", "", "the files are of the provider `namespace/type`")
	flags.StringVar(&module, "module", "", "it is the module `namespace/name/system`")
	flags.StringVar(&version, "version", "", "`version` of the module")
	flags.StringVar(&source, "source", "", "`URL` of the repository that it was made from")
	addInboxFlags(command, &o)
	checkFlags(command, oneOf("to", "module"), together("module", "version"))
	return command
}

// from says of files of what source they were made.
func from(source string, files []upload.File) []upload.File {
	for i := range files {
		files[i].Source = source
	}
	return files
}

// addInboxFlags defines the flags of commands that upload.
func addInboxFlags(command *cobra.Command, o *upload.Options) {
	flags := command.Flags()
	flags.StringVar(&o.Bucket, "bucket", "", "`name` of the registry's bucket [LARDER_BUCKET]")
	flags.BoolVar(&o.NoWait, "no-wait", false, "upload only, and do not wait for the outcomes")
	flags.DurationVar(&o.Timeout, "timeout", outcomeTimeout, "how long to wait for the outcomes")
	addRegionFlag(command, &o.Region)
}

// openInbox finds the inbox that the flags, or else the environment, name.
func openInbox(cmd *cobra.Command, o upload.Options) (*upload.Inbox, error) {
	if o.Bucket == "" {
		o.Bucket = os.Getenv("LARDER_BUCKET")
	}
	return upload.Open(cmd.Context(), o, os.Getenv)
}

func checkAndPublish(cmd *cobra.Command, o upload.Options, files []upload.File) error {
	inbox, err := openInbox(cmd, o)
	if err != nil {
		return err
	}
	if files, err = upload.Check(cmd.Context(), files, cmd.OutOrStdout()); err != nil {
		return err
	}
	return inbox.Publish(cmd.Context(), files, cmd.OutOrStdout(), newProgress(cmd))
}

// newProgress tells how files go up and come down beside the command's output.
func newProgress(cmd *cobra.Command) *progress.Progress {
	return progress.New(cmd.ErrOrStderr(), isatty.IsTerminal(os.Stderr.Fd()))
}
