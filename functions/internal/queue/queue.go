// Package queue sends messages to a queue of SQS.
package queue

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/larder-registry/larder/functions/internal/variables"
)

// OnceFor is how long a FIFO queue remembers a message and drops repeated ones.
// See https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
const OnceFor = 5 * time.Minute

// Queue is a queue of SQS. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string
}

// New is the queue with a URL. It sends no request.
func New(env variables.Values, url string) *Queue {
	options := sqs.Options{Region: env.Region, Credentials: env.Credentials}
	if env.SQSEndpoint != "" {
		options.BaseEndpoint = &env.SQSEndpoint
	}
	return &Queue{sqs.New(options), url}
}

// Send sends a message, of up to 256 KiB in characters that XML can carry.
func (q *Queue) Send(ctx context.Context, body string) error {
	_, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body})
	return err
}

// SendOnce sends a message to a FIFO queue. The queue drops it if it got one with the same
// id within [OnceFor], and delivers messages with the same id one at a time. An id has up
// to 128 letters, digits and signs.
func (q *Queue) SendOnce(ctx context.Context, id, body string) error {
	_, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: &body, MessageDeduplicationId: &id, MessageGroupId: &id,
	})
	return err
}

// Postpone changes when a message that is being handled is delivered again, unless it is
// deleted before: after a while, in whole seconds and up to twelve hours, and not when the
// queue's visibility timeout ends.
func (q *Queue) Postpone(ctx context.Context, receipt string, by time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &receipt, VisibilityTimeout: int32(by / time.Second),
	})
	return err
}
