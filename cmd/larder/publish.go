package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/transfer/upload"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/spf13/cobra"
)

// outcomeTimeout is how long a command waits for outcomes, which take seconds.
const outcomeTimeout = 5 * time.Minute

func newPublishCommand() *cobra.Command {
	var p publication
	command := &cobra.Command{
		Use:   "publish FILE... --to NAMESPACE/TYPE | --module NAMESPACE/NAME/SYSTEM --version VERSION DIR|ARCHIVE",
		Short: "Upload a provider's release or a module, and say what became of it",
		Long: `Upload a provider's release or a module to a registry, wait until it is
published, and say what became of each file.

With --to, the files are those of a provider's release: packages, SHA256SUMS, its
signature, the registry manifest, the documentation. They are named as GoReleaser
names them. Other files of its dist folder are skipped. The folder itself may be named, too.

With --module, it is a module's archive, or its folder, which is packed first:
without what its .terraformignore excludes (and without .git/ and .terraform/),
and always to the same bytes.

With --source, the version names the URL of its repository, in which tools look
for release notes. The URL that is published first stays.

Before anything is uploaded, all files are checked by the registry's own rules, and
compared with one another: packages, manifest and documentation with SHA256SUMS, and with
--author-key the signature with it. If a file breaks a rule, all violations are
reported and nothing is uploaded. Possible mistakes are warnings. Some things only
the registry knows: for example, that a version is published already with other
bytes. It says them in the tags of the upload, and the command waits for these.

It needs s3:PutObject, s3:GetObjectTagging and s3:GetObjectVersionTagging on the
inbox, and nothing else. Region and credentials are found as the AWS CLI finds
them; AWS_ENDPOINT_URL_S3 sets another server.

The exit status is 0 unless a file was rejected, could not be uploaded or had no
outcome in time, a package waits for another file, or an author's signature was not
taken, for example because its key is not in the registry yet. Another file that
waits (pending) is not a failure.`,
		Example: `  larder publish dist --to acme/widget
  larder publish dist/* --to acme/widget --author-key acme.asc --json
  larder publish --module acme/network/aws --version 1.2.3 ./network
  (. .larder/env && larder publish --module acme/network/aws --version 1.2.3 network-1.2.3.tar.gz)`,
		Args: arguments(1, manyArguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := registry.CheckSource(p.source); err != nil {
				return fmt.Errorf("--source: %w", err)
			}
			if p.provider != "" {
				return p.publishRelease(cmd, args)
			}
			return p.publishModule(cmd, args)
		},
	}
	flags := command.Flags()
	flags.StringVar(&p.provider, "to", "", "the files are of the provider `namespace/type`")
	flags.StringVar(&p.module, "module", "", "it is the module `namespace/name/system`")
	flags.StringVar(&p.version, "version", "", "`version` of the module")
	flags.StringVar(&p.source, "source", "", "`URL` of the repository that it was made from")
	flags.StringVar(&p.authorKey, "author-key", "", "`file` of the author's public keys, with which the signature is verified before the upload")
	flags.BoolVar(&p.asJSON, "json", false, "write what became of the files as one JSON document")
	addInboxFlags(command, &p.Options)
	checkFlags(command, oneOf("to", "module"), together("module", "version"), notTogether("author-key", "module"))
	return command
}

// addInboxFlags defines the flags of commands that upload.
func addInboxFlags(command *cobra.Command, o *upload.Options) {
	flags := command.Flags()
	flags.StringVar(&o.Bucket, "bucket", "", "`name` of the registry's bucket [LARDER_BUCKET]")
	flags.BoolVar(&o.NoWait, "no-wait", false, "upload only, and do not wait for the outcomes")
	flags.DurationVar(&o.Timeout, "timeout", outcomeTimeout, "how long to wait for the outcomes")
	addRegionFlag(command, &o.Region)
}

// openInbox finds the inbox that the flags, or else the environment, name. From then on
// nothing is written to the standard log: AWS's library for uploads logs some of the
// errors that it also returns, and takes no other logger.
func openInbox(cmd *cobra.Command, o upload.Options) (*upload.Inbox, error) {
	log.SetOutput(io.Discard)
	if o.Bucket == "" {
		o.Bucket = os.Getenv("LARDER_BUCKET")
	}
	return upload.Open(cmd.Context(), o)
}

// publication is what is published, how it is checked, and how the outcome is printed.
type publication struct {
	upload.Options
	provider, module, version string // the provider, or else the module and its version
	source                    string // the URL of its repository; empty for none
	authorKey                 string // a file of public keys; empty for none
	asJSON                    bool
}

// publishRelease publishes the files of a provider's release.
func (p publication) publishRelease(cmd *cobra.Command, paths []string) error {
	files, err := upload.Release(p.provider, paths)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return p.publish(cmd, files)
}

// publishModule publishes a module's folder or archive.
func (p publication) publishModule(cmd *cobra.Command, paths []string) error {
	if len(paths) != 1 {
		return fmt.Errorf("a module is one folder or one archive, not %d", len(paths))
	}
	file, cleanUp, err := upload.Module(cmd.Context(), p.module, p.version, paths[0])
	if err != nil {
		return err
	}
	defer cleanUp()
	return p.publish(cmd, []upload.File{file})
}

// publish checks files, uploads them and says what became of them.
func (p publication) publish(cmd *cobra.Command, files []upload.File) error {
	for i := range files {
		files[i].Source = p.source
	}
	inbox, err := openInbox(cmd, p.Options)
	if err != nil {
		return err
	}
	var checker publish.Checker
	if p.authorKey != "" {
		if checker.Keys, err = upload.AuthorKeys(p.authorKey); err != nil {
			return fmt.Errorf("--author-key: %w", err)
		}
	}
	text := cmd.OutOrStdout()
	if p.asJSON {
		text = io.Discard
	}
	files, reports, err := upload.Check(cmd.Context(), files, &checker)
	upload.WriteProblems(text, reports)
	if err == nil {
		var done []upload.Report
		done, err = inbox.Publish(cmd.Context(), files, text, newProgress(cmd))
		reports = merge(reports, done)
	}
	if p.asJSON {
		err = errors.Join(writeJSON(cmd.OutOrStdout(), map[string][]upload.Report{"files": append([]upload.Report{}, reports...)}), err)
	}
	return err
}

// merge replaces the reports of files that were uploaded since.
func merge(reports, done []upload.Report) []upload.Report {
	for _, d := range done {
		at := slices.IndexFunc(reports, func(r upload.Report) bool { return r.Key == d.Key && r.File == d.File })
		d.Warnings = reports[at].Warnings
		reports[at] = d
	}
	return reports
}

// newProgress shows the progress of uploads and downloads beside the command's output.
func newProgress(cmd *cobra.Command) *progress.Progress {
	return progress.New(cmd.ErrOrStderr(), isTerminal(os.Stderr))
}
