// Package access says who may do what: tokens and the scopes that they have,
// uploaders and their namespaces, the rules by which a registry trusts what other
// issuers say of people and pipelines, and the decisions that follow. All of it is
// rules and data; where they are kept is behind [Tokens], [Rules] and [Tickets].
//
// Without a scope for something, nobody may do it. Nothing takes a scope away, and
// nothing replaces a missing one.
package access

import (
	"context"
	"errors"
	"log/slog"
)

var (
	// ErrNotFound says that there is no such token, rule or ticket.
	ErrNotFound = errors.New("not found")

	// ErrExists says that there is such a token or rule already.
	ErrExists = errors.New("it exists already")

	// ErrFull says that nothing more can be kept just now.
	ErrFull = errors.New("too many people are logging in at the same time")
)

// Decision is whether somebody may do something, and why.
type Decision struct {
	Who     string // such as "nobody", or `token "ci" of alice (3f2a90c1)`; never a secret
	What    string // such as "read providers:acme/widget"
	Allowed bool
	Why     string // if it was not allowed, or by which rule it was
}

// Audit is called with every decision.
type Audit func(context.Context, Decision)

// LogTo writes one line for each decision, all in the same shape.
func LogTo(logger *slog.Logger) Audit {
	return func(ctx context.Context, d Decision) {
		logger.LogAttrs(ctx, slog.LevelInfo, "access",
			slog.String("who", d.Who),
			slog.String("what", d.What),
			slog.Bool("allowed", d.Allowed),
			slog.String("why", d.Why))
	}
}
