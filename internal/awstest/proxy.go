package awstest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// maxRequest is the largest request that names its operation in its body, in bytes: DynamoDB's.
const maxRequest = 16 << 20

// Fault answers a request in place of AWS; nil leaves the answer to AWS.
type Fault http.Handler

// Interfere lets pick answer the functions' requests, from several goroutines at once. It
// replaces the pick of before; nil ends it. A request that needs several permissions is given by
// the first.
func (s *Stack) Interfere(pick func(Call) Fault) { s.pick.Store(&pick) }

func (s *Stack) fault(c Call) Fault {
	if pick := s.pick.Load(); pick != nil && *pick != nil {
		return (*pick)(c)
	}
	return nil
}

// endpoint serves one of AWS's services to one instance of a function until the
// test ends.
func (s *Stack) endpoint(t testing.TB, function string, made *calls, needs permissions, service http.Handler) string {
	t.Helper()
	server := httptest.NewServer(s.record(function, made, needs, service))
	t.Cleanup(server.Close)
	return server.URL
}

// record is one of AWS's services for one instance of a function: it records which permissions a
// request needs, fails it if the test wants that, and passes it on.
func (s *Stack) record(function string, made *calls, needs permissions, service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		needed, err := needs(r)
		if err != nil {
			s.fail(w, err)
			return
		}
		for i := range needed {
			needed[i].Function = function
		}
		made.add(needed...)
		if fault := s.fault(needed[0]); fault != nil {
			fault.ServeHTTP(w, r)
			return
		}
		service.ServeHTTP(&statusRecorder{ResponseWriter: w, status: func(status int) {
			made.add(listingNeeded(needed[0], status)...)
		}}, r)
	})
}

// permissions returns the permissions that a request needs, at least one.
type permissions func(r *http.Request) ([]Call, error)

// inBody reads the permissions from the body of a request, which can be read again.
func inBody(needs func(r *http.Request, body []byte) ([]Call, error)) permissions {
	return func(r *http.Request) ([]Call, error) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
		if err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return needs(r, body)
	}
}

// listingNeeded returns the permission with which S3 answers that an object does not exist:
// without it, it answers that access is denied.
func listingNeeded(c Call, status int) []Call {
	if status != http.StatusNotFound || c.Request != "s3:GetObject" && c.Request != "s3:HeadObject" {
		return nil
	}
	bucket, _ := splitObjectARN(c.Resource)
	return []Call{{Function: c.Function, Action: "s3:ListBucket", Resource: objectARN(bucket, "")}}
}

// statusRecorder keeps the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status func(int)
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status(status)
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// forward passes requests on unchanged, with the client's Host header, which is signed.
func forward(t testing.TB, to string, rewrite func(*http.Request) error) *httputil.ReverseProxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			if rewrite != nil {
				if err := rewrite(r.Out); err != nil {
					panic(err) // never: a request that was read can be signed
				}
			}
		},
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		ErrorLog:  discard,
	}
}

// fail answers with an error of the tests themselves.
func (s *Stack) fail(w http.ResponseWriter, err error) {
	s.broken(err)
	http.Error(w, err.Error(), http.StatusNotImplemented)
}
