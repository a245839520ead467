// Package signin tells apart what comes to the function for tokens: requests of
// the gateway, by people who log in and by pipelines, and what operators ask.
//
// An operator invokes the function and waits: the answer is the result of the
// invocation, also where it says what went wrong. The gateway puts nothing of a
// client's where an operator's request is.
package signin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/pkg/access/admin"
)

// answerTime bounds an answer, for which issuers may be asked. The function has
// some seconds more, to say that they did not answer.
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

// Event is what an operator asks, or else a request of the gateway.
type Event struct {
	Access *admin.Request `json:"access"`
	events.APIGatewayV2HTTPRequest
}

// Result is what an invocation returns: to an operator or to the gateway the
// answer.
type Result struct {
	*admin.Answer
	*events.APIGatewayV2HTTPResponse
}

// Handle handles an event as Lambda hands it over.
func (f *Function) Handle(ctx context.Context, event Event) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	switch {
	case event.Access != nil:
		answer := f.answer(ctx, *event.Access)
		return Result{Answer: &answer}, nil
	case event.RequestContext.HTTP.Method == "":
		return Result{}, errors.New("the event is neither a request of the gateway nor one of an operator")
	}
	response, err := f.respond(ctx, event.APIGatewayV2HTTPRequest)
	return Result{APIGatewayV2HTTPResponse: &response}, err
}
