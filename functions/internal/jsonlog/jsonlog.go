// Package jsonlog writes a function's log: a JSON object per line, to standard
// output, from where Lambda takes it to CloudWatch.
package jsonlog

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Start makes the process's log, also for its libraries. These log only errors, so their
// lines have this level.
func Start() *slog.Logger {
	logger := New(os.Stdout)
	slog.SetLogLoggerLevel(slog.LevelError)
	slog.SetDefault(logger)
	return logger
}

// New is a log whose lines name their invocation.
func New(w io.Writer) *slog.Logger {
	return slog.New(handler{slog.NewJSONHandler(w, nil)})
}

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		r.AddAttrs(slog.String("request_id", invocation.AwsRequestID))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
