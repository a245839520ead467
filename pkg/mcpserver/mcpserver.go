// Package mcpserver is the registry as tools of the Model Context Protocol, for assistants. It
// answers one message at a time and keeps nothing between them, so it runs in a function as
// well as in a process: no sessions, and no streams.
//
// All tools only read, and read what their caller may read. What publishers wrote reaches an
// assistant as [pages] writes it, and the instructions say that it is not to be obeyed.
package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxMessage is the longest message that is read, in bytes: what a function reads of a body.
const MaxMessage = 256 << 10

// timeout is how long a tool may take.
const timeout = 10 * time.Second

// Browser answers what the tools ask. It is a [*browse.Browser].
type Browser interface {
	List(ctx context.Context, caller access.Caller, q directory.Query) (directory.Page, error)
	Module(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (browse.Module, error)
	Provider(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (browse.Provider, error)
	ProviderPage(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version, category contents.Category, slug string) (browse.Page, error)
}

// Listings has the versions of an address. It is a [*catalog.Reader].
type Listings interface {
	Listing(ctx context.Context, caller access.Caller, a registry.Address) (catalog.Snapshot[*registry.Listing], error)
}

// Config is what a server works with. All of it is required.
type Config struct {
	Browser  Browser
	Listings Listings
}

// Server answers messages. It is safe for concurrent use.
type Server struct {
	Config
	handler func() http.Handler
}

// New makes a server. It makes the tools when they are first asked for: that takes some
// milliseconds, which the start of a function has better use for.
func New(c Config) *Server {
	s := &Server{Config: c}
	s.handler = sync.OnceValue(s.newHandler)
	return s
}

func (s *Server) newHandler() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "larder", Title: "Larder", Version: "1"}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		// What is said is in the answers and in our own log.
		Logger: slog.New(slog.DiscardHandler),
	})
	s.addTools(server)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: MaxMessage,
		// A registry behind a proxy on its own machine is asked for a name that is not
		// local. Answer compares the Origin, which is what browsers send.
		DisableLocalhostProtection: true,
	})
}

// RefusedError is a message that is not answered, in words for who sent it.
type RefusedError struct {
	Status  int
	Message string
}

func (e *RefusedError) Error() string { return e.Message }

// Refusal is the status and the message.
func (e *RefusedError) Refusal() (status int, message string) { return e.Status, e.Message }

// visit is what a tool knows of the request that calls it.
type visit struct {
	caller access.Caller
	host   string // of the registry, as in source addresses

	mu     sync.Mutex
	failed error // of the registry: no tool can answer it
}

type visitKey struct{}

// fail notes an error that the whole request is answered with.
func (v *visit) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = err
}

func (v *visit) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

// Answer answers the message that a POST has, for a caller who asks a registry by this host. The
// body is JSON, or nil.
//
// Errors: [*RefusedError]; those of [catalog.Reader]; context.DeadlineExceeded.
func (s *Server) Answer(r *http.Request, caller access.Caller, host string) (status int, body []byte, err error) {
	if err := checkOrigin(r.Header.Values("Origin"), r.Host, host); err != nil {
		return 0, nil, err
	}
	message, err := io.ReadAll(io.LimitReader(r.Body, MaxMessage+1))
	if _, large := errors.AsType[*http.MaxBytesError](err); large || len(message) > MaxMessage {
		return 0, nil, &RefusedError{http.StatusRequestEntityTooLarge, "the message is larger than 256 KiB"}
	}
	if err != nil {
		return 0, nil, &RefusedError{http.StatusBadRequest, "the message could not be read to its end"}
	}
	method, err := methodOf(message)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if method != "tools/call" { // a tool asks the registry itself
		if _, err := s.Browser.List(ctx, caller, directory.Query{Limit: 1}); err != nil {
			return 0, nil, err
		}
	}
	return s.pass(ctx, r, message, &visit{caller: caller, host: host})
}

// methodOf is the method of a message. Several messages at once, which an older version of the
// protocol had, would be an unbounded amount of work; and a stream needs a server that stays.
func methodOf(message []byte) (string, error) {
	var envelope struct {
		Method string `json:"method"`
	}
	if trimmed := bytes.TrimLeft(message, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return "", &RefusedError{http.StatusBadRequest, "this address takes one JSON-RPC message at a time, as a JSON object"}
	}
	if err := json.Unmarshal(message, &envelope); err != nil {
		return "", &RefusedError{http.StatusBadRequest, "the message is not JSON-RPC: it is not a JSON object with a method"}
	}
	if envelope.Method == "subscriptions/listen" {
		return "", &RefusedError{http.StatusNotFound, "this registry has no streams: ask again instead of listening"}
	}
	return envelope.Method, nil
}

// pass hands a message to the library, and waits for the answer.
func (s *Server) pass(ctx context.Context, r *http.Request, message []byte, v *visit) (status int, body []byte, err error) {
	inner := r.Clone(context.WithValue(ctx, visitKey{}, v))
	inner.Body = io.NopCloser(bytes.NewReader(message))
	inner.Header.Del("Authorization") // nobody else needs it
	written := recorder{header: http.Header{}, status: http.StatusOK}
	s.handler().ServeHTTP(&written, inner)
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	if err := v.failure(); err != nil {
		return 0, nil, err
	}
	kind, _, _ := mime.ParseMediaType(written.header.Get("Content-Type"))
	if written.status >= http.StatusBadRequest && kind != "application/json" {
		return 0, nil, &RefusedError{written.status, strings.TrimSpace(written.body.String())}
	}
	return written.status, written.body.Bytes(), nil
}

// recorder keeps what a handler writes.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(data []byte) (int, error) { return r.body.Write(data) }
