package awstest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of an HTTP API. See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
const (
	maxHead = 10_240   // bytes of request line and headers
	maxBody = 10 << 20 // bytes
)

// Request is a request to the registry, and its answer.
type Request struct {
	Method, Path string
	Function     string // empty where the gateway answered by itself
	Status       int
	Calls        []Call // that the function made
}

// serveHTTP is the HTTP API.
func (s *Stack) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if status := tooLarge(r); status != 0 {
		refuse(w, status)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	found, parameters := s.routes.find(r.Method, r.URL.EscapedPath())
	if found == nil {
		refuse(w, http.StatusNotFound)
		return
	}
	f := s.functions[found.function]
	payload, made, err := s.invoke(f, s.event(r, found.key, parameters, body), f.timeout)
	a, ok := readAnswer(payload)
	if err != nil || !ok {
		a = answer{StatusCode: http.StatusInternalServerError}
	}
	s.noteRequest(Request{r.Method, r.URL.EscapedPath(), f.name, a.StatusCode, made})
	if err != nil || !ok {
		refuse(w, http.StatusInternalServerError)
		return
	}
	a.head = r.Method == http.MethodHead
	a.write(w)
}

// tooLarge returns the status for a request line and headers that the gateway refuses, or 0.
func tooLarge(r *http.Request) int {
	line := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  \r\n")
	head := line + len("Host: \r\n") + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			head += len(name) + len(value) + len(": \r\n")
		}
	}
	switch {
	case line > maxHead:
		return http.StatusRequestURITooLong
	case head > maxHead:
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return 0
}

// refuse answers in the gateway's own words.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, encode(map[string]string{"message": http.StatusText(status)})) //nolint:errcheck // the client may have left
}

// event returns a request in payload format 2.0. The path is decoded, and ends at a decoded
// question mark. See
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
func (s *Stack) event(r *http.Request, routeKey string, parameters map[string]string, body []byte) string {
	now := time.Now().UTC()
	path, _, _ := strings.Cut(r.URL.Path, "?")
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	event := map[string]any{
		"version":         "2.0",
		"routeKey":        routeKey,
		"rawPath":         path,
		"rawQueryString":  r.URL.RawQuery,
		"headers":         headersOf(r),
		"isBase64Encoded": false,
		"requestContext": map[string]any{
			"accountId":    account,
			"apiId":        "a1b2c3d4e5",
			"domainName":   r.Host,
			"domainPrefix": strings.Split(r.Host, ".")[0],
			"http": map[string]string{
				"method": r.Method, "path": path, "protocol": r.Proto, "sourceIp": client, "userAgent": r.UserAgent(),
			},
			"requestId": "JKJaXmPLvHcESHA=",
			"routeKey":  routeKey,
			"stage":     s.Deployment.API.Stage,
			"time":      now.Format("02/Jan/2006:15:04:05 -0700"),
			"timeEpoch": now.UnixMilli(),
		},
	}
	if cookies := r.Header.Values("Cookie"); len(cookies) > 0 {
		event["cookies"] = strings.Split(strings.Join(cookies, "; "), "; ")
	}
	if query := joined(r.URL.Query()); len(query) > 0 {
		event["queryStringParameters"] = query
	}
	if len(parameters) > 0 {
		event["pathParameters"] = decoded(parameters)
	}
	if len(body) > 0 {
		event["body"], event["isBase64Encoded"] = text(r.Header.Get("Content-Type"), body)
	}
	return encode(event)
}

// headersOf returns a request's headers as the gateway passes them on: each once, in lower case,
// and without cookies.
func headersOf(r *http.Request) map[string]string {
	headers := map[string]string{"host": r.Host, "x-forwarded-proto": "https", "x-forwarded-port": "443"}
	for name, value := range joined(r.Header) {
		if name != "Cookie" {
			headers[strings.ToLower(name)] = value
		}
	}
	return headers
}

// joined has one value for each name, with commas between them.
func joined[M ~map[string][]string](values M) map[string]string {
	one := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		one[name] = strings.Join(values[name], ",")
	}
	return one
}

func decoded(parameters map[string]string) map[string]string {
	values := map[string]string{}
	for name, value := range parameters {
		plain, err := url.PathUnescape(value)
		if err != nil {
			plain = value
		}
		values[name] = plain
	}
	return values
}

// textual are the types of bodies, beside text/, that are passed on unchanged. A form is not one
// of them.
var textual = []string{"application/json", "application/javascript", "application/xml"}

// text encodes a body for JSON.
func text(contentType string, body []byte) (encoded string, isBase64 bool) {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	if (strings.HasPrefix(mediaType, "text/") || slices.Contains(textual, mediaType)) && utf8.Valid(body) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// answer is the answer of a function.
type answer struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Cookies         []string          `json:"cookies"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`

	body []byte
	head bool // it is one to HEAD
}

// readAnswer reads a function's answer, which must have the payload format: the gateway would
// guess the meaning of others.
func readAnswer(payload []byte) (answer, bool) {
	var a answer
	if err := json.Unmarshal(payload, &a); err != nil || a.StatusCode < 100 || a.StatusCode > 599 {
		return answer{}, false
	}
	a.body = []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		if a.body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			return answer{}, false
		}
	}
	return a, true
}

// write answers as the gateway does: it sets the length itself, unless there can be no body, and
// a header has one value.
func (a answer) write(w http.ResponseWriter) {
	for name, value := range a.Headers {
		if a.head || !strings.EqualFold(name, "Content-Length") {
			w.Header().Set(name, value)
		}
	}
	for _, cookie := range a.Cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	if !a.head && a.StatusCode != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.StatusCode)
	_, _ = w.Write(a.body) // the client may have left
}
