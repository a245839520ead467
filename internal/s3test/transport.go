package s3test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// Fault is a fault of a request. The client always gets the same answer, after which it does not
// try again.
type Fault int

// The faults.
const (
	None    Fault = iota // nothing: the server's own answer
	Refused              // the server never sees the request
	Lost                 // the server does what the request asks for
)

// Transport counts requests, and fails those that a test picks.
type Transport struct {
	// Fault picks the fault of a request. It may be called by several goroutines at once. Nil:
	// no request fails.
	Fault func(*http.Request) Fault

	count atomic.Int64
}

// Count returns the number of requests.
func (t *Transport) Count() int { return int(t.count.Load()) }

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.count.Add(1)
	fault := None
	if t.Fault != nil {
		fault = t.Fault(r)
	}
	if fault == Refused {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper must
		}
		return forbidden(r), nil
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || fault == None {
		return response, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	return forbidden(r), nil
}

func forbidden(r *http.Request) *http.Response {
	return &http.Response{
		Status:     "403 Forbidden",
		StatusCode: http.StatusForbidden,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{"Content-Type": {"application/xml"}},
		Body:       io.NopCloser(strings.NewReader(`<Error><Code>AccessDenied</Code><Message>failed by the test</Message></Error>`)),
		Request:    r,
	}
}
