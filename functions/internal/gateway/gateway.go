// Package gateway answers the requests of an API Gateway HTTP API (payload
// format 2.0) with an http.Handler.
package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// maxBody is how long a body may be, in bytes. The gateway lets through far more.
const maxBody = 256 << 10

// Serve answers requests until Lambda ends the process.
func Serve(h http.Handler) { lambda.Start(Adapt(h)) }

// Function is what Lambda calls for a request.
type Function = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// Adapt is a handler that reads, as Lambda calls it. It sees a request's method,
// path and headers: neither query nor body nor cookies mean anything to it, and
// what a client puts there cannot be in the way.
func Adapt(h http.Handler) Function {
	adapter := httpadapter.NewV2(h)
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		event = escaped(event)
		event.RawQueryString, event.Cookies = "", nil
		event.Body, event.IsBase64Encoded = "", false
		return adapter.ProxyWithContext(ctx, event)
	}
}

// AdaptWhole is a handler as Lambda calls it that sees queries, cookies and
// bodies, too. It gets an error from a body beyond 256 KiB.
func AdaptWhole(h http.Handler) Function {
	adapter := httpadapter.NewV2(http.MaxBytesHandler(h, maxBody))
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return adapter.ProxyWithContext(ctx, escaped(event))
	}
}

// escaped is a request that the adapter can read, whatever a client sent.
//
// The gateway has decoded the path already; the adapter takes it to be encoded,
// and would decode it once more or fail. The query is as the client sent it, and
// once more in QueryStringParameters, which the adapter takes where it is empty.
func escaped(event events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	event.RawPath = (&url.URL{Path: event.RawPath}).EscapedPath()
	event.RawQueryString, event.QueryStringParameters = escapeQuery(event.RawQueryString), nil
	return event
}

// escapeQuery escapes what no URL may have in its query.
func escapeQuery(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c == '#' || c >= 0x7f {
			b.WriteString(url.QueryEscape(raw[i : i+1]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
