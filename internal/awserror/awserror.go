// Package awserror reads errors that a service of AWS, or of another server with its protocols,
// has answered.
package awserror

import (
	"errors"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Code returns the service's code for an error, such as AccessDenied, or "" for other errors.
func Code(err error) string {
	if answered, ok := errors.AsType[smithy.APIError](err); ok {
		return answered.ErrorCode()
	}
	return ""
}

// Status returns the HTTP status of the answer, or 0 if there was no answer.
func Status(err error) int {
	if answered, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return answered.HTTPStatusCode()
	}
	return 0
}
