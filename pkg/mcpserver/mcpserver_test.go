package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/mcpserver"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	vpc    = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	widget = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
)

// world is a registry with one module and one provider, over HTTP.
type world struct {
	*httptest.Server
	bucket *blobtest.Memory
	open   bool
	access *boltcatalog.Access
	mu     sync.Mutex
	fails  error // of the bucket
}

// Get implements browse.Documents.
func (w *world) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails != nil {
		return nil, w.fails
	}
	return blob.ReadRange(ctx, w.bucket, key, offset, length)
}

// Describe implements directory.Contents.
func (w *world) Describe(context.Context, registry.State) (directory.Description, error) {
	return directory.Description{Text: "A `network`."}, nil
}

// ServeHTTP answers as a registry does.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request, server *mcpserver.Server) {
	caller := access.Anyone
	if !w.open {
		caller = access.Authenticate(r.Header.Values("Authorization"))
	}
	status, body, err := server.Answer(r, caller, r.Host)
	var refused *mcpserver.RefusedError
	switch {
	case errors.As(err, &refused):
		http.Error(out, refused.Message, refused.Status)
	case errors.Is(err, catalog.ErrUnauthorized):
		http.Error(out, err.Error(), http.StatusUnauthorized)
	case err != nil:
		http.Error(out, err.Error(), http.StatusInternalServerError)
	default:
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		_, _ = out.Write(body)
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	index, err := boltcatalog.Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0-rc.1"} {
		m := &registry.ModuleVersion{Address: vpc, Version: registrytest.Version(t, v), Revision: 1, Archive: registry.ModuleArchive{Format: "zip", SHA256: "aa"}}
		if v == "1.0.0" {
			m.Standing = registry.Standing{State: registry.Deprecated, Message: "use 1.1.0"}
		}
		if err := index.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	p := &registry.ProviderVersion{Address: widget, Version: registrytest.Version(t, "0.1.0"), Revision: 2,
		Packages: []registry.Package{{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, Sequence: 1}},
		Release:  &registry.Release{Keys: []registry.SigningKey{{KeyID: "0123456789ABCDEF"}}, Sequence: 2}}
	if err := index.Put(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w := &world{bucket: blobtest.NewMemory(), open: true}
	if w.access, err = boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.access.Close() })
	if err := directory.NewWriter(directory.WriterConfig{Index: index, Contents: w}).Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(contents.Module{
		Root:       contents.Part{Readme: strings.Repeat("A line of the README.\n", 5000), Inputs: []contents.Input{{Name: "cidr", Type: "string", Required: true}}},
		Submodules: []contents.Part{{Path: "modules/subnet", Name: "subnet", Readme: "About subnets."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.bucket.Upload(t, registry.ContentsKey(contents.Reader, "aa"), document, nil)
	read := index.WithTokens(w.access)
	reader := catalog.NewReader(catalog.ReaderConfig{Catalog: read, Directory: read, TokenUses: w.access, Logger: slog.New(slog.DiscardHandler)})
	server := mcpserver.New(mcpserver.Config{Listings: reader, Browser: browse.New(browse.Config{Catalog: reader, Directory: directory.NewView(reader), Documents: w})})
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.ServeHTTP(out, r, server) }))
	t.Cleanup(w.Close)
	return w
}

// token makes a token with a scope.
func (w *world) token(t *testing.T, scope string) string {
	t.Helper()
	scopes, err := access.ParseScopes([]string{scope})
	if err != nil {
		t.Fatal(err)
	}
	secret, id := access.NewToken()
	if err := w.access.CreateToken(t.Context(), access.Token{ID: id, Name: "test", Owner: "ann", Origin: access.ByOperator, Scopes: scopes, Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return secret
}

// connect is a real client.
func (w *world) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.URL, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, session *mcp.ClientSession, tool string, arguments any) (text string, isError bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, result.IsError
}

type arguments map[string]any

func TestTools(t *testing.T) {
	w := newWorld(t)
	session := w.connect(t)
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || tool.Description == "" || !tool.Annotations.ReadOnlyHint || !strings.Contains(string(schema), `"description"`) {
			t.Errorf("%s: %s, %v", tool.Name, schema, err)
		}
	}
	if want := []string{"list_versions", "newest_version", "search", "show_module", "show_provider"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
	host := strings.TrimPrefix(w.URL, "http://")
	for _, tt := range []struct {
		tool string
		in   arguments
		want string
	}{
		{"search", arguments{"text": "vpc"}, "- module `acme/vpc/aws` 1.1.0: A \\`network\\`.\n\nThese are 1 to 1 of 1."},
		{"search", arguments{}, "acme/vpc/aws"},
		{"search", arguments{"namespace": "ACME", "system": "aws", "limit": 1}, "acme/vpc/aws"},
		{"search", arguments{"namespace": "other"}, "There is none."},
		{"search", arguments{"offset": 5}, "There are 1, and none from number 5 on."},
		{"search", arguments{"kind": "providers"}, "- provider `acme/widget` 0.1.0"},
		{"show_module", arguments{"address": "acme/vpc/aws"}, "# Module acme/vpc/aws 1.1.0"},
		{"show_module", arguments{"address": host + "/acme/vpc/aws", "version": "latest"}, "# Module acme/vpc/aws 1.1.0"},
		{"show_module", arguments{"address": "ACME/vpc/aws", "version": "1.0.0"}, "Status: **deprecated**: use 1.1.0"},
		{"show_module", arguments{"address": "acme/vpc/aws"}, "source  = \"" + host + "/acme/vpc/aws\""},
		{"show_module", arguments{"address": "acme/vpc/aws"}, "(This is piece 1 of 3.)"},
		{"show_module", arguments{"address": "acme/vpc/aws", "piece": 1}, "call the tool again with piece = 2"},
		{"show_module", arguments{"address": "acme/vpc/aws", "piece": 3}, "(This is piece 3 of 3.)\n\n> A line"},
		{"show_module", arguments{"address": "acme/vpc/aws", "part": "modules/subnet"}, "> About subnets."},
		{"show_module", arguments{"address": "acme/vpc/aws//modules/subnet"}, "> About subnets."},
		{"show_provider", arguments{"address": "acme/widget"}, "# Provider acme/widget 0.1.0"},
		{"show_provider", arguments{"address": "acme/widget", "version": "v0.1"}, "No documentation was published"},
		{"newest_version", arguments{"address": "acme/vpc/aws"}, "The newest version of `acme/vpc/aws` is `1.1.0`."},
		{"newest_version", arguments{"address": "acme/widget"}, "`0.1.0`"},
		{"list_versions", arguments{"address": "acme/vpc/aws"}, "- 2.0.0-rc.1\n- 1.1.0\n- 1.0.0 **deprecated**: use 1.1.0\n\nThese are 1 to 3 of 3."},
		{"list_versions", arguments{"address": "acme/vpc/aws", "offset": 2}, "These are 3 to 3 of 3."},
		{"list_versions", arguments{"address": "acme/vpc/aws", "offset": 9}, "There are 3 versions, and none from number 9 on."},
	} {
		if got, isError := call(t, session, tt.tool, tt.in); isError || !strings.Contains(got, tt.want) {
			t.Errorf("%s %v: %v\n%.1500s\nwant %q", tt.tool, tt.in, isError, got, tt.want)
		}
	}
}

// What does not fit is an error in words, which an assistant reads.
func TestToolErrors(t *testing.T) {
	session := newWorld(t).connect(t)
	for _, tt := range []struct {
		tool string
		in   any
		want string
	}{
		{"search", arguments{"kind": "people"}, "must be modules or providers"},
		{"search", arguments{"limit": 51}, "must be 1 to 50"},
		{"search", arguments{"limit": -1}, "must be 1 to 50"},
		{"search", arguments{"text": strings.Repeat("x", 257)}, "longer than 256 bytes"},
		{"search", arguments{"namespace": strings.Repeat("x", 257)}, "longer than 256 bytes"},
		{"search", arguments{"offset": -1}, "must be 0 or more"},
		{"search", arguments{"offset": 1 << 40}, "must be 0 or more"},
		{"search", arguments{"text": 1}, "text"},
		{"search", arguments{"extra": "x"}, "extra"},
		{"show_module", arguments{}, "address"},
		{"show_module", arguments{"address": ""}, "is not the address namespace/name/system"},
		{"show_module", arguments{"address": "acme/none/aws"}, "there is no module acme/none/aws that you may read: search finds"},
		{"show_module", arguments{"address": "acme/vpc/aws", "version": "9.9.9"}, "there is no version \"9.9.9\" of module acme/vpc/aws"},
		{"show_module", arguments{"address": "acme/vpc/aws", "version": "new\n"}, "is not a version"},
		{"show_module", arguments{"address": "acme/vpc/aws", "part": "../x"}, "has no submodule or example"},
		{"show_module", arguments{"address": "acme/vpc/aws", "piece": 9}, "the page has 3"},
		{"show_module", arguments{"address": "acme/vpc/aws", "piece": -1}, "the page has 3"},
		{"show_module", arguments{"address": "a/../../b"}, "is not the address"},
		{"show_module", arguments{"address": "a/\x00/b"}, "is not a module address"},
		{"show_module", arguments{"address": strings.Repeat("a/", 1000)}, "longer than any address"},
		{"show_provider", arguments{"address": "acme/none"}, "there is no provider acme/none that you may read"},
		{"show_provider", arguments{"address": "registry.terraform.io/a/b"}, "of a provider of this registry"},
		{"show_provider", arguments{"address": "acme/widget", "page": "x"}, "must be category/slug"},
		{"show_provider", arguments{"address": "acme/widget", "page": "resources/none"}, "there is no page"},
		{"show_provider", arguments{"address": strings.Repeat("a/", 1000)}, "longer than any address"},
		{"newest_version", arguments{"address": "acme/none"}, "there is no provider acme/none"},
		{"list_versions", arguments{"address": "acme/none/aws"}, "there is no module acme/none/aws"},
		{"list_versions", arguments{"address": "acme/vpc/aws", "offset": -1}, "must be 0 or more"},
		{"list_versions", arguments{"address": "acme"}, "is not the address"},
	} {
		if got, isError := call(t, session, tt.tool, tt.in); !isError || !strings.Contains(got, tt.want) {
			t.Errorf("%s %v: %v %.300s, want %q", tt.tool, tt.in, isError, got, tt.want)
		}
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "delete_everything"}); err == nil {
		t.Error("there is a tool that is not there")
	}
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	newest     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"newest_version","arguments":{"address":"acme/vpc/aws"}}}`
)

// send sends a message as it is.
func (w *world) send(t *testing.T, body string, header ...string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestMessages(t *testing.T) {
	w := newWorld(t)
	host := strings.TrimPrefix(w.URL, "http://")
	for _, tt := range []struct {
		name   string
		body   string
		header []string
		status int
		want   string
	}{
		{"a call without a session", newest, nil, 200, "1.1.0"},
		{"a newer version of the protocol", newest, []string{"Mcp-Protocol-Version", "2025-06-18"}, 200, "1.1.0"},
		{"a session of somebody else", newest, []string{"Mcp-Session-Id", "abc"}, 200, "1.1.0"},
		{"a page of this site", initialize, []string{"Origin", w.URL}, 200, "serverInfo"},
		{"a page of another site", initialize, []string{"Origin", "https://evil.example.com"}, 403, "another site"},
		{"a page of another port", initialize, []string{"Origin", "http://127.0.0.1:1"}, 403, "another site"},
		{"a page of no site", initialize, []string{"Origin", "null"}, 403, "another site"},
		{"another scheme", initialize, []string{"Origin", "file://" + host}, 403, "another site"},
		{"nothing", "", nil, 400, "one JSON-RPC message"},
		{"several messages", "[" + newest + "]", nil, 400, "one JSON-RPC message"},
		{"no JSON", "{", nil, 400, "not JSON-RPC"},
		{"no message", "{}", nil, 400, ""},
		{"a method of another type", `{"method":1}`, nil, 400, "not JSON-RPC"},
		{"too much", `{"method":"` + strings.Repeat("x", mcpserver.MaxMessage) + `"}`, nil, 413, "256 KiB"},
		{"deep", strings.Repeat(`{"method":`, 20000), nil, 400, ""},
		{"a stream", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, nil, 404, "no streams"},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"resources/delete"}`, nil, 400, ""},
		{"an unknown protocol", initialize, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, "protocol version"},
		{"another content", initialize, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"no content that is taken", initialize, []string{"Accept", "text/html"}, 400, "Accept"},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
	} {
		if status, got := w.send(t, tt.body, tt.header...); status != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d %.300s, want %d %q", tt.name, status, got, tt.status, tt.want)
		}
	}
}

// A registry that is not open tells nobody anything, not even what its tools are.
func TestUnauthorized(t *testing.T) {
	w := newWorld(t)
	w.open = false
	for _, body := range []string{initialize, newest, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		strings.ReplaceAll(newest, "newest_version", "show_module"), strings.ReplaceAll(newest, "newest_version", "list_versions")} {
		if status, got := w.send(t, body); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}

// What fails in the registry is not told to an assistant as its own mistake.
func TestTheBucketFails(t *testing.T) {
	w := newWorld(t)
	w.fails = errors.New("broken")
	if status, got := w.send(t, strings.ReplaceAll(newest, "newest_version", "show_module")); status != http.StatusInternalServerError {
		t.Errorf("%d %s", status, got)
	}
}

func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			version := []string{"1.0.0", "1.1.0"}[i%2]
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"show_module","arguments":{"address":"acme/vpc/aws","version":%q}}}`, i, version)
			if status, got := w.send(t, body); status != http.StatusOK || !strings.Contains(got, "# Module acme/vpc/aws "+version) || !strings.Contains(got, fmt.Sprintf(`"id":%d`, i)) {
				t.Errorf("%d: %d %.200s", i, status, got)
			}
		})
	}
	wait.Wait()
}

// What a token may not read is what is not there, to the letter, in every tool.
func TestDenied(t *testing.T) {
	w := newWorld(t)
	w.open = false
	call := func(scope, tool, arguments string) string {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		status, got := w.send(t, body, "Authorization", "Bearer "+w.token(t, scope))
		if status != http.StatusOK {
			t.Errorf("%s %s %s: %d %s", scope, tool, arguments, status, got)
		}
		return got
	}
	const all, others = "read *", "read modules:other/*"
	for _, tt := range []struct{ tool, there, missing, has string }{
		{"show_module", `{"address":"acme/vpc/aws"}`, `{"address":"acme/xyz/aws"}`, "# Module acme/vpc/aws"},
		{"show_module", `{"address":"acme/vpc/aws","version":"1.0.0"}`, `{"address":"acme/xyz/aws","version":"1.0.0"}`, "# Module acme/vpc/aws"},
		{"show_module", `{"address":"acme/vpc/aws","part":"modules/subnet"}`, `{"address":"acme/xyz/aws","part":"modules/subnet"}`, "About subnets"},
		{"show_provider", `{"address":"acme/widget"}`, `{"address":"acme/missin"}`, "# Provider acme/widget"},
		{"show_provider", `{"address":"acme/widget","page":"resources/a"}`, `{"address":"acme/missin","page":"resources/a"}`, "there is no page"},
		{"newest_version", `{"address":"acme/vpc/aws"}`, `{"address":"acme/xyz/aws"}`, "1.1.0"},
		{"list_versions", `{"address":"acme/widget"}`, `{"address":"acme/missin"}`, "0.1.0"},
	} {
		if got := call(all, tt.tool, tt.there); !strings.Contains(got, tt.has) {
			t.Errorf("%s %s with all scopes: %s", tt.tool, tt.there, got)
		}
		denied, missing := call(others, tt.tool, tt.there), call(others, tt.tool, tt.missing)
		if denied = strings.NewReplacer("vpc", "xyz", "widget", "missin").Replace(denied); denied != missing || !strings.Contains(denied, "that you may read") {
			t.Errorf("%s: what may not be read is answered\n%s, and what is not there\n%s", tt.tool, denied, missing)
		}
	}
	for scope, want := range map[string]string{all: "acme/vpc/aws", "read modules:acme/vpc/aws": "These are 1 to 1 of 1.", others: "There is none.", "read providers:*": "There is none."} {
		if got := call(scope, "search", `{"text":"vpc"}`); !strings.Contains(got, want) {
			t.Errorf("search with %s: %s, want %s", scope, got, want)
		}
	}
	for name, authorization := range map[string]string{"an unknown token": "Bearer larder_x", "no scheme": "x", "another one": "Basic YTpi"} {
		for _, body := range []string{initialize, newest} {
			if status, got := w.send(t, body, "Authorization", authorization); status != http.StatusUnauthorized {
				t.Errorf("%s: %d %s", name, status, got)
			}
		}
	}
}
