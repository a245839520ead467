// Package awserror says what a service of AWS, or one that speaks its protocols, has
// answered with an error.
package awserror

import (
	"errors"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Code is the service's word for an error, such as AccessDenied; empty where it is none of
// a service's.
func Code(err error) string {
	if answered, ok := errors.AsType[smithy.APIError](err); ok {
		return answered.ErrorCode()
	}
	return ""
}

// Status is the HTTP status of the answer, 0 where there was none.
func Status(err error) int {
	if answered, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return answered.HTTPStatusCode()
	}
	return 0
}
