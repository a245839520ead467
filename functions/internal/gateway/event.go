package gateway

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// event is what a reader needs of a request's event, in payload format 2.0. Lambda's own
// type has some forty fields, which cost as much again to read.
type event struct {
	RawPath        string            `json:"rawPath"`
	RawQueryString string            `json:"rawQueryString"`
	Headers        map[string]string `json:"headers"`
	RequestContext struct {
		DomainName string `json:"domainName"`
		HTTP       struct {
			Method   string `json:"method"`
			Path     string `json:"path"`
			SourceIP string `json:"sourceIp"`
		} `json:"http"`
	} `json:"requestContext"`
}

// narrow is the same of Lambda's own type.
func narrow(whole events.APIGatewayV2HTTPRequest) event {
	e := event{RawPath: whole.RawPath, RawQueryString: whole.RawQueryString, Headers: whole.Headers}
	e.RequestContext.DomainName = whole.RequestContext.DomainName
	e.RequestContext.HTTP.Method = whole.RequestContext.HTTP.Method
	e.RequestContext.HTTP.Path = whole.RequestContext.HTTP.Path
	e.RequestContext.HTTP.SourceIP = whole.RequestContext.HTTP.SourceIP
	return e
}

// bodyEvent is an event with its body.
type bodyEvent struct {
	event
	Body     string `json:"body"`
	IsBase64 bool   `json:"isBase64Encoded"`
}

// request is the request with its body, which cannot be read to its end if it is too long or
// cannot be decoded.
func (e *bodyEvent) request(ctx context.Context, w http.ResponseWriter) *http.Request {
	r := e.event.request(ctx)
	if e.Body == "" {
		return r
	}
	var body io.Reader = strings.NewReader(e.Body)
	if e.IsBase64 {
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	r.Body = http.MaxBytesReader(w, io.NopCloser(body), maxBody)
	r.ContentLength = -1
	return r
}

// request is the request that a reader sees. The gateway has decoded the path, and left the
// query as the client sent it.
func (e *event) request(ctx context.Context) *http.Request {
	path := e.RawPath
	if path == "" {
		path = e.RequestContext.HTTP.Path
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	method := strings.ToUpper(e.RequestContext.HTTP.Method)
	if method == "" {
		method = http.MethodGet
	}
	r := &http.Request{
		Method: method,
		URL:    &url.URL{Scheme: "https", Host: e.RequestContext.DomainName, Path: path, RawQuery: escapeQuery(e.RawQueryString)},
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:     e.header(),
		Body:       http.NoBody,
		Host:       e.RequestContext.DomainName,
		RemoteAddr: e.RequestContext.HTTP.SourceIP,
	}
	return r.WithContext(ctx)
}

// header is the header of a request. The gateway has joined the values of a name by commas.
func (e *event) header() http.Header {
	header := make(http.Header, len(e.Headers))
	singles := make([]string, 0, len(e.Headers)) // the values of names with one, in one place
	for name, joined := range e.Headers {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if _, again := header[name]; again || strings.Contains(joined, ",") && !hasOneValue[name] {
			for value := range strings.SplitSeq(joined, ",") {
				header[name] = append(header[name], strings.Trim(value, " "))
			}
			continue
		}
		if !hasOneValue[name] {
			joined = strings.Trim(joined, " ")
		}
		singles = append(singles, joined)
		header[name] = singles[len(singles)-1 : len(singles) : len(singles)]
	}
	return header
}

// hasOneValue are headers with one value, which may have commas.
var hasOneValue = map[string]bool{
	"Content-Type":        true,
	"Content-Disposition": true,
	"Content-Length":      true,
	"User-Agent":          true,
	"Referer":             true,
	"Host":                true,
	"Authorization":       true,
	"Proxy-Authorization": true,
	"If-Modified-Since":   true,
	"If-Unmodified-Since": true,
	"From":                true,
	"Location":            true,
	"Max-Forwards":        true,
}
