package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

// whichUploaders says which registry a command asks about uploaders.
const whichUploaders = `
The registry is the one that "larder serve" runs from the data folder, as the same
user. On AWS, IAM says who may upload: the parameter UploaderNamespace makes a policy
to attach, <BucketName>-upload-<namespace>, with the same rights, and docs/ci.md says
how pipelines get a role.`

func newUploaderCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "uploader",
		Short: "Make, list and revoke access keys that may upload to some namespaces",
		Long: `Make, list and revoke access keys that may upload to some namespaces only: one for
each team or pipeline. The key in the data folder's file "env" is the operator's own,
and may upload everywhere.`,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	command.AddCommand(newUploaderCreateCommand(), newUploaderListCommand(), newUploaderRevokeCommand())
	return command
}

func newUploaderCreateCommand() *cobra.Command {
	var o reach.Options
	var request control.CreateUploader
	var expires string
	command := &cobra.Command{
		Use:   "create NAME --namespace NAMESPACE",
		Short: "Make an access key for an uploader, and print it this once",
		Long: `Make an access key for an uploader, and print it this once, as variables that the AWS
CLI, its SDKs and "larder publish" read. The log and the records of the registry say
by this name who uploaded.

An uploader may upload below keys/, modules/ and providers/ of its namespaces, and
list the uploads there, their tags and their outcomes. It may not delete, download its
uploads, upload for a mirror, or write what is published.
` + whichUploaders,
		Example: `  larder uploader create acme-ci --namespace acme
  larder uploader create platform --namespace acme --namespace labs --expires 90d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			request.Name = args[0]
			if expires != "never" {
				if request.Lifetime, err = parseLifetime(expires); err != nil {
					return fmt.Errorf("--expires: %w, or never", err)
				}
			}
			if err := request.Validate(); err != nil {
				return err
			}
			return createUploader(cmd, o, request)
		},
	}
	flags := command.Flags()
	flags.StringArrayVar(&request.Namespaces, "namespace", nil, "a `namespace` that the uploader may upload to; may be repeated")
	flags.StringVar(&expires, "expires", "never", "`how long` the key is valid, in days, hours or minutes like 90d, 12h or 30m, or never")
	checkFlags(command, needed("namespace"))
	addRegistryFlags(command, &o)
	return command
}

// createUploader asks for an access key and prints it.
func createUploader(cmd *cobra.Command, o reach.Options, request control.CreateUploader) error {
	revoke := "larder uploader revoke " + request.Name
	answer, err := ask(cmd, o, control.Request{CreateUploader: &request})
	if errors.Is(err, reach.ErrUnknown) {
		return fmt.Errorf("%w; there may be an access key that was not printed: \"%s\" ends it, and the name is free again", err, revoke)
	}
	if err != nil {
		return err
	}
	u := answer.UploaderCreated
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\nAWS_ENDPOINT_URL_S3=%s\nAWS_REGION=%s\nLARDER_BUCKET=%s\n",
		u.AccessKeyID, u.SecretAccessKey, u.S3URL, u.Region, u.Bucket)
	if err != nil {
		return fmt.Errorf("the access key is made, and cannot be printed: %w; end it with \"%s\"", err, revoke)
	}
	return hint(cmd, uploaderHint, formatExpiry(u.Expires), u.Namespaces[0])
}

// uploaderHint tells a person what to do with a new access key.
const uploaderHint = `
That is the access key; it is shown this once. It expires: %s.
Set these as variables of the pipeline, or export them in a shell. On a machine that does
not trust the bucket's certificate, set AWS_CA_BUNDLE to a copy of the data folder's ca.pem.

  aws s3 cp 1.0.0.zip "s3://$LARDER_BUCKET/modules/%s/NAME/SYSTEM/"
`

func newUploaderListCommand() *cobra.Command {
	var o reach.Options
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the uploaders, and those that expired lately",
		Long: `List the uploaders that have access keys of their own, until a week after they have
expired. Times are in UTC.
` + whichUploaders,
		Example: `  larder uploader list
  larder uploader list --json`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := ask(cmd, o, control.Request{ListUploaders: &control.ListUploaders{}})
			if err != nil {
				return err
			}
			return show(cmd, asJSON, answer.Uploaders, func(out io.Writer) error {
				return writeUploaders(out, answer.Uploaders.Uploaders, time.Now())
			})
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().BoolVar(&asJSON, "json", false, "write the uploaders as one JSON document")
	return command
}

func writeUploaders(out io.Writer, uploaders []access.Uploader, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "NAME\tACCESS KEY ID\tNAMESPACES\tCREATED\tEXPIRES")
	for _, u := range uploaders {
		expires := formatExpiry(u.Expires)
		if u.Expired(now) {
			expires += " (expired)"
		}
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", u.Name, u.AccessKeyID, strings.Join(u.Namespaces, ", "), formatTime(u.Created), expires)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, table.Flush())
}

func newUploaderRevokeCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "revoke (NAME|ACCESS-KEY-ID)",
		Short: "End an uploader's access key for ever, at once",
		Long: `End an uploader's access key for ever, at once, by the uploader's name or the key's ID.
What was uploaded with it stays.
` + whichUploaders,
		Example: `  larder uploader revoke acme-ci`,
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := ask(cmd, o, control.Request{RevokeUploader: &control.RevokeUploader{Which: args[0]}})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the access key %s of the uploader %s is revoked, which takes effect at once\n",
				answer.UploaderRevoked.AccessKeyID, answer.UploaderRevoked.Name)
			return err
		},
	}
	addRegistryFlags(command, &o)
	return command
}
