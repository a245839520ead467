package jsonlog

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// BenchmarkLine measures the line of a request, and the same line by slog alone.
func BenchmarkLine(b *testing.B) {
	ctx := lambdacontext.NewContext(b.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd"})
	for name, logger := range map[string]*slog.Logger{"larder": New(io.Discard), "slog": slog.New(slog.NewJSONHandler(io.Discard, nil))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				logger.LogAttrs(ctx, slog.LevelInfo, "request",
					slog.String("method", "GET"),
					slog.String("path", "/v1/providers/acme/widget/1.0.0/download/linux/amd64"),
					slog.Int("status", 200),
					slog.Int("bytes", 3128),
					slog.String("client", "192.0.2.44"),
					slog.Duration("duration", 1234*time.Microsecond))
			}
		})
	}
}
