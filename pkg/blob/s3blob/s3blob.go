// Package s3blob keeps uploads and everything published in an S3 bucket with
// versioning: Amazon's, or any server's that speaks its protocol.
//
// # Checksums
//
// A body is signed with its SHA-256, so the server refuses other bytes than
// those that were sent. The checksums that the SDK would add on top come as
// trailers of a chunked encoding, which servers other than Amazon's may not
// know, and what is read is checked against its published SHA-256 anyway: so
// they are sent and asked for only where S3 requires them.
//
// # Permissions on AWS
//
// Without s3:ListBucket, S3 answers 403 for an object that does not exist, and
// [registry.ErrNotFound] is never seen.
package s3blob

import (
	"context"
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
	// maxAttempts is how often a request is sent, the first time included.
	maxAttempts = 5

	// answerTimeout is how long S3 may take to begin an answer once it has
	// the whole request. A copy of blob.MaxCopy bytes is answered when
	// it is done.
	answerTimeout = 10 * time.Minute

	// maxURLLifetime is the longest that S3 lets a presigned URL live.
	maxURLLifetime = 7 * 24 * time.Hour
)

// Config says which bucket, where it is, and as whom to use it.
type Config struct {
	// Bucket is the name of the bucket, which has versioning. Required.
	Bucket string

	// Region is the bucket's AWS region; another server's is whatever it
	// was set up with. Required.
	Region string

	// Credentials sign requests and URLs. A presigned URL dies with the
	// credentials that made it. Required.
	Credentials aws.CredentialsProvider

	// Endpoint is the URL of an S3 server other than Amazon's, as this
	// process reaches it. Empty: Amazon's for the region.
	Endpoint string

	// PublicEndpoint is the URL of the same server as clients reach it; the
	// URLs that clients get begin with it. Empty: Endpoint.
	PublicEndpoint string

	// PathStyle puts the bucket's name into the path of URLs instead of the
	// host name. Servers on an IP address need it.
	PathStyle bool

	// URLLifetime is how long presigned URLs work, up to 7 days. Required.
	URLLifetime time.Duration

	// Transport carries the requests. Nil: [NewTransport].
	Transport http.RoundTripper

	// Retryable are codes of errors after which a request is sent again, with the
	// credentials that there are then: beside those that S3 itself means so.
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
	if c.URLLifetime < time.Second || c.URLLifetime > maxURLLifetime {
		errs = append(errs, fmt.Errorf("URLLifetime is %v: it must be between a second and %v", c.URLLifetime, maxURLLifetime))
	}
	return errors.Join(errs...)
}

// StaticCredentials are an access key that never changes, as S3 servers other
// than Amazon's have them.
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
	name    string
	client  *s3.Client
	presign *s3.PresignClient
}

var _ blob.Bucket = (*Bucket)(nil)

// New uses a bucket. It sends no request. The error says which setting is
// wrong.
func New(cfg Config) (*Bucket, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("bucket %q: %w", cfg.Bucket, err)
	}
	options := cfg.options()
	public := options.Copy()
	if cfg.PublicEndpoint != "" {
		public.BaseEndpoint = &cfg.PublicEndpoint
	}
	return &Bucket{
		name:    cfg.Bucket,
		client:  s3.New(options),
		presign: s3.NewPresignClient(s3.New(public), s3.WithPresignExpires(cfg.URLLifetime)),
	}, nil
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

// newRetryer retries what the SDK's standard mode does, and the answer that S3
// gives when another conditional write to the key is under way.
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

// PresignGet is a URL that reads an object's current version without
// credentials, for a limited time. It is computed here, without asking S3:
// whether there is such an object is not known.
func (b *Bucket) PresignGet(ctx context.Context, key string) (string, error) {
	request, err := b.presign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return "", failed("presign", key, err)
	}
	return request.URL, nil
}
