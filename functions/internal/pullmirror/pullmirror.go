// Package pullmirror is the mirror of a registry that pulls through. It answers requests
// with what the mirror and the origins have, asks a queue for what the mirror lacks, and
// fetches the packages that the queue's messages name.
//
// A message names one package. The queue drops a message that it got in the last minutes
// already. So a package is fetched once, for all instances of the function and all
// clients. A failed message is tried again some minutes later, and goes to the dead-letter
// queue in the end.
package pullmirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// answerTime is how long an answer may take. The gateway waits for 30 seconds;
	// the function has far more time, to fetch.
	answerTime = 25 * time.Second

	// lastWords is how long before its end an invocation gives up a fetch, to
	// postpone it and report that.
	lastWords = 5 * time.Second

	// retryAfter is after how long a failed package is tried again. Until then the
	// queue delivers no other message for the same package.
	retryAfter = 5 * time.Minute
)

// Config is what a function works with. Every field is required.
type Config struct {
	// Handler answers requests to the mirror.
	Handler http.Handler

	// Fetch fetches a package: a [pullthrough.Fetcher.Fetch]. Patterns say
	// which may be fetched, whoever asks.
	Fetch    func(context.Context, pullthrough.Wanted) error
	Patterns []pullthrough.Pattern

	// Postpone makes the queue deliver a failed message again after a while.
	Postpone func(ctx context.Context, receipt string, by time.Duration) error

	Logger *slog.Logger
}

// Function handles events. It is safe for concurrent use.
type Function struct {
	Config
	answer func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
}

// New is a function.
func New(c Config) *Function { return &Function{c, gateway.Adapt(c.Handler)} }

// Event is a batch of the queue's messages, or else a request of the gateway.
type Event struct {
	Messages []events.SQSMessage `json:"Records"`
	events.APIGatewayV2HTTPRequest
}

// Result is the result of an invocation: the failed messages for the queue, or the answer
// for the gateway.
type Result struct {
	*events.SQSEventResponse
	*events.APIGatewayV2HTTPResponse
}

// Handle handles an event from Lambda. For a batch it returns the messages that the queue
// must deliver again.
func (f *Function) Handle(ctx context.Context, event Event) (Result, error) {
	switch {
	case len(event.Messages) > 0:
		return Result{SQSEventResponse: f.batch(ctx, event.Messages)}, nil
	case event.RequestContext.HTTP.Method == "":
		return Result{}, errors.New("the event is neither a batch of the queue nor a request of the gateway")
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	response, err := f.answer(ctx, event.APIGatewayV2HTTPRequest)
	return Result{APIGatewayV2HTTPResponse: &response}, err
}

// batch handles messages of the queue.
func (f *Function) batch(ctx context.Context, messages []events.SQSMessage) *events.SQSEventResponse {
	response := &events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, message := range messages {
		if err := f.handle(ctx, message.Body); err != nil {
			f.Logger.ErrorContext(ctx, "a package of another registry could not be fetched: the queue delivers its message again, and at last to the dead-letter queue",
				"message_id", message.MessageId, "receives", message.Attributes["ApproximateReceiveCount"], "error", err)
			if err := f.Postpone(ctx, message.ReceiptHandle, retryAfter); err != nil {
				f.Logger.ErrorContext(ctx, "it cannot be told when; it is tried again when the queue's visibility timeout ends", "message_id", message.MessageId, "error", err)
			}
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
		}
	}
	return response
}

// handle fetches what a message names.
func (f *Function) handle(ctx context.Context, body string) error {
	wanted, err := readWanted(body)
	if err != nil {
		return fmt.Errorf("the message is not readable: %w", err)
	}
	if !slices.ContainsFunc(f.Patterns, func(p pullthrough.Pattern) bool { return p.Matches(wanted.Provider) }) {
		f.Logger.WarnContext(ctx, "a package is not fetched, for its provider is not pulled through any more", "package", wanted.String())
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-lastWords))
		defer cancel()
	}
	return f.Fetch(ctx, wanted)
}

// readWanted reads the body of a message, and checks that a mirror could have the package.
func readWanted(body string) (pullthrough.Wanted, error) {
	var w pullthrough.Wanted
	err := json.Unmarshal([]byte(body), &w)
	if err == nil {
		w.Provider, err = registry.ParseMirroredAddress(w.Provider.Hostname, w.Provider.Namespace, w.Provider.Type)
	}
	if err == nil {
		w.Version, err = registry.ParseVersion(w.Version.String())
	}
	if err == nil {
		w.Platform, err = registry.ParsePlatform(w.Platform.OS, w.Platform.Arch)
	}
	return w, err
}

// message is the body of the message for a package, and the id by which the queue drops a
// repeated one.
func message(w pullthrough.Wanted) (id, body string, err error) {
	text, err := json.Marshal(w)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), string(text), err
}
