package pullmirror

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/bucket"
	"github.com/larder-registry/larder/functions/internal/links"
	"github.com/larder-registry/larder/functions/internal/queue"
	"github.com/larder-registry/larder/functions/internal/reading"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/assembly/clients"
	"github.com/larder-registry/larder/internal/assembly/fetching"
	"github.com/larder-registry/larder/pkg/pullthrough"
)

// Open makes the mirror of an environment. It sends no request. The error says which
// variable is wrong. The transport is that of [upstream.Config], and may be nil.
func Open(env variables.Values, transport http.RoundTripper, log *slog.Logger) (*Function, error) {
	patterns, err := pullthrough.ParsePatterns(env.Upstreams)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variables.Upstreams, err)
	}
	platforms, err := pullthrough.ParsePlatforms(env.Platforms)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variables.Platforms, err)
	}
	answers, err := reading.New(env, log)
	if err != nil {
		return nil, err
	}
	uploads, err := bucket.Open(env)
	if err != nil {
		return nil, err
	}
	if answers.Presigner, err = links.New(env); err != nil {
		return nil, err
	}
	wanted := queue.New(env, env.FetchQueueURL)
	fetcher := fetching.New(fetching.Config{
		Patterns: patterns, Platforms: platforms, Inbox: uploads, Scratch: os.TempDir(), Transport: transport, Logger: log,
	})
	answers.Origins = fetcher.Puller(newAsker(wanted.SendOnce).want)
	return New(Config{
		Handler: clients.New(answers), Fetch: fetcher.Fetch, Patterns: patterns, Postpone: wanted.Postpone, Logger: log,
	}), nil
}
