package awserror

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestErrors(t *testing.T) {
	api := &smithy.GenericAPIError{Code: "AccessDenied"}
	answer := &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusForbidden}}, Err: api,
	}}
	for _, tt := range []struct {
		err    error
		code   string
		status int
	}{
		{nil, "", 0},
		{errors.New("connection refused"), "", 0},
		{api, "AccessDenied", 0},
		{answer, "AccessDenied", http.StatusForbidden},
		{fmt.Errorf("read: %w", answer), "AccessDenied", http.StatusForbidden},
	} {
		if code, status := Code(tt.err), Status(tt.err); code != tt.code || status != tt.status {
			t.Errorf("%v: %q and %d, want %q and %d", tt.err, code, status, tt.code, tt.status)
		}
	}
}
