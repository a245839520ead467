package main

import (
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/scripts/larder/internal/reindex"
)

func newReindexCommand() *cobra.Command {
	var o reindex.Options
	command := &cobra.Command{
		Use:   "reindex --bucket NAME --table NAME",
		Short: "Rebuild the catalog of a deployment from the records in its bucket",
		Long: `Rebuild the catalog of a deployment on AWS, a DynamoDB table, from the records
under registry/ in its bucket: after registry/ was copied there from another
registry, or when the table was lost.

It writes nothing to the bucket and signs nothing. What is in the table already
stays, unless the records say more; so it can run beside the deployment, be
interrupted anywhere, and be run again to go on. A version of which not all
packages are signed is named, and listed with those that are: the publish
function signs the others.

Region and credentials are found as the AWS CLI finds them. They must allow
s3:ListBucket on the bucket, s3:GetObject on its registry/*, and
dynamodb:GetItem, dynamodb:Query and dynamodb:PutItem on the table.
AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL_DYNAMODB lead to other servers.

The exit status is 0 when every version could be brought up.`,
		Example: `  larder reindex --bucket acme-registry --table acme-registry --region eu-central-1`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bucket, index, err := reindex.Deployment(cmd.Context(), o, os.Getenv)
			if err != nil {
				return err
			}
			return reindex.Run(cmd.Context(), bucket, index, cmd.OutOrStdout(), isatty.IsTerminal(os.Stdout.Fd()))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Bucket, "bucket", "", "`name` of the bucket")
	flags.StringVar(&o.Table, "table", "", "`name` of the table")
	addRegionFlag(command, &o.Region)
	for _, name := range []string{"bucket", "table"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // there is no such flag
		}
	}
	return command
}
