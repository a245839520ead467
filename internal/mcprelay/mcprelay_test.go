package mcprelay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// echo is a registry that answers with what it was sent.
type echo struct {
	mu      sync.Mutex
	headers []string
	fails   error
	hangs   bool
}

func (e *echo) Post(ctx context.Context, path string, body []byte, h http.Header) ([]byte, error) {
	if e.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.headers = append(e.headers, path+" "+h.Get("Mcp-Protocol-Version")+" "+h.Get("Mcp-Method")+" "+h.Get("Mcp-Name"))
	if e.fails != nil {
		return nil, e.fails
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return []byte("<html>"), nil
	}
	if len(m.ID) == 0 {
		return nil, nil
	}
	return []byte(`{"jsonrpc":"2.0", "id":` + string(m.ID) + ",\n \"result\":{\"protocolVersion\":\"2025-06-18\"}}"), nil
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name, in, want, header string
		fails                  error
	}{
		{"nothing", "", "", "", nil},
		{"blank lines", "\n \r\n", "", "", nil},
		{"a call", `{"id":1,"method":"tools/call","params":{"name":"search"}}`, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`, "/mcp  tools/call search", nil},
		{"an ID that is a text", `{"id":"a b","method":"ping"}`, `{"jsonrpc":"2.0","id":"a b","result":{"protocolVersion":"2025-06-18"}}`, "/mcp  ping ", nil},
		{"a version of its own", `{"id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`, "/mcp 2026-07-28 x ", nil},
		{"a header in a name", `{"id":1,"method":"tools/call","params":{"name":"a\r\nb"}}`, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`, "/mcp  tools/call ", nil},
		{"a notification", `{"method":"notifications/initialized"}`, "", "/mcp  notifications/initialized ", nil},
		{"no JSON", `{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not JSON"}}`, "", nil},
		{"a list", `[1]`, "", "/mcp   ", nil},
		{"a failure", `{"id":7,"method":"x"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"no \"token\""}}`, "/mcp  x ", errors.New(`no "token"`)},
		{"a notification that fails", `{"method":"x"}`, "", "/mcp  x ", errors.New("no")},
	} {
		registry := &echo{fails: tt.fails}
		var out strings.Builder
		if err := Run(t.Context(), registry, strings.NewReader(tt.in+"\n"), &out); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != tt.want || strings.Join(registry.headers, "") != tt.header {
			t.Errorf("%s: %s %q, want %s %q", tt.name, got, registry.headers, tt.want, tt.header)
		}
	}
}

// After the first answer, the version that it agrees to goes with every message.
func TestVersion(t *testing.T) {
	registry := &echo{}
	in, feed := io.Pipe()
	out, answers := io.Pipe()
	go func() { answers.CloseWithError(Run(t.Context(), registry, in, answers)) }()
	reader := json.NewDecoder(out)
	for _, line := range []string{`{"id":1,"method":"initialize"}`, `{"id":2,"method":"tools/list"}`} {
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var answer any
		if err := reader.Decode(&answer); err != nil {
			t.Fatal(err)
		}
	}
	_ = feed.Close()
	if want := []string{"/mcp  initialize ", "/mcp 2025-06-18 tools/list "}; !slices.Equal(registry.headers, want) {
		t.Errorf("got %q, want %q", registry.headers, want)
	}
}

func TestRunEnds(t *testing.T) {
	long := `{"id":1,"method":"` + strings.Repeat("x", maxMessage) + "\"}\n"
	if err := Run(t.Context(), &echo{}, strings.NewReader(long), io.Discard); err == nil || !strings.Contains(err.Error(), "longer than 256 KiB") {
		t.Errorf("a long message: %v", err)
	}
	full := errors.New("full")
	in, feed := io.Pipe()
	go func() {
		for range 100 {
			if _, err := io.WriteString(feed, `{"id":1,"method":"x"}`+"\n"); err != nil {
				return
			}
		}
		_ = feed.Close()
	}()
	if err := Run(t.Context(), &echo{}, in, failing{full}); !errors.Is(err, full) {
		t.Errorf("nobody reads: %v", err)
	}
	_ = in.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	open, _ := io.Pipe()
	defer open.Close()
	if err := Run(ctx, &echo{}, open, io.Discard); err != nil {
		t.Errorf("a signal: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Run(ctx, &echo{hangs: true}, strings.NewReader(`{"id":1,"method":"x"}`+"\n"), io.Discard); err != nil {
		t.Errorf("a signal, and a registry that hangs: %v", err)
	}
	if err := Run(t.Context(), &echo{}, failingReader{full}, io.Discard); !errors.Is(err, full) {
		t.Errorf("an input that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
