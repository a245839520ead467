// Package fetching puts together the parts of a mirror that pulls through: it offers packages of
// other registries, and brings them into the inbox.
package fetching

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

// Config configures the parts. Every field but Platforms and Transport is required.
type Config struct {
	// Patterns and Platforms say what is offered and fetched, as in [pullthrough.Config].
	Patterns  []pullthrough.Pattern
	Platforms []registry.Platform

	// Inbox gets the packages.
	Inbox pullthrough.Inbox

	// Scratch is a folder with room for the largest package for each one that is fetched at
	// the same time.
	Scratch string

	// Transport sends requests to other registries. Nil is as in [upstream.Config].
	Transport http.RoundTripper

	Logger *slog.Logger
}

// Fetching fetches packages as a [pullthrough.Fetcher]. It is safe for concurrent use.
type Fetching struct {
	*pullthrough.Fetcher
	config  Config
	origins *upstream.Client
}

// New puts them together. It sends no request.
func New(c Config) Fetching {
	origins := upstream.New(upstream.Config{Transport: c.Transport})
	return Fetching{&pullthrough.Fetcher{Source: origins, Inbox: c.Inbox, Scratch: c.Scratch, Logger: c.Logger}, c, origins}
}

// Puller offers packages of other registries. Want asks for a package to be fetched, as in
// [pullthrough.Config].
func (f Fetching) Puller(want func(context.Context, pullthrough.Wanted) error) *pullthrough.Puller {
	return pullthrough.New(pullthrough.Config{
		Upstream: f.origins, Patterns: f.config.Patterns, Platforms: f.config.Platforms, Want: want, Logger: f.config.Logger,
	})
}
