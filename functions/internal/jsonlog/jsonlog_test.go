package jsonlog

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

func TestLinesNameTheirInvocation(t *testing.T) {
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "the-request"})
	for name, c := range map[string]struct {
		ctx  context.Context
		log  func(*slog.Logger) *slog.Logger
		want any
	}{
		"outside":         {t.Context(), func(l *slog.Logger) *slog.Logger { return l }, nil},
		"inside":          {ctx, func(l *slog.Logger) *slog.Logger { return l }, "the-request"},
		"with attributes": {ctx, func(l *slog.Logger) *slog.Logger { return l.With("a", "b") }, "the-request"},
	} {
		var written bytes.Buffer
		c.log(New(&written)).InfoContext(c.ctx, "message", "key", "value")
		var line map[string]any
		if err := json.Unmarshal(written.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line["request_id"] != c.want || line["msg"] != "message" || line["key"] != "value" || line["level"] != "INFO" {
			t.Errorf("%s: %v, want request_id %v", name, line, c.want)
		}
	}
}
