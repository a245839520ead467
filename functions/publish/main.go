// Command publish publishes uploads, by the events of the queue and the schedule, and
// answers operators.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/larder-registry/larder/functions/internal/bucket"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/kmskey"
	"github.com/larder-registry/larder/functions/internal/publishevents"
	"github.com/larder-registry/larder/functions/internal/queue"
	"github.com/larder-registry/larder/functions/internal/topic"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/pkg/awskms"
	"github.com/larder-registry/larder/pkg/contents/subprocess"
)

func main() {
	logger := jsonlog.Start()
	function, err := newFunction(logger)
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function.Handle)
}

func newFunction(logger *slog.Logger) (*publishevents.Function, error) {
	env, err := variables.Read(os.Getenv, variables.Table, variables.Bucket, variables.Hostname, variables.SigningKey, variables.QueueURL, variables.Topic)
	if err != nil {
		return nil, err
	}
	catalog, err := env.Catalog()
	if err != nil {
		return nil, err
	}
	blobs, err := bucket.Open(env)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context) (publishevents.Publisher, error) {
		key, err := kmskey.Open(ctx, blobs, awskms.Config{
			KeyARN: env.SigningKey, Credentials: env.Credentials, Endpoint: env.KMSEndpoint,
		})
		if err != nil {
			return nil, err
		}
		return publishing.New(publishing.Config{
			Bucket: blobs, Index: catalog, Signer: key, Scratch: os.TempDir(), Logger: logger,
			Reader: subprocess.New(), Hostname: env.Hostname, Announce: topic.New(env).Announce,
		}), nil // a deployment changes the key
	}
	uploads := queue.New(env, env.QueueURL)
	return publishevents.New(publishevents.Config{Bucket: env.Bucket, Open: open, Send: uploads.Send, Postpone: uploads.Postpone, Logger: logger}), nil
}
