// Package queue sends messages to a queue of SQS.
package queue

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/larder-registry/larder/functions/internal/variables"
)

// OnceFor is how long a FIFO queue remembers what it was sent.
// See https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
const OnceFor = 5 * time.Minute

// Queue is a queue of SQS. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string
}

// New is the queue under an URL that a function was told of. It sends no request.
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

// SendOnce sends a message to a FIFO queue, which drops it if it was sent one
// with the same id within [OnceFor], and delivers one of them at a time. An id
// is up to 128 letters, digits and signs.
func (q *Queue) SendOnce(ctx context.Context, id, body string) error {
	_, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: &body, MessageDeduplicationId: &id, MessageGroupId: &id,
	})
	return err
}

// Postpone lets a message that is being handled be delivered again after a
// while, up to twelve hours and in whole seconds, if it is not deleted before:
// else that is when the queue's visibility timeout ends.
func (q *Queue) Postpone(ctx context.Context, receipt string, by time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &receipt, VisibilityTimeout: int32(by / time.Second),
	})
	return err
}
