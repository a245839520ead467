package main

import (
	"context"
	"os"

	"github.com/larder-registry/larder/internal/awsconfig"
	"github.com/larder-registry/larder/internal/check/findings"
	"github.com/larder-registry/larder/internal/check/preflight"
	"github.com/spf13/cobra"
)

func newPreflightCommand() *cobra.Command {
	var region string
	var asJSON bool
	command := &cobra.Command{
		Use:   "preflight --bucket-name NAME",
		Short: "Look at an AWS account before a deployment to it",
		Long: `Look at an AWS account before Larder is deployed to it, by SAM or Terraform, and
say what would fail: region and credentials, whether SAM deploys to the same
region, how many functions may run at once, whether the bucket's name is free,
whether the certificate is issued, in the API's region and for the domain,
whether the hosted zone is the domain's, and which rights are missing to deploy
with SAM, or with Terraform or OpenTofu (--with terraform).

Region and credentials are found as the AWS CLI finds them. The flags take the
values of the template's parameters, whose names are in brackets. Nothing is
changed. What the credentials may not read is reported as unchecked. To check
everything they need sts:GetCallerIdentity, lambda:GetAccountSettings,
s3:ListBucket, acm:DescribeCertificate, route53:GetHostedZone, iam:GetRole and
iam:SimulatePrincipalPolicy.

Each check is one line: ok; warn, for what should be looked at; or FAIL, for what
would fail, with advice. The exit status is 0 when no check fails.`,
		Example: `  larder preflight --bucket-name acme-registry
  larder preflight --bucket-name acme-registry --region eu-central-1 --domain-name registry.example.com \
    --certificate-arn arn:aws:acm:eu-central-1:123456789012:certificate/... --hosted-zone-id Z0123456789
  larder preflight --bucket-name acme-registry --with terraform`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			params, err := preflight.Load(cmd.Flags())
			if err != nil {
				return err
			}
			cfg, err := awsconfig.Load(cmd.Context(), region)
			if err != nil {
				return err
			}
			return report(cmd, asJSON, params.BucketName, func(ctx context.Context, list *findings.List) {
				preflight.Run(ctx, params, cfg, os.Getenv, list)
			})
		},
	}
	preflight.AddFlags(command.Flags())
	addRegionFlag(command, &region)
	addJSONFlag(command, &asJSON)
	return command
}
