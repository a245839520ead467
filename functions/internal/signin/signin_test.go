package signin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access/admin"
)

// TestHandle checks that events are distinguished, and their answers.
func TestHandle(t *testing.T) {
	f := New(Config{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if _, bounded := r.Context().Deadline(); !bounded {
				t.Error("nothing bounds an answer")
			}
			_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
		}),
		Answer: func(_ context.Context, r admin.Request) admin.Answer {
			if r.ListRules == nil {
				return admin.Answer{Error: "it asks for nothing"}
			}
			return admin.Answer{Rules: &admin.RuleList{}}
		},
	})
	for _, c := range []struct{ event, want string }{
		{`{"access":{"list_rules":{}}}`, `{"rules":{"rules":null}}`},
		{`{"access":{}}`, `{"error":"it asks for nothing"}`},
		{`{"access":{"list_rules":{},"only":"mine"}}`, `unknown field \"only\"`},
		{`{"access":{"add_rule":{"name":"acme","not_claims":[]}}}`, `unknown field \"not_claims\"`},
		{`{"access":"list_rules"}`, `does not understand`},
		// A client cannot send an operator's request, wherever it puts it.
		{`{"version":"2.0","rawPath":"/v1/token","rawQueryString":"access=1","body":"{\"access\":{\"list_rules\":{}}}","headers":{"access":"{}"},"requestContext":{"domainName":"h","http":{"method":"POST"}}}`,
			`POST https://h/v1/token?access=1 {\"access\":{\"list_rules\":{}}}`},
	} {
		var event Event
		if err := json.Unmarshal([]byte(c.event), &event); err != nil {
			t.Fatal(err)
		}
		result, err := f.Handle(t.Context(), event)
		text, _ := json.Marshal(result)
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %s, %v, want %s", c.event, text, err, c.want)
		}
	}
	for _, event := range []string{`{}`, `{"control":{}}`, `{"Records":[]}`, `{"access":null}`} {
		var e Event
		if err := json.Unmarshal([]byte(event), &e); err != nil {
			t.Fatal(err)
		}
		if result, err := f.Handle(t.Context(), e); err == nil {
			t.Errorf("%s is answered with %+v", event, result)
		}
	}
}
