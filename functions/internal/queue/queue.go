// Package queue sends messages to the queue of uploads.
package queue

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/larder-registry/larder/functions/internal/config"
)

// Queue is a queue of SQS. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string
}

// New is the queue that a function was told of. It sends no request.
func New(cfg config.Config) *Queue {
	options := sqs.Options{Region: cfg.Region, Credentials: cfg.Credentials}
	if cfg.SQSEndpoint != "" {
		options.BaseEndpoint = &cfg.SQSEndpoint
	}
	return &Queue{sqs.New(options), cfg.QueueURL}
}

// Send sends a message, of up to 256 KiB in characters that XML can carry.
func (q *Queue) Send(ctx context.Context, body string) error {
	_, err := q.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body})
	return err
}
