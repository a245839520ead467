package registryclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answering is a client of a registry that answers so.
func answering(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	c := New(strings.TrimPrefix(server.URL, "https://"), "secret")
	c.http.Transport = server.Client().Transport
	return c
}

func TestRequests(t *testing.T) {
	var asked string
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.String() + " " + r.Header.Get("Accept") + " " + r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"versions":["1.0.0","2.0.0"],"meta":{"next_offset":20},"modules":[{"namespace":"a","name":"b","provider":"c"}],"providers":[{"namespace":"a","name":"b"}],"larder":{"total":7}}`))
	})
	list := func(ask func(q Query) (List, error), q Query) func() error {
		return func() error {
			found, err := ask(q)
			if err == nil && (len(found.Entries) != 2 || found.Entries[0].Address() != "a/b/c" || found.Entries[1].Address() != "a/b" || found.Total != 7 || !found.More) {
				t.Errorf("found %+v", found)
			}
			return err
		}
	}
	modules := func(q Query) (List, error) { return c.Modules(t.Context(), q) }
	providers := func(q Query) (List, error) { return c.Providers(t.Context(), q) }
	show := func(address, version string) func() error {
		return func() error {
			d, body, err := c.Show(t.Context(), address, version)
			if err == nil && (len(d.Versions) != 2 || d.Versions[0] != "2.0.0" || len(body) == 0) {
				t.Errorf("%+v", d)
			}
			return err
		}
	}
	for _, tt := range []struct {
		ask  func() error
		want string
	}{
		{list(modules, Query{Limit: 5}), "GET /v1/modules?limit=5&offset=0 application/json Bearer secret"},
		{list(modules, Query{Limit: 5, Offset: 10, Text: "a b&c"}), "GET /v1/modules?limit=5&offset=10&q=a+b%26c application/json Bearer secret"},
		{list(modules, Query{Limit: 5, Namespace: "acme", Name: "vpc"}), "GET /v1/modules/acme/vpc?limit=5&offset=0 application/json Bearer secret"},
		{list(providers, Query{Limit: 5, Namespace: "acme"}), "GET /v1/providers/acme?limit=5&offset=0 application/json Bearer secret"},
		{show("a/b/c", ""), "GET /v1/modules/a/b/c application/json Bearer secret"},
		{show("a/b", "1.0.0+x"), "GET /v1/providers/a/b/1.0.0+x application/json Bearer secret"},
		{func() error { _, err := c.Markdown(t.Context(), "a/b/c", "1.0.0"); return err }, "GET /v1/modules/a/b/c/1.0.0.md text/markdown Bearer secret"},
		{func() error {
			_, err := c.Post(t.Context(), "/mcp", []byte("{}"), http.Header{"Accept": {"x"}})
			return err
		}, "POST /mcp x Bearer secret"},
	} {
		if err := tt.ask(); err != nil || asked != tt.want {
			t.Errorf("%q, %v, want %q", asked, err, tt.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		status int // 0: no answer of a registry
		want   string
	}{
		{"in its words", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"errors":["there is no\u001b module", "x"]}`))
		}, 404, "answers: there is no\uFFFD module; x"},
		{"another server", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, 502, "502 Bad Gateway: is it a registry?"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/", http.StatusFound)
		}, 302, "to another address"},
		{"no document", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, 0, "not such a document"},
		{"a long answer", func(w http.ResponseWriter, _ *http.Request) {
			for range maxAnswer>>20 + 1 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, 0, "more than 16 MiB"},
		{"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
		}, 0, "unexpected EOF"},
	} {
		_, _, err := answering(t, tt.answer).Show(t.Context(), "a/b/c", "")
		var refused *AnswerError
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, &refused) != (tt.status != 0) || refused != nil && refused.Status != tt.status {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the token: %v", tt.name, err)
		}
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := New(strings.TrimPrefix(server.URL, "https://"), "").Modules(t.Context(), Query{Limit: 1}); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("a strange certificate: %v", err)
	}
	if _, err := New("127.0.0.1:1", "").Providers(t.Context(), Query{Limit: 1}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1: ") {
		t.Errorf("nobody there: %v", err)
	}
}
