package awstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/templatetest"
)

func TestTooLarge(t *testing.T) {
	for name, c := range map[string]struct {
		path, header string
		want         int
	}{
		"small":                {"/", "x", 0},
		"long line":            {"/" + strings.Repeat("a", maxHead), "x", http.StatusRequestURITooLong},
		"long header":          {"/", strings.Repeat("a", maxHead), http.StatusRequestHeaderFieldsTooLarge},
		"long in its sum":      {"/" + strings.Repeat("a", maxHead/2), strings.Repeat("a", maxHead/2), http.StatusRequestHeaderFieldsTooLarge},
		"long, but not enough": {"/" + strings.Repeat("a", maxHead/2), strings.Repeat("a", maxHead/2-500), 0},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("Authorization", c.header)
		if got := tooLarge(r); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestEvent holds how a request is told to a function.
func TestEvent(t *testing.T) {
	s := &Stack{Deployment: &templatetest.Deployment{API: templatetest.API{Stage: "$default"}}}
	r := httptest.NewRequest(http.MethodPost, "https://registry.example.com/v1/a%2Fb/c%20d%25?x=1&x=2&y=a+b", nil)
	r.Header.Add("Accept", "a/b")
	r.Header.Add("Accept", "c/d")
	r.Header.Add("Cookie", "k=v; l=w")
	var event map[string]any
	if err := json.Unmarshal([]byte(s.event(r, "ANY /v1/{x}/{y}", map[string]string{"x": "a%2Fb"}, []byte{0xff})), &event); err != nil {
		t.Fatal(err)
	}
	headers, _ := event["headers"].(map[string]any)
	request, _ := event["requestContext"].(map[string]any)
	for name, c := range map[string]struct{ got, want any }{
		"version":         {event["version"], "2.0"},
		"path":            {event["rawPath"], "/v1/a/b/c d%"},
		"query":           {event["rawQueryString"], "x=1&x=2&y=a+b"},
		"parameters":      {event["queryStringParameters"], map[string]any{"x": "1,2", "y": "a b"}},
		"path parameters": {event["pathParameters"], map[string]any{"x": "a/b"}},
		"cookies":         {event["cookies"], []any{"k=v", "l=w"}},
		"cookie header":   {headers["cookie"], nil},
		"one value":       {headers["accept"], "a/b,c/d"},
		"host":            {headers["host"], "registry.example.com"},
		"body":            {event["body"], "/w=="},
		"base64":          {event["isBase64Encoded"], true},
		"stage":           {request["stage"], "$default"},
		"method":          {request["http"].(map[string]any)["method"], http.MethodPost},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	for escaped, want := range map[string]string{"/a%3Fb/c": "/a", "/a%23b": "/a#b", "/%252e": "/%2e", "/%00": "/\x00"} {
		r := &http.Request{Method: http.MethodGet, Header: http.Header{}, URL: &url.URL{}}
		var err error
		if r.URL, err = url.Parse(escaped); err != nil {
			t.Fatal(err)
		}
		var event struct{ RawPath string }
		if err := json.Unmarshal([]byte(s.event(r, "", nil, nil)), &event); err != nil || event.RawPath != want {
			t.Errorf("%s is told as %q, %v, want %q", escaped, event.RawPath, err, want)
		}
	}
}

// TestBody holds which bodies are handed over as they are.
func TestBody(t *testing.T) {
	for _, c := range []struct{ contentType, body, want string }{
		{"application/x-www-form-urlencoded", "a=b", "YT1i"},
		{"", "a=b", "YT1i"},
		{"application/json; charset=utf-8", "{}", "{}"},
		{"text/plain", "hi", "hi"},
		{"text/plain", "\xff", "/w=="},
	} {
		if got, encoded := text(c.contentType, []byte(c.body)); got != c.want || encoded != (c.want != c.body) {
			t.Errorf("%s %q is told as %q, %t", c.contentType, c.body, got, encoded)
		}
	}
}

// TestAnswer holds how a function's answer reaches the client.
func TestAnswer(t *testing.T) {
	for payload, want := range map[string]struct {
		ok     bool
		status int
		body   string
	}{
		`{"statusCode":200,"body":"hi"}`:                           {true, 200, "hi"},
		`{"statusCode":200,"body":"aGk=","isBase64Encoded":true}`:  {true, 200, "hi"},
		`{"statusCode":204,"headers":{"Content-Length":"9"}}`:      {true, 204, ""},
		`{"statusCode":200,"body":"hi","headers":{"X-One":"1,2"}}`: {true, 200, "hi"},
		`{"statusCode":200,"body":"***","isBase64Encoded":true}`:   {},
		`{"statusCode":99}`: {},
		`{"body":"hi"}`:     {},
		`"hi"`:              {},
		``:                  {},
	} {
		a, ok := readAnswer([]byte(payload))
		if ok != want.ok {
			t.Errorf("%s: readable %t, want %t", payload, ok, want.ok)
		}
		if !ok {
			continue
		}
		w := httptest.NewRecorder()
		a.write(w)
		if w.Code != want.status || w.Body.String() != want.body || w.Header().Get("Content-Length") == "9" {
			t.Errorf("%s: answered with %d %q %v", payload, w.Code, w.Body, w.Header())
		}
	}
}

// TestRefuse holds the gateway's own form of an error.
func TestRefuse(t *testing.T) {
	w := httptest.NewRecorder()
	refuse(w, http.StatusInternalServerError)
	if got := w.Body.String(); got != `{"message":"Internal Server Error"}` || w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, got)
	}
}

// TestFunctionFails holds that of a function that does not answer, the client
// learns no more than that.
func TestFunctionFails(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bootstrap")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho broken >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := &function{name: "versions", timeout: time.Minute, free: make(chan struct{}, 1)}
	f.giveBack(&instance{lambdatest.Start(t, binary, nil), &calls{}})
	s := &Stack{
		Deployment: &templatetest.Deployment{},
		routes:     newRoutes(map[string]string{"ANY /v1": "versions"}),
		functions:  map[string]*function{"versions": f},
	}
	for path, want := range map[string]int{"/v1": http.StatusInternalServerError, "/v2": http.StatusNotFound} {
		w := httptest.NewRecorder()
		s.serveHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if body := w.Body.String(); w.Code != want || body != fmt.Sprintf(`{"message":%q}`, http.StatusText(want)) {
			t.Errorf("%s: %d %s", path, w.Code, body)
		}
	}
}
