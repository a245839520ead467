// Package awsconfig is how an operator's commands reach AWS: with the operator's
// own credentials, found where the AWS CLI finds them, and through the
// AWS_ENDPOINT_URL variables at whatever else speaks its protocols.
package awsconfig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
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

// Endpoint is the URL of another server than Amazon's for a service, as the
// environment has it, such as AWS_ENDPOINT_URL_S3 for "S3". Empty: Amazon's.
func Endpoint(getenv func(string) string, service string) string {
	if strings.EqualFold(getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		return ""
	}
	if url := getenv("AWS_ENDPOINT_URL_" + service); url != "" {
		return url
	}
	return getenv("AWS_ENDPOINT_URL")
}

// Transport carries requests as the configuration says, with the certificates
// of AWS_CA_BUNDLE among others.
func Transport(cfg aws.Config) http.RoundTripper {
	if client, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		return client.GetTransport()
	}
	return nil
}
