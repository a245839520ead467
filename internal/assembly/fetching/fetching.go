// Package fetching puts together what a mirror needs that pulls through: it offers what
// other registries have, and brings that into the inbox.
package fetching

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

// Config is what packages are fetched by. Every field but Platforms and Transport is
// required.
type Config struct {
	// Patterns and Platforms say what is offered and fetched, as [pullthrough.Config]
	// has them.
	Patterns  []pullthrough.Pattern
	Platforms []registry.Platform

	// Inbox is where packages are brought to.
	Inbox pullthrough.Inbox

	// Scratch is a folder with room for the largest package times the number of them
	// at once.
	Scratch string

	// Transport carries requests to other registries. Nil is as in [upstream.Config].
	Transport http.RoundTripper

	Log *slog.Logger
}

// Fetching fetches packages, as a [pullthrough.Fetcher] does. It is safe for concurrent
// use.
type Fetching struct {
	*pullthrough.Fetcher
	config  Config
	origins *upstream.Client
}

// New fetches. It sends no request.
func New(c Config) Fetching {
	origins := upstream.New(upstream.Config{Transport: c.Transport})
	return Fetching{&pullthrough.Fetcher{Source: origins, Inbox: c.Inbox, Scratch: c.Scratch, Log: c.Log}, c, origins}
}

// Puller offers what other registries have. Want asks for a package to be fetched, as
// [pullthrough.Config] has it.
func (f Fetching) Puller(want func(context.Context, pullthrough.Wanted) error) *pullthrough.Puller {
	return pullthrough.New(pullthrough.Config{
		Upstream: f.origins, Patterns: f.config.Patterns, Platforms: f.config.Platforms, Want: want, Log: f.config.Log,
	})
}
