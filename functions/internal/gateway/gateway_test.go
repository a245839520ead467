package gateway

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/pkg/protocol"
)

// request is the event of a request whose path the gateway has decoded.
func request(method, rawPath string) events.APIGatewayV2HTTPRequest {
	return events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: rawPath,
		Headers: map[string]string{"accept-encoding": "gzip;q=0, br", "authorization": "Bearer a,b", "host": "registry.example.com"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			DomainName: "registry.example.com",
			HTTP:       events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: rawPath, SourceIP: "192.0.2.1"},
		},
	}
}

// awkward are paths as the gateway hands them over.
var awkward = []string{
	"/", "//", "/%", "/%zz", "/a%2Fb", "/%2e%2e/a", "/../a", "/./a", "/a/", "//a//b", "/a#b", "/a?b=c", "/a b", "/a+b", "/*", "*",
	"/a\x00b", "/a\r\nb", "/a\x7fb", "/ü/☃", "/\xff", "/a:b@c", "/:", "/[", "http://other.example.com/a", "/;,=&$'()!~",
}

// seen is the request that a handler gets for an event.
func seen(t *testing.T, event events.APIGatewayV2HTTPRequest) *http.Request {
	t.Helper()
	var got *http.Request
	_, err := Adapt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(http.StatusNoContent)
	}))(t.Context(), event)
	if err != nil || got == nil {
		t.Fatalf("%q: %v", event.RawPath, err)
	}
	return got
}

// checkPath holds that a handler sees the path that the gateway saw, and
// nothing of it anywhere else.
func checkPath(t *testing.T, rawPath string) {
	t.Helper()
	r := seen(t, request(http.MethodGet, rawPath))
	want := "/" + strings.TrimPrefix(rawPath, "/")
	if r.URL.Path != want || r.URL.RawQuery != "" || r.URL.Fragment != "" || r.Host != "registry.example.com" {
		t.Errorf("%q is seen as %#v at %s", rawPath, r.URL, r.Host)
	}
}

func TestPaths(t *testing.T) {
	for _, rawPath := range awkward {
		checkPath(t, rawPath)
	}
}

func FuzzPaths(f *testing.F) {
	for _, rawPath := range awkward {
		f.Add(rawPath)
	}
	f.Fuzz(checkPath)
}

// What a client puts into query and body is in nobody's way.
func TestQueryAndBodyAreLeftOut(t *testing.T) {
	event := request(http.MethodPost, "/a")
	event.RawQueryString, event.QueryStringParameters = "%zz\x00#", map[string]string{"a": "b"}
	event.Body, event.IsBase64Encoded = "not base64", true
	if r := seen(t, event); r.URL.RawQuery != "" || r.ContentLength > 0 || r.Method != http.MethodPost {
		t.Errorf("the handler sees %s %s with %d bytes", r.Method, r.URL, r.ContentLength)
	}
}

func TestHeaders(t *testing.T) {
	r := seen(t, request(http.MethodHead, "/"))
	if r.Method != http.MethodHead || r.Header.Get("Authorization") != "Bearer a,b" || strings.Join(r.Header.Values("Accept-Encoding"), ",") != "gzip;q=0,br" {
		t.Errorf("the handler sees %s, %v", r.Method, r.Header)
	}
}

// The registry's answers come through: statuses, headers, errors in JSON.
func TestAnswers(t *testing.T) {
	var log bytes.Buffer
	serve := Adapt(protocol.New(protocol.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}))
	for _, c := range []struct {
		method, rawPath string
		status          int
		body            string
	}{
		{http.MethodGet, "/.well-known/terraform.json", 200, `{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}`},
		{http.MethodHead, "/.well-known/terraform.json", 200, ""},
		{http.MethodPost, "/.well-known/terraform.json", 405, `{"errors":["this address answers GET and HEAD alone"]}`},
		{http.MethodGet, "/v1/modules/acme/vpc/aws/versions", 404, `{"errors":["there is nothing at /v1/modules/acme/vpc/aws/versions"]}`},
		{http.MethodGet, "/%zz", 404, `{"errors":["there is nothing at /%25zz"]}`},
		{http.MethodGet, "/a\x00", 400, `{"errors":["\"a%00\" cannot be part of an address"]}`},
		{http.MethodGet, "/..", 400, `{"errors":["\"..\" cannot be part of an address"]}`},
	} {
		answer, err := serve(t.Context(), request(c.method, c.rawPath))
		if err != nil || answer.StatusCode != c.status || strings.TrimSpace(answer.Body) != c.body || answer.IsBase64Encoded {
			t.Errorf("%s %q = %+v, %v, want %d %s", c.method, c.rawPath, answer, err, c.status, c.body)
		}
		if answer.Headers["Content-Type"] != "application/json" {
			t.Errorf("%s %q: headers %v", c.method, c.rawPath, answer.Headers)
		}
	}
	var line struct{ Path string }
	if err := json.NewDecoder(&log).Decode(&line); err != nil || line.Path != "/.well-known/terraform.json" {
		t.Errorf("the log begins with %+v, %v", line, err)
	}
}
