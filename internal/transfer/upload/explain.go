package upload

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
)

// uploadError is the error of an upload, and readError that of reading an outcome.
type (
	uploadError struct{ error }
	readError   struct{ error }
)

func (e *uploadError) Unwrap() error { return e.error }
func (e *readError) Unwrap() error   { return e.error }

// explain says what failed in words for users, or in those of the library if there are none.
func (in *Inbox) explain(err error) string {
	var put *uploadError
	var read *readError
	switch {
	case errors.As(err, &put):
		return "it could not be uploaded: " + in.explainRequest(err, "s3:PutObject")
	case errors.As(err, &read):
		return "it was uploaded, but its outcome cannot be read: " + in.explainRequest(err, "s3:GetObjectTagging and s3:GetObjectVersionTagging")
	default:
		return err.Error()
	}
}

// explainRequest says why a request to the bucket, which needs some rights, failed.
func (in *Inbox) explainRequest(err error, rights string) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		if ofCredentials(err) {
			return "no access key was given: " + api.ErrorMessage()
		}
		switch api.ErrorCode() {
		case "AccessDenied", "Forbidden":
			return fmt.Sprintf("these credentials lack %s on the bucket %s", rights, in.options.Bucket)
		case "NoSuchBucket":
			return fmt.Sprintf("there is no bucket %s: --bucket or LARDER_BUCKET names it", in.options.Bucket)
		case "NotFound":
			return "there is no bucket at that address: AWS_ENDPOINT_URL_S3, or endpoint_url of the profile, must be the bucket's, not the registry's"
		case "InvalidAccessKeyId", "SignatureDoesNotMatch":
			return "the credentials are wrong, revoked, or for another server: on a single node larder uploader create makes new ones, and the operator's are in the file env of its data folder"
		case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
			return "the credentials have expired: log in again"
		case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
			return fmt.Sprintf("the bucket %s is in another region: name it with --region", in.options.Bucket)
		case "InsufficientStorage":
			return api.ErrorMessage()
		}
	}
	var dns *net.DNSError
	var address *url.Error
	var untrusted x509.UnknownAuthorityError
	switch {
	case errors.As(err, &untrusted) && errors.As(err, &address):
		return fmt.Sprintf("this machine does not trust the certificate of %s: set AWS_CA_BUNDLE to a file with the CA that signed it", hostOf(address.URL))
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &address):
		return fmt.Sprintf("nobody answers at %s: is the registry running, and is that its S3 address?", hostOf(address.URL))
	case errors.As(err, &dns):
		return fmt.Sprintf("there is no host %s", dns.Name)
	case strings.Contains(err.Error(), noIdentity):
		_, why, _ := strings.Cut(err.Error(), noIdentity)
		return "the identity token that AWS_WEB_IDENTITY_TOKEN_FILE names cannot be read: " + why
	case strings.Contains(err.Error(), "get credentials") || strings.Contains(err.Error(), "no EC2 IMDS role found"):
		return "there are no credentials: those of a single node are in the file env of its data folder, and those for AWS are found as the AWS CLI finds them"
	}
	return err.Error()
}

// noIdentity is part of the AWS SDK's error for a job without the file of its identity token.
const noIdentity = "failed to retrieve jwt from provide source, "

// ofCredentials says whether an error is the answer to a request for an access key, not the
// bucket's.
func ofCredentials(err error) bool {
	var operation *smithy.OperationError
	for errors.As(err, &operation) {
		if operation.ServiceID != "S3" {
			return true
		}
		err = operation.Err
	}
	return false
}

// hostOf returns the host of a URL.
func hostOf(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return address
}
