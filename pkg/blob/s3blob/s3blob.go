// Package s3blob keeps uploads and everything published in an S3 bucket with
// versioning: Amazon's, or any server's that speaks its protocol.
//
// # Checksums
//
// A body is signed with its SHA-256, so the server refuses other bytes than those that
// were sent. The SDK's additional checksums are sent and asked for only where S3 requires
// them: they come as trailers of a chunked encoding, which other servers may not support,
// and readers check the published SHA-256 anyway.
//
// # Permissions on AWS
//
// Without s3:ListBucket, S3 answers 403 for an object that does not exist, and
// [registry.ErrNotFound] is never seen.
package s3blob

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/pkg/blob"
)

const (
	// maxAttempts is how often a request is sent at most, including the first time.
	maxAttempts = 5

	// answerTimeout is how long S3 may take to begin an answer once it has
	// the whole request. A copy of blob.MaxCopy bytes is answered when
	// it is done.
	answerTimeout = 10 * time.Minute
)

// Config says which bucket, where it is, and as whom to use it.
type Config struct {
	// Bucket is the name of the bucket, which has versioning. Required.
	Bucket string

	// Region is the bucket's AWS region, or the region that another server is
	// configured with. Required.
	Region string

	// Credentials sign requests. Required.
	Credentials aws.CredentialsProvider

	// Endpoint is the URL at which this process reaches an S3 server that is not
	// Amazon's. Empty: Amazon's for the region.
	Endpoint string

	// PathStyle puts the bucket's name into the path of URLs instead of the
	// host name. Servers on an IP address need it.
	PathStyle bool

	// Transport carries the requests. Nil: [NewTransport].
	Transport http.RoundTripper

	// Retryable are codes of errors after which a request is sent again, with the
	// credentials of that time. The SDK's own are always retried.
	Retryable []string
}

func (c Config) validate() error {
	var errs []error
	if c.Bucket == "" {
		errs = append(errs, errors.New("no Bucket is set"))
	}
	if c.Region == "" {
		errs = append(errs, errors.New("no Region is set"))
	}
	if c.Credentials == nil {
		errs = append(errs, errors.New("no Credentials are set"))
	}
	return errors.Join(errs...)
}

// StaticCredentials are an access key that never changes, for S3 servers that are not
// Amazon's.
func StaticCredentials(accessKeyID, secretAccessKey string) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(accessKeyID, secretAccessKey, "")
}

// NewTransport has a timeout for every phase of a request but the transfer of
// bodies, which the request's context bounds.
func NewTransport() *http.Transport {
	transport := awshttp.NewBuildableClient().GetTransport()
	transport.ResponseHeaderTimeout = answerTimeout
	return transport
}

// Bucket is a [blob.Bucket] in S3.
type Bucket struct {
	name   string
	client *s3.Client
}

var _ blob.Bucket = (*Bucket)(nil)

// New uses a bucket. It sends no request. The error says which setting is
// wrong.
func New(cfg Config) (*Bucket, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("bucket %q: %w", cfg.Bucket, err)
	}
	return &Bucket{name: cfg.Bucket, client: s3.New(cfg.options())}, nil
}

func (c Config) options() s3.Options {
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	options := s3.Options{
		Region:                     c.Region,
		Credentials:                c.Credentials,
		UsePathStyle:               c.PathStyle,
		Retryer:                    newRetryer(c.Retryable),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		HTTPClient: &http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if c.Endpoint != "" {
		options.BaseEndpoint = &c.Endpoint
	}
	return options
}

// newRetryer retries as the SDK's standard mode, and also after the error that S3 returns
// during another conditional write to the key.
func newRetryer(others []string) aws.Retryer {
	codes := map[string]struct{}{"ConditionalRequestConflict": {}}
	for _, code := range others {
		codes[code] = struct{}{}
	}
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.Retryables = append(o.Retryables, retry.RetryableErrorCode{Codes: codes})
	})
}
