package dynamocatalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// lookedUp is a table with a token, a version of a provider, and a version of a
// module.
type lookedUp struct {
	table
	token    access.Token
	provider registry.ProviderVersion
	module   registry.ModuleVersion
}

func newLookedUp(t *testing.T) lookedUp {
	t.Helper()
	b := lookedUp{newTable(t), token(t), catalogtest.Provider(widget, 1, 3)[0], vpcVersion(t, "1.0.0", 1)}
	c := b.open(t, nil)
	if err := errors.Join(c.Access().CreateToken(t.Context(), b.token), catalogtest.Put(t.Context(), c, b.provider), catalogtest.Put(t.Context(), c, b.module)); err != nil {
		t.Fatal(err)
	}
	return b
}

// ask asks all four questions, each beside the token.
func (b lookedUp) ask(t *testing.T, c *dynamocatalog.Catalog, answered func(what string, lookup access.Lookup, got, want any, err error)) {
	t.Helper()
	ctx, provider, module := t.Context(), b.provider, b.module
	for what, ask := range map[string]struct {
		want any
		of   func(*access.Lookup) (any, error)
	}{
		"modules": {registry.Listing{module.Listed()}, func(l *access.Lookup) (any, error) { return catalogtest.Listing(ctx, c, vpc, l) }},
		"module": {module, func(l *access.Lookup) (any, error) {
			return catalogtest.Load(ctx, c, registry.ModuleVersion{Address: vpc, Version: module.Version}, l)
		}},
		"providers": {registry.Listing{provider.Listed()}, func(l *access.Lookup) (any, error) { return catalogtest.Listing(ctx, c, widget, l) }},
		"provider": {provider, func(l *access.Lookup) (any, error) {
			return catalogtest.Load(ctx, c, registry.ProviderVersion{Address: widget, Version: provider.Version}, l)
		}},
	} {
		lookup := access.Lookup{ID: b.token.ID}
		got, err := ask.of(&lookup)
		answered(what, lookup, got, ask.want, err)
	}
}

// good checks that an answer is right, and the token with it.
func (b lookedUp) good(t *testing.T, name string) func(what string, lookup access.Lookup, got, want any, err error) {
	return func(what string, lookup access.Lookup, got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %s: %v, %v, want %v", name, what, got, err, want)
		}
		wantToken(t, name+", "+what, lookup, b.token)
	}
}

// TestOneRequestWithToken checks that a question and its token are one request,
// whether or not there is an answer to either.
func TestOneRequestWithToken(t *testing.T) {
	b := newLookedUp(t)
	count := &transport{}
	c := b.open(t, count)
	one := []string{"BatchGetItem of 2, consistent"}
	b.ask(t, c, func(what string, lookup access.Lookup, got, want any, err error) {
		b.good(t, "known")(what, lookup, got, want, err)
		if operations := count.take(); !slices.Equal(operations, one) {
			t.Errorf("%s took %q", what, operations)
		}
	})
	for _, id := range []access.ID{b.token.ID, token(t).ID, {}} {
		lookup := access.Lookup{ID: id}
		unknown := registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aw"}
		_, listErr := c.Listing(t.Context(), unknown, &lookup)
		listFound := lookup.Token != nil
		_, stateErr := catalogtest.Load(t.Context(), c, registry.ModuleVersion{Address: vpc, Version: registrytest.Version(t, "9.9.9")}, &lookup)
		for _, err := range []error{listErr, stateErr} {
			if !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("unknown: %v, want ErrNotFound", err)
			}
		}
		if known := id == b.token.ID; listFound != known || (lookup.Token != nil) != known {
			t.Errorf("token %s was found: %t, %t", id.Short(), listFound, lookup.Token != nil)
		}
		if operations := count.take(); !slices.Equal(operations, slices.Concat(one, one)) {
			t.Errorf("two questions took %q", operations)
		}
	}
}

// TestChunksWithToken checks that a listing of several items takes a second request, if it
// is wanted, and that one which is being replaced is read again.
func TestChunksWithToken(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newLookedUp(t)
	count := &transport{}
	c := b.open(t, count)
	gadget := registry.ProviderAddress{Namespace: "acme", Type: "gadget"}
	want := registry.Listing{}
	ask := func(operations ...string) error {
		t.Helper()
		count.take()
		lookup := access.Lookup{ID: b.token.ID}
		got, err := catalogtest.Listing(t.Context(), c, gadget, &lookup)
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%d versions were read as %d", len(want), len(got))
		}
		wantToken(t, "chunks", lookup, b.token)
		if took := count.take(); !slices.Equal(took, operations) {
			t.Errorf("%d versions took %q, want %q", len(want), took, operations)
		}
		return err
	}
	const batch, query = "BatchGetItem of 2, consistent", "Query, consistent"
	for revision, tt := range []struct {
		versions int
		takes    []string
	}{
		{2000, []string{batch}},          // 1 chunk
		{10_000, []string{batch, query}}, // 3 chunks
		{5000, []string{batch, query}},   // 2 chunks
	} {
		want = long(t, tt.versions)
		if err := c.Fill(t.Context(), gadget, revision, want); err != nil {
			t.Fatal(err)
		}
		if err := ask(tt.takes...); err != nil {
			t.Error(err)
		}
	}
	count.take()
	unwanted := access.Lookup{ID: b.token.ID, Wanted: func(*access.Token) bool { return false }}
	if _, err := catalogtest.Listing(t.Context(), c, gadget, &unwanted); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("what is not wanted: %v", err)
	}
	if took := count.take(); !slices.Equal(took, []string{batch}) {
		t.Errorf("what is not wanted took %q", took)
	}
	lookup := access.Lookup{ID: b.token.ID}
	if got, err := catalogtest.Listing(t.Context(), b.open(t, &lazy{each: 1}), gadget, &lookup); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("one key at a time, the last one first: %d versions, %v", len(got), err)
	}
	wantToken(t, "one key at a time", lookup, b.token)
	put := func(revision string) { b.revise(t, gadget, "LIST#1", revision) }
	put("2")
	count.pick = func(number int) (fault, bool) {
		if number == 3 {
			put("3")
		}
		return fault{}, false
	}
	if err := ask(batch, query, query); err != nil {
		t.Error(err)
	}
}

// TestForeignItemsWithToken checks that an item which cannot be read is an error.
func TestForeignItemsWithToken(t *testing.T) {
	b := newLookedUp(t)
	c := b.open(t, nil)
	b.put(t, "M#"+vpc.String(), "LIST", nil)
	b.put(t, "M#"+vpc.String(), "V#"+b.module.Version.Key(), nil)
	b.put(t, "P#"+widget.String(), "V#"+b.provider.Version.Key(), nil)
	b.put(t, "P#"+widget.String(), "LIST", nil)
	b.ask(t, c, func(what string, _ access.Lookup, _, _ any, err error) {
		if err == nil || !strings.Contains(err.Error(), "build the catalog again") {
			t.Errorf("%s: %v, want advice", what, err)
		}
	})
}

// TestLookupsDespiteFaults fails questions: once, which the caller does not notice, and for
// good, which also leaves the lookup without a token.
func TestLookupsDespiteFaults(t *testing.T) {
	b := newLookedUp(t)
	for _, f := range passing {
		count := &transport{}
		c := b.open(t, count)
		count.pick = func(number int) (fault, bool) { return f, number%2 == 1 }
		b.ask(t, c, b.good(t, f.name))
	}
	for _, f := range final {
		c := b.open(t, &transport{pick: func(int) (fault, bool) { return f, true }})
		b.ask(t, c, func(what string, _ access.Lookup, _, _ any, err error) {
			if codeOf(err) != f.code || errors.Is(err, registry.ErrNotFound) {
				t.Errorf("%s, %s: %v, want %s", f.name, what, err, f.code)
			}
		})
	}
}

// TestUnprocessedKeys checks that keys which DynamoDB leaves unprocessed are asked for again,
// but not for ever.
func TestUnprocessedKeys(t *testing.T) {
	b := newLookedUp(t)
	b.ask(t, b.open(t, &lazy{each: 1}), b.good(t, "one at a time"))
	nothing := &lazy{}
	_, err := catalogtest.Load(t.Context(), b.open(t, nothing), registry.ModuleVersion{Address: vpc, Version: b.module.Version}, &access.Lookup{ID: b.token.ID})
	if err == nil || !strings.Contains(err.Error(), "too much to do") || errors.Is(err, registry.ErrNotFound) {
		t.Errorf("nothing at all: %v", err)
	}
	if nothing.requests != dynamocatalog.MaxReads {
		t.Errorf("it took %d requests, want %d", nothing.requests, dynamocatalog.MaxReads)
	}
}

// lazy is the transport to a DynamoDB that processes only the last keys of every batch.
type lazy struct {
	each int

	mu       sync.Mutex
	requests int
}

func (l *lazy) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.requests++
	l.mu.Unlock()
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchGetItem") {
		return http.DefaultTransport.RoundTrip(r)
	}
	type keys struct {
		Keys           []json.RawMessage
		ConsistentRead bool
	}
	var request struct{ RequestItems map[string]keys }
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	response := map[string]any{"Responses": map[string]any{}}
	rest := map[string]keys{}
	for table, all := range request.RequestItems {
		left := len(all.Keys) - l.each
		if now := all.Keys[left:]; len(now) > 0 {
			body, err := json.Marshal(map[string]any{"RequestItems": map[string]keys{table: {now, all.ConsistentRead}}})
			if err != nil {
				return nil, err
			}
			if err := forward(r, body, &response); err != nil {
				return nil, err
			}
		}
		if all.Keys = all.Keys[:left]; len(all.Keys) > 0 {
			rest[table] = all
		}
	}
	response["UnprocessedKeys"] = rest
	body, err := json.Marshal(response)
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// forward sends a request with another body, whose signature DynamoDB Local does
// not check.
func forward(r *http.Request, body []byte, response any) error {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(got.Body).Decode(response), got.Body.Close())
}
