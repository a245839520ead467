package dynamocatalog_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
)

// fault is what goes wrong with a request.
type fault struct {
	name   string
	code   string // of DynamoDB's answer; empty for a connection that is reset
	status int
	done   bool // whether DynamoDB did what the request asks for
}

// After these faults a request is sent again.
var passing = []fault{
	{name: "throttled", code: "ThrottlingException", status: http.StatusBadRequest},
	{name: "throughput", code: "ProvisionedThroughputExceededException", status: http.StatusBadRequest},
	{name: "internal", code: "InternalServerError", status: http.StatusInternalServerError},
	{name: "internal, but done", code: "InternalServerError", status: http.StatusInternalServerError, done: true},
	{name: "reset"},
	{name: "reset, but done", done: true},
}

// These do not.
var final = []fault{
	{name: "refused", code: "AccessDeniedException", status: http.StatusBadRequest},
	{name: "refused, but done", code: "AccessDeniedException", status: http.StatusBadRequest, done: true},
}

// transport notes the requests, and fails those that a test picks.
type transport struct {
	// pick gets the number of a request, counted from 1. Nil: no request fails.
	pick func(number int) (fault, bool)

	mu         sync.Mutex
	operations []string
}

// take is the operations since the last time.
func (t *transport) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	operations := t.operations
	t.operations = nil
	return operations
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	operation, err := operationOf(r)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.operations = append(t.operations, operation)
	number := len(t.operations)
	t.mu.Unlock()
	if t.pick != nil {
		if f, ok := t.pick(number); ok {
			return f.roundTrip(r)
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// operationOf is the name of an operation, how many keys a batch has, and whether it is a
// consistent read.
func operationOf(r *http.Request) (string, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if operation == "BatchGetItem" {
		operation += fmt.Sprintf(" of %d", bytes.Count(body, []byte(`"SK":`)))
	}
	if bytes.Contains(body, []byte(`"ConsistentRead":true`)) {
		operation += ", consistent"
	}
	return operation, nil
}

func (f fault) roundTrip(r *http.Request) (*http.Response, error) {
	if f.done {
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if err := response.Body.Close(); err != nil {
			return nil, err
		}
	} else if err := r.Body.Close(); err != nil { // as a RoundTripper must
		return nil, err
	}
	if f.code == "" {
		return nil, syscall.ECONNRESET
	}
	return &http.Response{
		StatusCode: f.status,
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#` + f.code + `","message":"failed by the test"}`)),
		Request:    r,
	}, nil
}

// only fails one request.
func (f fault) only(at int) func(number int) (fault, bool) {
	return func(number int) (fault, bool) { return f, number == at }
}
