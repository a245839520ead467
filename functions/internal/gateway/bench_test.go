package gateway

import (
	"net/http"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
)

// BenchmarkInvoke measures what an invocation costs beside the handler: from the event to
// the answer, for answers of these sizes; and what it would cost by the adapter of AWS.
func BenchmarkInvoke(b *testing.B) {
	event, err := os.ReadFile("../../../events/versions/module.json")
	if err != nil {
		b.Fatal(err)
	}
	for name, size := range map[string]int{"plain": 0, "gzip-1K": 1 << 10, "gzip-10K": 10 << 10} {
		body := []byte(`{"modules":[{"versions":[{"version":"1.0.0"}]}]}`)
		if size > 0 {
			body = make([]byte, size)
			for i := range body {
				body[i] = byte(i*7 + 0x1f + i>>8)
			}
		}
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			header := w.Header()
			header.Set("Content-Type", "application/json")
			if size > 0 {
				header.Set("Content-Encoding", "gzip")
			}
			header.Set("Cache-Control", "no-store")
			header.Set("Vary", "Accept-Encoding")
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(body)
		})
		for by, serve := range map[string]lambda.Handler{"reader": reader{handler}, "adapter": adapted(handler)} {
			b.Run(name+"/"+by, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := serve.Invoke(b.Context(), event); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
