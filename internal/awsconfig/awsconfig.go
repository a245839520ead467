// Package awsconfig configures how an operator's commands reach AWS: with the operator's own
// credentials, found where the AWS CLI finds them. The AWS_ENDPOINT_URL variables, or
// endpoint_url of a profile, set other servers.
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

// maxAttempts is how often a request is sent, including the first time.
const maxAttempts = 3

// Load finds region and credentials as the AWS CLI does: in the environment, its files, single
// sign-on, the machine's role. The argument region wins. Load does not check them.
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

// S3 returns a client of S3. For another server than Amazon's, a bucket's name is in the path,
// not in the host name.
func S3(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = aws.ToString(o.BaseEndpoint) != ""
	})
}

// Transport returns the transport of the configuration, with its settings such as the
// certificates of AWS_CA_BUNDLE.
func Transport(cfg aws.Config) http.RoundTripper {
	if client, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		return client.GetTransport()
	}
	return nil
}
