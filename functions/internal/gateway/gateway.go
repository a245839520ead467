// Package gateway answers the requests of an API Gateway HTTP API (payload
// format 2.0) with an http.Handler.
package gateway

import (
	"context"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// Serve answers requests until Lambda ends the process.
func Serve(h http.Handler) { lambda.Start(Adapt(h)) }

// Adapt is the handler as Lambda calls it.
func Adapt(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	adapter := httpadapter.NewV2(h)
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return adapter.ProxyWithContext(ctx, plain(event))
	}
}

// plain is the request as far as handlers look at it: its method, path and
// headers. Neither query nor body mean anything here, and what a client puts
// there cannot be in the way.
//
// The gateway has decoded the path already; the adapter takes it to be encoded,
// and would decode it once more or fail.
func plain(event events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	event.RawPath = (&url.URL{Path: event.RawPath}).EscapedPath()
	event.RawQueryString, event.QueryStringParameters = "", nil
	event.Body, event.IsBase64Encoded = "", false
	return event
}
