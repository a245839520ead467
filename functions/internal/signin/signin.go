// Package signin distinguishes the events of the function for tokens: requests of the
// gateway, from people who log in and from pipelines, and requests of operators.
//
// An operator invokes the function and waits: the answer is the result of the invocation,
// also if it is an error. A client of the gateway cannot write to the place of an
// operator's request in an event.
package signin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/pkg/access/admin"
)

// answerTime is how long an answer may take, including requests to issuers. The function
// has some seconds more, to answer that they failed.
const answerTime = 20 * time.Second

// Config is what a function works with. Every field is required.
type Config struct {
	// Handler answers requests.
	Handler http.Handler

	// Answer answers operators: an [admin.Handler.Handle].
	Answer func(context.Context, admin.Request) admin.Answer
}

// Function handles events. It is safe for concurrent use.
type Function struct {
	respond gateway.Function
	answer  func(context.Context, admin.Request) admin.Answer
}

// New is a function.
func New(c Config) *Function { return &Function{gateway.AdaptWhole(c.Handler), c.Answer} }

// Event is a request of an operator, or of the gateway.
type Event struct {
	Access json.RawMessage `json:"access"` // an [admin.Request]
	events.APIGatewayV2HTTPRequest
}

// Result is the result of an invocation: the answer for an operator or for the gateway.
type Result struct {
	*admin.Answer
	*events.APIGatewayV2HTTPResponse
}

// Handle handles an event from Lambda.
func (f *Function) Handle(ctx context.Context, event Event) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	switch {
	case len(event.Access) > 0 && string(event.Access) != "null":
		answer := f.operate(ctx, event.Access)
		return Result{Answer: &answer}, nil
	case event.RequestContext.HTTP.Method == "":
		return Result{}, errors.New("the event is neither a request of the gateway nor one of an operator")
	}
	response, err := f.respond(ctx, event.APIGatewayV2HTTPRequest)
	return Result{APIGatewayV2HTTPResponse: &response}, err
}

// operate answers an operator. It refuses a request with unknown fields: a rule without one
// of its parts could trust more than the operator wants.
func (f *Function) operate(ctx context.Context, access json.RawMessage) admin.Answer {
	var request admin.Request
	decoder := json.NewDecoder(bytes.NewReader(access))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return admin.Answer{Error: fmt.Sprintf("this larder does not understand the request, which a newer one may have sent: %v", err)}
	}
	return f.answer(ctx, request)
}
