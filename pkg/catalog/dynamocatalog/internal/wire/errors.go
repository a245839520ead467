package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Error is DynamoDB's answer to a request that it refused, or that failed there.
type Error struct {
	Operation string
	Code      string // the name of DynamoDB's exception; empty if something else answered
	Message   string
	Status    int    // of HTTP
	RequestID string // by which AWS finds the request

	// Reasons has a code for each write of a transaction that was cancelled: None for
	// those that did not cancel it.
	Reasons []string

	// Item is the item for which the condition of a [Put] failed that has ReturnOld.
	Item Item
}

// Error says the exception's name and message.
func (e *Error) Error() string {
	return fmt.Sprintf("DynamoDB %s: %s: %s (status %d, request ID %q)", e.Operation, cmp.Or(e.Code, "no exception"), e.Message, e.Status, e.RequestID)
}

// ErrorCode is the name of DynamoDB's exception, as the AWS SDK's errors have it.
func (e *Error) ErrorCode() string { return e.Code }

// failure reads an answer that is an error. Whatever answered, the status is kept.
func failure(operation string, status int, header http.Header, text string) *Error {
	var body struct {
		Type    string `json:"__type"`
		Message string
		Item    json.RawMessage
		Reasons []struct{ Code string } `json:"CancellationReasons"`
	}
	e := &Error{Operation: operation, Status: status, RequestID: header.Get("X-Amzn-Requestid")}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		e.Message = fmt.Sprintf("the answer is not DynamoDB's: %.200q", text)
		return e
	}
	e.Code, e.Message = exception(header.Get("X-Amzn-Errortype")), body.Message
	if e.Code == "" {
		e.Code = exception(body.Type)
	}
	for _, reason := range body.Reasons {
		e.Reasons = append(e.Reasons, reason.Code)
	}
	if body.Item != nil {
		s := scanner{text: string(body.Item)}
		e.Item, _ = s.item() // without it, the error is the same
	}
	return e
}

// exception is the name of an exception without its namespace before a # and its URL
// after a colon.
func exception(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name[strings.LastIndexByte(name, '#')+1:]
}

// brokenError is an attempt without an answer, or with a part of one.
type brokenError struct {
	operation string
	host      string
	err       error
}

func (e *brokenError) Error() string {
	return fmt.Sprintf("DynamoDB %s at %s: %s", e.operation, e.host, e.err)
}

func (e *brokenError) Unwrap() error { return e.err }

// retriedStatus has the status codes after which a request is sent again, whatever the
// exception is.
var retriedStatus = map[int]bool{
	http.StatusInternalServerError: true,
	http.StatusBadGateway:          true,
	http.StatusServiceUnavailable:  true,
	http.StatusGatewayTimeout:      true,
}

// retriedCodes has the exceptions after which a request is sent again, whatever the status
// is: that there was no time, or too many requests.
var retriedCodes = map[string]bool{
	"RequestTimeout":          true,
	"RequestTimeoutException": true,

	"BandwidthLimitExceeded":                 true,
	"EC2ThrottledException":                  true,
	"LimitExceededException":                 true,
	"PriorRequestNotComplete":                true,
	"ProvisionedThroughputExceededException": true,
	"RequestLimitExceeded":                   true,
	"RequestThrottled":                       true,
	"RequestThrottledException":              true,
	"SlowDown":                               true,
	"ThrottledException":                     true,
	"Throttling":                             true,
	"ThrottlingException":                    true,
	"TooManyRequestsException":               true,
	"TransactionInProgressException":         true,
}

// clockCodes has the exceptions whose reason may be that the clock is wrong.
var clockCodes = map[string]bool{
	"AccessDeniedException":     true,
	"AuthFailure":               true,
	"InvalidSignatureException": true,
	"RequestTimeTooSkewed":      true,
	"SignatureDoesNotMatch":     true,
}

// canPass says whether the same request may succeed when it is sent again.
func canPass(err error) bool {
	if answered, ok := errors.AsType[*Error](err); ok {
		return retriedStatus[answered.Status] || retriedCodes[answered.Code]
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return false
	}
	_, broken := errors.AsType[*brokenError](err)
	return broken
}

// timedOut says whether an attempt took too long.
func timedOut(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}
