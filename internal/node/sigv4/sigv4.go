// Package sigv4 verifies from its headers alone, before anything of its body is read, that
// an S3 request was signed with an access key's secret.
//
// It is AWS Signature Version 4 for S3. The SDK's signer cannot verify: it chooses itself
// which headers it signs, while a request names the headers that were signed.
package sigv4

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/larder-registry/larder/internal/awssignature"
)

const (
	service       = "s3"
	contentHash   = "X-Amz-Content-Sha256"
	securityToken = "X-Amz-Security-Token"

	// maxSkew is the largest difference between a client's clock and the server's, as on AWS.
	maxSkew = 15 * time.Minute
	// maxLifetime is the longest lifetime of a presigned URL, as on AWS.
	maxLifetime = 7 * 24 * time.Hour
)

// Why a request is not authenticated.
var (
	// ErrAnonymous reports that nobody signed.
	ErrAnonymous = errors.New("the request is not signed")
	// ErrTwice reports that a request has two signatures.
	//
	//lint:ignore ST1005 these are AWS's words
	ErrTwice = errors.New("Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified")
	// ErrUnsupported reports that the request is signed in another way.
	ErrUnsupported = errors.New("the way in which the request is signed is not supported: sign with " + awssignature.Algorithm)
	// ErrMalformed reports that the signature, or what describes it, cannot be read.
	ErrMalformed = errors.New("the request's signature cannot be read")
	// ErrUnknownKey reports an access key that does not exist.
	ErrUnknownKey = errors.New("there is no such access key, or not any more, or its session token is missing")
	// ErrSkewed reports that the request was signed at another time than now.
	ErrSkewed = errors.New("the difference between the request time and the current time is too large")
	// ErrExpired reports that a presigned URL has expired.
	ErrExpired = errors.New("request has expired")
	// ErrMismatch reports that another request was signed, or this one with another secret.
	ErrMismatch = errors.New("the request signature we calculated does not match the signature you provided: check your key and signing method")
)

// Verifier knows the access keys of one region.
type Verifier struct {
	Region string
	// Secret returns the secret of an access key, if the key exists. The token is that of
	// a session, and empty for other keys.
	Secret func(accessKeyID, sessionToken string) (string, bool)
}

// Verify returns nil if the request, which a server has read, was signed with the secret of
// its access key, and not too long before now.
//
// Errors: the ones above.
func (v Verifier) Verify(r *http.Request, now time.Time) error {
	query, err := parseQuery(r.RequestURI)
	if err != nil {
		return err
	}
	c, err := readClaim(r.Header, query)
	if err != nil {
		return err
	}
	secret, known := v.Secret(c.accessKeyID, c.sessionToken)
	if !known {
		return ErrUnknownKey
	}
	if c.region != v.Region {
		return fmt.Errorf("%w: it is for the region %q, the bucket is in %q", ErrMalformed, c.region, v.Region)
	}
	if err := c.checkTime(now); err != nil {
		return err
	}
	canonical, err := canonicalRequest(r, query, c)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(c.sign(secret, canonical)), []byte(c.signature)) == 0 {
		return ErrMismatch
	}
	return nil
}
