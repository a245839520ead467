package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
)

// askAt asks a registry by one of its hosts.
func askAt(t *testing.T, h http.Handler, host, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

func TestMarkdown(t *testing.T) {
	h := New(open(newMemory(t)))
	const page, document = "text/markdown; charset=utf-8", "application/json"
	for _, tt := range []struct {
		path, accept string
		kind, want   string
	}{
		{"/v1/modules/acme/vpc/aws/1.2.0+build.5.md", "", page, "# Module acme/vpc/aws 1.2.0+build.5\n"},
		{"/v1/modules/ACME/vpc/aws/v1.2+build.5.md", document, page, "source  = \"registry.example.com/acme/vpc/aws\""},
		{"/v1/modules/acme/vpc/aws.md", "", page, "# Module acme/vpc/aws 1.2.0"},
		{"/v1/modules/acme/vpc/aws", "text/markdown", page, "# Module acme/vpc/aws"},
		{"/v1/modules/acme/vpc/aws", "text/markdown;q=0.5, text/html", page, "# Module acme/vpc/aws"},
		{"/v1/modules/acme/vpc/aws", "text/markdown, application/json", page, "# Module acme/vpc/aws"},
		{"/v1/modules/acme/vpc/aws", "text/markdown;q=0.5, application/json", document, `{"id"`},
		{"/v1/modules/acme/vpc/aws", "text/markdown;q=0", document, `{"id"`},
		{"/v1/modules/acme/vpc/aws", "text/markdown;q=x", document, `{"id"`},
		{"/v1/modules/acme/vpc/aws", "*/*", document, `{"id"`},
		{"/v1/modules/acme/vpc/aws", "text/*;;,,/", document, `{"id"`},
		{"/v1/modules/acme/vpc/aws", "", document, `{"id"`},
		{"/v1/providers/acme/widget.md", "", page, "# Provider acme/widget 1.0.0"},
		{"/v1/providers/acme/widget/1.0.0.md", "", page, "# Provider acme/widget 1.0.0"},
		{"/v1/providers/acme/widget/1.0.0", "text/markdown", page, "source  = \"registry.example.com/acme/widget\""},
		{"/v1/modules/acme/vpc/aws/versions", "text/markdown", document, `{"modules"`},
		{"/llms.txt", "", "text/plain; charset=utf-8", "# Larder at registry.example.com\n"},
	} {
		var header []string
		if tt.accept != "" {
			header = []string{"Accept", tt.accept}
		}
		for range 2 { // the second one is kept
			r, got := askAt(t, h, "registry.example.com", tt.path, header...)
			if r.StatusCode != 200 || r.Header.Get("Content-Type") != tt.kind || !strings.Contains(got, tt.want) {
				t.Errorf("%s %q: %d %v %.300s, want %s %q", tt.path, tt.accept, r.StatusCode, r.Header, got, tt.kind, tt.want)
			}
			if vary := r.Header.Get("Vary"); tt.path != guidePath && !strings.HasSuffix(tt.path, "versions") && vary != "Accept-Encoding, Accept" {
				t.Errorf("%s: Vary %q", tt.path, vary)
			}
		}
	}
	for path, want := range map[string]int{
		"/v1/modules/acme/vpc/.md": 404, "/v1/modules/acme/vpc/aws/.md": 404, "/v1/modules/acme/vpc/aws/9.9.9.md": 404, "/v1/modules/acme/vpc/aws/versions.md": 404,
		"/v1/providers/acme/.md": 404, "/v1/providers/acme/widget/1.0.0/docs/resources/none.md": 404, "/v1/modules/acme/vpc/aws/download.md": 404, "/llms.txt/": 404, "/v1/modules/acme.md": 404,
	} {
		if r, got := askAt(t, h, "registry.example.com", path); r.StatusCode != want || r.Header.Get("Content-Type") != document {
			t.Errorf("%s: %d %s", path, r.StatusCode, got)
		}
	}
}

// A page has the host by which it is asked for, and no other text.
func TestHostOfPages(t *testing.T) {
	named := open(newMemory(t))
	named.Hostname = "own.example.com"
	nameless := open(newMemory(t))
	nameless.Hostname = ""
	for _, tt := range []struct {
		config     Config
		host, want string
	}{
		{named, "Other.example.com:443", "other.example.com"},
		{named, "127.0.0.1:8443", "127.0.0.1:8443"},
		{named, "evil\"\n\n# x", "own.example.com"},
		{nameless, "evil`", "registry.example.com"},
		{nameless, "", "registry.example.com"},
	} {
		for _, path := range []string{"/v1/modules/acme/vpc/aws.md", "/llms.txt"} {
			if _, got := askAt(t, New(tt.config), tt.host, path); !strings.Contains(got, "https://"+tt.want+"/") || strings.Contains(got, "evil") {
				t.Errorf("%s at %q: %.300s", path, tt.host, got)
			}
		}
	}
	h := New(named)
	for _, host := range []string{"a.example.com", "b.example.com", "a.example.com"} { // though it is kept
		if _, got := askAt(t, h, host, "/v1/modules/acme/vpc/aws.md"); !strings.Contains(got, `"`+host+`/acme/vpc/aws"`) {
			t.Errorf("%s: %.500s", host, got)
		}
	}
}

// assistant answers as a test says.
type assistant struct {
	status int
	body   string
	err    error
	caller access.Caller
	host   string
}

func (a *assistant) Answer(_ *http.Request, caller access.Caller, host string) (int, []byte, error) {
	a.caller, a.host = caller, host
	if a.body == "" {
		return a.status, nil, a.err
	}
	return a.status, []byte(a.body), a.err
}

type refusing struct{}

func (refusing) Error() string          { return "internal" }
func (refusing) Refusal() (int, string) { return http.StatusForbidden, "not from there" }

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer assistant
		status int
		want   string
	}{
		{"an answer", assistant{status: 200, body: `{"id":1}`}, 200, `{"id":1}`},
		{"a notification", assistant{status: 202}, 202, ""},
		{"refused", assistant{err: refusing{}}, 403, `{"errors":["not from there"]}` + "\n"},
		{"without a token", assistant{err: &catalog.UnauthorizedError{Why: "there is no token"}}, 401, "this registry wants a token, and there is no token"},
		{"too late", assistant{err: context.DeadlineExceeded}, 503, "try again"},
		{"broken", assistant{err: errors.New("secret")}, 500, "internal error"},
	} {
		config := open(newMemory(t))
		config.Open = false
		config.Assistant = &tt.answer
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader("{}"))
		w := httptest.NewRecorder()
		New(config).ServeHTTP(w, r)
		got, err := io.ReadAll(w.Result().Body)
		if err != nil || w.Code != tt.status || !strings.Contains(string(got), tt.want) || tt.want == "" && len(got) > 0 {
			t.Errorf("%s: %d %s, want %d %s", tt.name, w.Code, got, tt.status, tt.want)
		}
		if w.Header().Get("Cache-Control") != "no-store" || (w.Header().Get("Www-Authenticate") != "") != (tt.status == 401) {
			t.Errorf("%s: %v", tt.name, w.Header())
		}
		if tt.answer.caller.IsAnyone() || tt.answer.host != "example.com" {
			t.Errorf("%s: asked for %v by %q", tt.name, tt.answer.caller, tt.answer.host)
		}
	}
	config := open(newMemory(t))
	config.Assistant = &assistant{}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions} {
		r := ask(t, New(config), method, "/mcp")
		if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", method, r.StatusCode, r.Header)
		}
	}
	config.Assistant = nil
	if r := ask(t, New(config), http.MethodPost, "/mcp"); r.StatusCode != http.StatusNotFound {
		t.Errorf("without an assistant: %d", r.StatusCode)
	}
}
