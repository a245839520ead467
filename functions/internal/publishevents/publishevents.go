// Package publishevents gives to the publisher the events of the queue of uploads and of
// the schedule, and the requests of operators.
//
// A message of the queue is S3's event for uploads, or asks for the next part of a
// reconcile. The schedule asks for the first part. A reconcile sends an event for each
// upload without an outcome to the queue, in S3's form. So every upload is published by an
// invocation of its own, is tried again by itself, and goes to the dead-letter queue by
// itself.
//
// An operator invokes the function and waits: the answer is the result of the invocation,
// also if it is an error.
package publishevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// lastWords is how long before its end an invocation gives up its work, to
	// report that.
	lastWords = 5 * time.Second

	// reserve is how long before its end, at least, a reconcile begins no further
	// step. A step is far shorter.
	reserve = time.Minute

	// retryAfter is after how long a failed message is delivered again. By itself the
	// queue would wait for six times the function's timeout.
	retryAfter = 30 * time.Minute
)

// Publisher publishes uploads, reconciles and answers operators: a [publish.Publisher] with
// its [upkeep.Walks] and a [control.Handler].
type Publisher interface {
	Publish(ctx context.Context, object blob.Object) (inbox.Outcome, error)
	Reconcile(ctx context.Context, after string, until time.Time, missed func(context.Context, blob.Object) error) (next string, err error)
	Handle(ctx context.Context, r control.Request) control.Answer
}

// Config is what a function works with. Every field is required.
type Config struct {
	// Bucket is the name of the one bucket whose uploads are published.
	Bucket string

	// Open makes the publisher. It is called by the first invocation, and by
	// every further one until it succeeds.
	Open func(context.Context) (Publisher, error)

	// Send sends a message to the queue.
	Send func(ctx context.Context, body string) error

	// Postpone makes the queue deliver a failed message again after a while.
	Postpone func(ctx context.Context, receipt string, by time.Duration) error

	Logger *slog.Logger
}

// Function handles events. It is safe for concurrent use.
type Function struct {
	Config

	mu        sync.Mutex
	publisher Publisher
}

// New is a function without a publisher yet.
func New(c Config) *Function { return &Function{Config: c} }

// Event is a batch of the queue's messages, or a request of the schedule or of an operator.
type Event struct {
	Messages  []events.SQSMessage `json:"Records"`
	Reconcile *Reconcile          `json:"reconcile"`
	Control   *control.Request    `json:"control"`
}

// Result is the result of an invocation: the failed messages for the queue, or the answer
// for an operator.
type Result struct {
	*events.SQSEventResponse
	*control.Answer
}

// Reconcile asks for a reconcile.
type Reconcile struct {
	After string `json:"after,omitempty"` // the key to go on after, encoded as S3 encodes keys; empty at first
}

// message is the body of one of the queue's messages.
type message struct {
	Test      string                 `json:"Event,omitempty"` // "s3:TestEvent", when S3 tests a new notification
	Uploads   []events.S3EventRecord `json:"Records,omitempty"`
	Reconcile *Reconcile             `json:"reconcile,omitempty"`
}

// Handle handles an event from Lambda. For a batch it returns the messages that the queue
// must deliver again.
func (f *Function) Handle(ctx context.Context, event Event) (Result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-lastWords))
		defer cancel()
	}
	switch {
	case event.Control != nil:
		return Result{Answer: f.answer(ctx, *event.Control)}, nil
	case event.Reconcile != nil:
		return Result{}, f.reconcile(ctx, *event.Reconcile)
	case len(event.Messages) == 0:
		return Result{}, errors.New("the event is neither a batch of the queue nor asks for anything")
	}
	return Result{SQSEventResponse: f.batch(ctx, event.Messages)}, nil
}

// answer answers an operator.
func (f *Function) answer(ctx context.Context, r control.Request) *control.Answer {
	publisher, err := f.open(ctx)
	if err != nil {
		f.Logger.ErrorContext(ctx, "an operator cannot be answered", "error", err)
		return &control.Answer{Error: err.Error()}
	}
	answer := publisher.Handle(ctx, r)
	return &answer
}

// batch handles messages of the queue.
func (f *Function) batch(ctx context.Context, messages []events.SQSMessage) *events.SQSEventResponse {
	response := &events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, m := range messages {
		if err := f.handle(ctx, m.Body); err != nil {
			f.Logger.ErrorContext(ctx, "a message failed: the queue delivers it again, and at last to the dead-letter queue",
				"message_id", m.MessageId, "receives", m.Attributes["ApproximateReceiveCount"], "error", err)
			f.postpone(ctx, m)
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return response
}

// postpone makes the queue deliver a failed message again, also if the time was not enough.
func (f *Function) postpone(ctx context.Context, m events.SQSMessage) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords/2)
	defer cancel()
	if err := f.Postpone(ctx, m.ReceiptHandle, retryAfter); err != nil {
		f.Logger.ErrorContext(ctx, "it cannot be told when; it is tried again when the queue's visibility timeout ends", "message_id", m.MessageId, "error", err)
	}
}

func (f *Function) handle(ctx context.Context, body string) error {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return fmt.Errorf("the message is not readable: %w", err)
	}
	switch {
	case m.Test == "s3:TestEvent":
		return nil
	case m.Reconcile != nil:
		return f.reconcile(ctx, *m.Reconcile)
	case len(m.Uploads) == 0:
		return errors.New("the message is neither an event of S3 nor asks for a reconcile")
	}
	var errs []error
	for _, upload := range m.Uploads {
		errs = append(errs, f.publish(ctx, upload))
	}
	return errors.Join(errs...)
}

// publish publishes the upload of an S3 event. It ignores other events.
func (f *Function) publish(ctx context.Context, record events.S3EventRecord) error {
	key, version := record.S3.Object.URLDecodedKey, record.S3.Object.VersionID
	switch {
	case !strings.HasPrefix(record.EventName, "ObjectCreated:"), strings.HasPrefix(key, registry.Prefix):
		return nil
	case record.S3.Bucket.Name != f.Bucket:
		return fmt.Errorf("the message is of the bucket %q and not of %q", record.S3.Bucket.Name, f.Bucket)
	case key == "" || version == "":
		return fmt.Errorf("the message names no version of the object %q: the bucket must have versioning", key)
	}
	publisher, err := f.open(ctx)
	if err != nil {
		return err
	}
	_, err = publisher.Publish(ctx, blob.Object{Key: key, Version: version, By: record.PrincipalID.PrincipalID}) // it logs the outcome
	return err
}

// reconcile does as much of a reconcile as there is time for, and asks the
// queue for the rest.
func (f *Function) reconcile(ctx context.Context, r Reconcile) error {
	after, err := url.QueryUnescape(r.After)
	if err != nil {
		return fmt.Errorf("a reconcile cannot go on after %q: %w", r.After, err)
	}
	publisher, err := f.open(ctx)
	if err != nil {
		return err
	}
	until := time.Now().Add(time.Hour)
	if deadline, ok := ctx.Deadline(); ok {
		// The other half is for the current step. And only uploads should take most of
		// an invocation's time, since there is an alarm for that.
		until = deadline.Add(-max(reserve, time.Until(deadline)/2))
	}
	next, err := publisher.Reconcile(ctx, after, until, f.sendMissed)
	if err != nil {
		return err
	}
	if next == "" {
		f.Logger.InfoContext(ctx, "the reconcile is complete")
		return nil
	}
	f.Logger.InfoContext(ctx, "the reconcile goes on in another invocation", "after", next)
	return f.send(ctx, message{Reconcile: &Reconcile{After: url.QueryEscape(next)}})
}

// sendMissed sends an event for an upload whose own event was missed.
func (f *Function) sendMissed(ctx context.Context, missed blob.Object) error {
	var record events.S3EventRecord
	record.EventSource = "larder:reconcile"
	record.EventName = "ObjectCreated:Reconcile"
	record.EventTime = missed.Modified
	record.S3.Bucket.Name = f.Bucket
	record.S3.Object = events.S3Object{Key: url.QueryEscape(missed.Key), Size: missed.Size, VersionID: missed.Version}
	return f.send(ctx, message{Uploads: []events.S3EventRecord{record}})
}

func (f *Function) send(ctx context.Context, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := f.Send(ctx, string(body)); err != nil {
		return fmt.Errorf("send a message to the queue: %w", err)
	}
	return nil
}

// open returns the publisher, and makes it if there is none yet.
func (f *Function) open(ctx context.Context) (Publisher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.publisher == nil {
		publisher, err := f.Open(ctx)
		if err != nil {
			return nil, err
		}
		f.publisher = publisher
	}
	return f.publisher, nil
}
