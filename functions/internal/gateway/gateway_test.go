package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

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

// checkPath checks that a handler sees the path that the gateway saw, and
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

// What a client puts into a body is in nobody's way, and its query is what it sent.
func TestBodyIsLeftOut(t *testing.T) {
	event := request(http.MethodPost, "/a")
	event.RawQueryString, event.QueryStringParameters = "%zz\x00#", map[string]string{"a": "b"}
	event.Body, event.IsBase64Encoded = "not base64", true
	if r := seen(t, event); r.URL.RawQuery != "%zz%00%23" || r.URL.Fragment != "" || r.ContentLength > 0 || r.Method != http.MethodPost {
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

// form is the event of a form that a browser sends, as the gateway hands it over.
func form(query, body string) events.APIGatewayV2HTTPRequest {
	event := request(http.MethodPost, "/a b")
	event.RawQueryString, event.QueryStringParameters = query, map[string]string{"not": "looked at"}
	event.Cookies = []string{"one=1", "__Host-two=a=b"}
	event.Headers["content-type"] = "application/x-www-form-urlencoded"
	event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(body)), true
	return event
}

// TestWhole checks that queries, cookies and bodies come through, and cookies
// come back, one by one.
func TestWhole(t *testing.T) {
	var got *http.Request
	var body []byte
	serve := AdaptWhole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		for _, name := range []string{"one", "two"} {
			http.SetCookie(w, &http.Cookie{Name: name, Value: "x", Secure: true, Expires: time.Unix(0, 0)}) // with a comma
		}
		w.WriteHeader(http.StatusSeeOther)
	}))
	answer, err := serve(t.Context(), form("state=a%2Bb&code=c+d&state=e", "consent=%26&x=\xff"))
	if err != nil || answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%+v, %v", answer, err)
	}
	if got.URL.Path != "/a b" || got.URL.RawQuery != "state=a%2Bb&code=c+d&state=e" || string(body) != "consent=%26&x=\xff" || got.Method != http.MethodPost ||
		got.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("the handler sees %s %s, %v: %q", got.Method, got.URL, got.Header, body)
	}
	for name, want := range map[string]string{"one": "1", "__Host-two": "a=b"} {
		if cookie, err := got.Cookie(name); err != nil || cookie.Value != want {
			t.Errorf("the cookie %s is %v, %v", name, cookie, err)
		}
	}
	if len(answer.Cookies) != 2 || !strings.HasPrefix(answer.Cookies[1], "two=x; Expires=Thu, 01 Jan 1970") || answer.Headers["Set-Cookie"] != "" {
		t.Errorf("the cookies are %q beside %v", answer.Cookies, answer.Headers)
	}
}

// TestReadersSeeNoCookies checks that a reader knows nobody but by a header.
func TestReadersSeeNoCookies(t *testing.T) {
	if r := seen(t, form("a=b", "c=d")); len(r.Cookies()) > 0 || r.URL.RawQuery != "a=b" || r.ContentLength > 0 {
		t.Errorf("a reader sees %s, %v", r.URL, r.Cookies())
	}
}

// queries are such as a client can send, which have to come through whatever
// they are.
var queries = []string{"", "a=b", "a=%zz", "%", "a b", "#", "a#b=c", "\x00", "a=\r\nb", "\x7f", "ü=\xff", "?", "//", "a;b", "&&=&"}

func checkQuery(t *testing.T, query string) {
	t.Helper()
	var got *http.Request
	_, err := AdaptWhole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(http.StatusNoContent)
	}))(t.Context(), form(query, ""))
	if err != nil || got == nil {
		t.Fatalf("%q: %v", query, err)
	}
	if got.URL.RawQuery != escapeQuery(query) || got.URL.Fragment != "" || got.URL.Path != "/a b" {
		t.Errorf("%q is seen as %#v", query, got.URL)
	}
}

func TestQueries(t *testing.T) {
	for _, query := range queries {
		checkQuery(t, query)
	}
}

func FuzzQueries(f *testing.F) {
	for _, query := range queries {
		f.Add(query)
	}
	f.Fuzz(checkQuery)
}

// TestLargeBody checks that a handler gets no more than it may.
func TestLargeBody(t *testing.T) {
	for size, ok := range map[int]bool{maxBody: true, maxBody + 1: false} {
		var err error
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusNoContent)
		})
		if _, failed := AdaptWhole(handler)(t.Context(), form("", strings.Repeat("a", size))); failed != nil || (err == nil) != ok {
			t.Errorf("%d bytes: %v, %v", size, err, failed)
		}
	}
}
