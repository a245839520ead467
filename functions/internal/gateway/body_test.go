package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// A handler that needs bodies sees them as clients sent them, and the rest as every reader.
func TestBodies(t *testing.T) {
	long := strings.Repeat("x", maxBody)
	for _, tt := range []struct {
		name, body string
		base64     bool
		want, err  string
	}{
		{"none", "", false, "", ""},
		{"a text", `{"a":"é"}`, false, `{"a":"é"}`, ""},
		{"bytes", base64.StdEncoding.EncodeToString([]byte("\xff\x00")), true, "\xff\x00", ""},
		{"bytes that are none", "%%%%", true, "", "illegal base64"},
		{"the longest", long, false, long, ""},
		{"too long", long + "x", false, "", "too large"},
		{"too long, as bytes", base64.StdEncoding.EncodeToString([]byte(long + "x")), true, "", "too large"},
	} {
		e := events.APIGatewayV2HTTPRequest{RawPath: "/mcp", Body: tt.body, IsBase64Encoded: tt.base64, Headers: map[string]string{"x-a": "b"}}
		e.RequestContext.HTTP.Method, e.RequestContext.DomainName = http.MethodPost, "registry.example.com"
		payload, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		var failed error
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			got, failed = string(body), err
			if r.Method != http.MethodPost || r.URL.Path != "/mcp" || r.Host != "registry.example.com" || r.Header.Get("X-A") != "b" {
				t.Errorf("%s: the handler sees %+v", tt.name, r)
			}
			w.WriteHeader(http.StatusAccepted)
		})
		answer, err := bodyReader{reader{handler}}.Invoke(t.Context(), payload)
		if err != nil || !strings.Contains(string(answer), `"statusCode":202`) {
			t.Errorf("%s: %s, %v", tt.name, answer, err)
		}
		if tt.err == "" && (got != tt.want || failed != nil) || tt.err != "" && !strings.Contains(fmt.Sprint(failed), tt.err) {
			t.Errorf("%s: %.40q, %v; want %.40q, %q", tt.name, got, failed, tt.want, tt.err)
		}
		if _, large := errors.AsType[*http.MaxBytesError](failed); large != (tt.err == "too large") {
			t.Errorf("%s: %v", tt.name, failed)
		}
	}
	if answer, err := (bodyReader{}).Invoke(t.Context(), []byte("{")); err == nil {
		t.Errorf("no event: %s", answer)
	}
}
