package awskms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	disabled        = "it is disabled: enable it (aws kms enable-key)"
	pendingDeletion = "it is scheduled for deletion: to keep it, cancel that and enable it again " +
		"(aws kms cancel-key-deletion, aws kms enable-key)"
)

// failed adds to an error which key it is about, and what to do.
func (s *Signer) failed(operation string, err error) error {
	if reason := explain(operation, err); reason != "" {
		return fmt.Errorf("signing key %s: %s: %w", s.arn, reason, err)
	}
	return fmt.Errorf("signing key %s: %w", s.arn, err)
}

// explain says to an operator why KMS did not do an operation. It is empty if the error
// itself says that.
func explain(operation string, err error) string {
	var refusal smithy.APIError
	var unsent *smithyhttp.RequestSendError // perhaps only its answer was lost
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ""
	case errors.As(err, &unsent), errors.Is(err, io.ErrUnexpectedEOF):
		return "no answer from KMS"
	case !errors.As(err, &refusal):
		return ""
	}
	code := refusal.ErrorCode()
	if _, ok := retry.DefaultThrottleErrorCodes[code]; ok {
		return "KMS is asked too often, and it was tried again in vain: if this goes on, ask for a higher quota of requests to KMS"
	}
	switch code {
	case "DisabledException", "KMSInvalidStateException":
		// Both codes are used for a key that is scheduled for deletion.
		if strings.Contains(refusal.ErrorMessage(), "is pending deletion") {
			return pendingDeletion
		}
		if code == "DisabledException" {
			return disabled
		}
		return "its state does not allow kms:" + operation
	case "AccessDeniedException":
		return fmt.Sprintf("kms:%s is not allowed: the role's policy and the key's policy must both let this role do it", operation)
	case "NotFoundException":
		return "there is no such key in this account and region: if it was deleted, nothing can sign with it any more"
	}
	return ""
}
