// Package awsconfig is how an operator's commands reach AWS: with the operator's
// own credentials, found where the AWS CLI finds them, and through the
// AWS_ENDPOINT_URL variables, or endpoint_url of a profile, at whatever else speaks its protocols.
package awsconfig

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// maxAttempts is how often a request is sent, the first time included.
const maxAttempts = 3

// Load finds region and credentials as the AWS CLI does: in the environment,
// its files, single sign-on, the machine's role. A region that is given wins.
// It asks nobody whether they are good.
//
// Errors say what is missing, and what to set.
func Load(ctx context.Context, region string) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithRetryMaxAttempts(maxAttempts))
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("no AWS region is set: give --region, or set AWS_REGION")
	}
	return cfg, nil
}

// S3 reaches buckets. At another server than Amazon's, a bucket's name is a part of the
// path and not of the host name, whether the environment or a profile names the server.
func S3(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = aws.ToString(o.BaseEndpoint) != ""
	})
}

// Transport carries requests as the configuration says, with the certificates
// of AWS_CA_BUNDLE among others.
func Transport(cfg aws.Config) http.RoundTripper {
	if client, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		return client.GetTransport()
	}
	return nil
}
