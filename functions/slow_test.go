package functions_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/internal/lambdatest"
)

// TestSlowTable lets DynamoDB hang. The functions ask it more than once, and answer before
// Lambda would end them.
func TestSlowTable(t *testing.T) {
	const timeout = 5 * time.Second
	for function, event := range map[string]string{"versions": "versions/module", "download": "download/provider", "catalog": "catalog/module-details"} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			table := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that a client is gone
				<-r.Context().Done()
			}))
			t.Cleanup(table.Close)
			f := lambdatest.Start(t, bootstrap(t, function), append([]string{
				"LARDER_TABLE=larder", "LARDER_BUCKET=larder-bucket", "LARDER_AUTH=open", "AWS_ENDPOINT_URL_DYNAMODB=" + table.URL,
			}, credentials...))
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			begin := time.Now()
			text, err := f.Invoke(ctx, golden(t, event))
			took := time.Since(begin)
			if err != nil {
				t.Fatalf("after %s: %v", took, err)
			}
			var answer events.APIGatewayV2HTTPResponse
			if err := json.Unmarshal(text, &answer); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != http.StatusServiceUnavailable || answer.Headers["Retry-After"] != "1" || !strings.Contains(answer.Body, "does not answer at the moment") {
				t.Errorf("the answer is %+v", answer)
			}
			if requests.Load() < 2 {
				t.Errorf("%d requests in %s, want more", requests.Load(), took)
			}
		})
	}
}
