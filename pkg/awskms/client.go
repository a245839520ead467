package awskms

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

const (
	// maxAttempts is how often a request is sent at most, including the first time.
	maxAttempts = 4

	// maxBackoff is the longest wait between two of them.
	maxBackoff = 2 * time.Second

	// answerTimeout is how long KMS may take to begin an answer. It takes
	// well under a second.
	answerTimeout = 5 * time.Second
)

// NewTransport has a timeout for every phase of a request; an answer's body is
// a few kilobytes.
func NewTransport() *http.Transport {
	transport := awshttp.NewBuildableClient().GetTransport()
	transport.ResponseHeaderTimeout = answerTimeout
	return transport
}

func (c Config) client(region string) *kms.Client {
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	options := kms.Options{
		Region:      region,
		Credentials: c.Credentials,
		Retryer:     newRetryer(),
		HTTPClient: &http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if c.Endpoint != "" {
		options.BaseEndpoint = &c.Endpoint
	}
	return kms.New(options)
}

var backoff retry.BackoffDelayer = retry.NewExponentialJitterBackoff(maxBackoff)

// newRetryer retries as the SDK's standard mode, and also after a truncated answer: no
// request here changes anything.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.Backoff = backoff
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return aws.TrueTernary
			}
			return aws.UnknownTernary
		}))
	})
}
