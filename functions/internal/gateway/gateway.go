// Package gateway answers the requests of an API Gateway HTTP API (payload
// format 2.0) with an http.Handler.
package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

const (
	// maxBody is the longest body, in bytes. The gateway accepts far more.
	maxBody = 256 << 10

	// lastWords is how long before its end an invocation of [Serve] gives up its work, to
	// answer that. Clients wait for 10 seconds, as long as the functions may run.
	lastWords = 2 * time.Second
)

// Serve answers requests until Lambda ends the process, with a handler that needs no more
// of them than a handler of [Adapt].
func Serve(h http.Handler) {
	sendWhole()
	collectLess(os.Getenv)
	lambda.Start(reader{h})
}

// ServeBodies is Serve for a handler that also needs the body of a request. To read more than
// 256 KiB of it is an error.
func ServeBodies(h http.Handler) {
	sendWhole()
	collectLess(os.Getenv)
	lambda.Start(bodyReader{reader{h}})
}

// sendWhole lets the body of an answer be one write. The library sends answers through a
// copy of this transport, which would make three writes of a body above 4 kB.
func sendWhole() {
	const most = 32 << 10 // of a body that is sent in one write
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.WriteBufferSize = most
	}
}

// collectLess collects garbage less often than Go does by itself: a function keeps a small
// part of its memory, and would collect it every few dozen answers. Near the function's
// limit of memory garbage is collected as often as is needed.
func collectLess(getenv func(string) string) {
	const growth, share = 400, 3.0 / 4
	megabytes, err := strconv.Atoi(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"))
	if err != nil || megabytes <= 0 {
		return
	}
	debug.SetGCPercent(growth)
	debug.SetMemoryLimit(int64(share * float64(megabytes) * (1 << 20)))
}

// Function is what Lambda calls for a request.
type Function = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// Adapt makes a Function of a handler that needs only a request's method, path, query, headers
// and addresses. The handler does not see body and cookies.
func Adapt(h http.Handler) Function {
	return func(ctx context.Context, whole events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		e := narrow(whole)
		return reader{h}.answer(ctx, &e).response(), nil
	}
}

// reader is a handler that needs no more than one of [Adapt]. It takes the event and gives
// the answer as they are sent. By Lambda's own types and by the adapter an invocation has
// twice as many allocations: a URL is built and parsed again, and a body is copied three times.
type reader struct{ http.Handler }

var _ lambda.Handler = reader{}

// Invoke implements [lambda.Handler].
func (r reader) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	ctx, cancel := inTime(ctx)
	defer cancel()
	return r.answer(ctx, &e).json(), nil
}

// inTime ends before the invocation does.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-lastWords))
}

func (r reader) answer(ctx context.Context, e *event) *answer {
	a := newAnswer()
	r.ServeHTTP(a, e.request(ctx))
	return a
}

// bodyReader is a reader whose handler sees bodies, too.
type bodyReader struct{ reader }

// Invoke implements [lambda.Handler].
func (r bodyReader) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var e bodyEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	ctx, cancel := inTime(ctx)
	defer cancel()
	a := newAnswer()
	r.ServeHTTP(a, e.request(ctx, a))
	return a.json(), nil
}

// AdaptWhole makes a Function of a handler that also sees queries, cookies and bodies. To
// read more than 256 KiB of a body is an error.
func AdaptWhole(h http.Handler) Function {
	adapter := httpadapter.NewV2(http.MaxBytesHandler(h, maxBody))
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return adapter.ProxyWithContext(ctx, escaped(event))
	}
}

// escaped is a request that the adapter can read, whatever a client has sent.
//
// The gateway has decoded the path; the adapter would decode it again, or fail. The query
// is as the client sent it. It is also in QueryStringParameters, which the adapter uses if
// the query is empty.
func escaped(event events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	event.RawPath = (&url.URL{Path: event.RawPath}).EscapedPath()
	event.RawQueryString, event.QueryStringParameters = escapeQuery(event.RawQueryString), nil
	return event
}

// escapeQuery escapes characters that a URL must not have in its query.
func escapeQuery(raw string) string {
	if !strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c == '#' || c >= 0x7f }) {
		return raw // as nearly all are
	}
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
