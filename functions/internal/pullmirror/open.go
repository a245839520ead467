package pullmirror

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/queue"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/upstream"
)

// Open is the mirror that a configuration describes. It sends no request. The
// error says which setting is wrong. Origins are asked by a transport, of which
// [upstream.Config] says what nil is.
func Open(env variables.Values, transport http.RoundTripper, log *slog.Logger) (*Function, error) {
	patterns, err := pullthrough.ParsePatterns(env.Upstreams)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variables.Upstreams, err)
	}
	platforms, err := pullthrough.ParsePlatforms(env.Platforms)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variables.Platforms, err)
	}
	reader, err := env.Reader(log)
	if err != nil {
		return nil, err
	}
	bucket, err := s3blob.New(s3blob.Config{
		Bucket: env.Bucket, Region: env.Region, Credentials: env.Credentials,
		Endpoint: env.S3Endpoint, PathStyle: env.S3Endpoint != "", URLLifetime: env.URLLifetime,
	})
	if err != nil {
		return nil, err
	}
	wanted := queue.New(env, env.FetchQueueURL)
	origins := upstream.New(upstream.Config{Transport: transport})
	puller := pullthrough.New(pullthrough.Config{
		Origins: origins, Patterns: patterns, Platforms: platforms, Want: newAsker(wanted.SendOnce).want, Log: log,
	})
	fetcher := &pullthrough.Fetcher{Source: origins, Inbox: bucket, Scratch: os.TempDir(), Log: log}
	return New(Config{
		Handler: protocol.New(protocol.Config{
			Reader: reader, Presigner: bucket, Hostname: env.Hostname, Origins: puller,
			Open: env.Open, Login: env.LoginIssuer != "", Logger: log,
		}),
		Fetch: fetcher.Fetch, Patterns: patterns, Postpone: wanted.Postpone, Log: log,
	}), nil
}
