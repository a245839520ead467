// Package s3presign makes URLs with which clients read objects of an S3 bucket, without
// credentials and for a limited time.
//
// A URL is byte for byte the one that the AWS SDK makes. The SDK builds a request and takes
// it through all of its middleware for each URL, which costs many times as much as the
// signature. Here is only the signature. A function that only makes URLs does not link an
// S3 client.
package s3presign

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/larder-registry/larder/internal/awssignature"
)

// maxLifetime is the longest that S3 lets a presigned URL live.
const maxLifetime = 7 * 24 * time.Hour

// Config says which bucket, where clients reach it, and who signs.
type Config struct {
	// Bucket is the name of the bucket. Required.
	Bucket string

	// Region is the bucket's AWS region, or the region that another server is
	// configured with. Required.
	Region string

	// Credentials sign the URLs. They are asked for each URL. A URL dies with the
	// credentials that made it. Required.
	Credentials aws.CredentialsProvider

	// Endpoint is the URL at which clients reach an S3 server that is not Amazon's: the
	// URLs begin with it. Empty: Amazon's for the region.
	Endpoint string

	// PathStyle puts the bucket's name into the path of URLs instead of the
	// host name. Servers on an IP address need it.
	PathStyle bool

	// Lifetime is how long the URLs work, up to 7 days. Required.
	Lifetime time.Duration
}

func (c Config) validate() error {
	var errs []error
	if c.Credentials == nil {
		errs = append(errs, errors.New("no Credentials are set"))
	}
	if c.Lifetime < time.Second || c.Lifetime > maxLifetime {
		errs = append(errs, fmt.Errorf("the Lifetime is %v: it must be between a second and %v", c.Lifetime, maxLifetime))
	}
	return errors.Join(errs...)
}

// Presigner makes the URLs. It is safe for concurrent use.
type Presigner struct {
	config  Config
	address address
	now     func() time.Time
	kept    atomic.Pointer[signer] // of the last URL
}

// New makes a presigner. It sends no request. The error says which setting is wrong.
func New(c Config) (*Presigner, error) {
	at, err := locate(c)
	if err := errors.Join(err, c.validate()); err != nil {
		return nil, fmt.Errorf("bucket %q: %w", c.Bucket, err)
	}
	return &Presigner{config: c, address: at, now: time.Now}, nil
}

// PresignGet is a URL that reads an object's current version without credentials, for a
// limited time. It is computed without a request: the object may not exist.
func (p *Presigner) PresignGet(ctx context.Context, key string) (string, error) {
	if key == "" { // it would be the URL of the whole bucket
		return "", errors.New("presign: no key of an object is given")
	}
	credentials, err := p.config.Credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("presign %q in the bucket: get credentials: %w", key, err)
	}
	now := p.now().UTC()
	return p.signer(credentials, now).presign(p.address, key, now.Format(awssignature.TimeFormat)), nil
}

// signer is the kept one, until the credentials or the day change.
func (p *Presigner) signer(c aws.Credentials, now time.Time) *signer {
	date := now.Format(awssignature.DateFormat)
	if kept := p.kept.Load(); kept != nil && kept.date == date &&
		kept.id == c.AccessKeyID && kept.secret == c.SecretAccessKey && kept.token == c.SessionToken {
		return kept
	}
	made := newSigner(c, date, p.config)
	p.kept.Store(made)
	return made
}

// signer has what is the same in all URLs of a day.
type signer struct {
	date, id, secret, token string

	key    []byte
	scope  string
	before string // the query up to the time
	after  string // the query from there to the signature
}

func newSigner(c aws.Credentials, date string, config Config) *signer {
	const service = "s3"
	scope := strings.Join([]string{date, config.Region, service, awssignature.Terminal}, "/")
	after := "&X-Amz-Expires=" + strconv.Itoa(int(config.Lifetime/time.Second))
	if c.SessionToken != "" {
		after += "&X-Amz-Security-Token=" + escaped(c.SessionToken)
	}
	return &signer{
		date: date, id: c.AccessKeyID, secret: c.SecretAccessKey, token: c.SessionToken,
		key:    awssignature.Key(c.SecretAccessKey, date, config.Region, service),
		scope:  scope,
		before: "X-Amz-Algorithm=" + awssignature.Algorithm + "&X-Amz-Credential=" + escaped(c.AccessKeyID+"/"+scope) + "&X-Amz-Date=",
		after:  after + "&X-Amz-SignedHeaders=host&x-id=GetObject",
	}
}

// presign makes the URL of a key at a time. The path and the query of the canonical request
// are those of the URL.
func (s *signer) presign(at address, key, now string) string {
	const method, separator, signature = "GET\n", "?", "&X-Amz-Signature="
	canonical := make([]byte, 0, 512+len(at.path)+len(at.host)+len(key)+len(s.before)+len(s.after))
	canonical = append(append(canonical, method...), at.path...)
	canonical = awssignature.AppendEscaped(canonical, key, true)
	pathEnd := len(canonical)
	canonical = append(append(append(append(canonical, '\n'), s.before...), now...), s.after...)
	queryEnd := len(canonical)
	canonical = append(append(canonical, "\nhost:"...), at.host...)
	canonical = append(canonical, "\n\nhost\n"+awssignature.UnsignedPayload...)
	signed := awssignature.Sign(s.key, now, s.scope, canonical)

	var url strings.Builder
	url.Grow(len(at.base) + queryEnd + len(signature) + len(signed))
	url.WriteString(at.base)
	url.Write(canonical[len(method):pathEnd])
	url.WriteString(separator)
	url.Write(canonical[pathEnd+1 : queryEnd])
	url.WriteString(signature)
	url.WriteString(signed)
	return url.String()
}

func escaped(text string) string {
	return string(awssignature.AppendEscaped(nil, text, false))
}
