package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// many is a directory that selects as many entries as a test says, and notes the query.
type many struct {
	total int
	asked directory.Query
	err   error
}

func (m *many) List(_ context.Context, _ access.Caller, q directory.Query) (directory.Page, error) {
	m.asked = q
	page := directory.Page{Total: m.total}
	for i := q.Offset; i < min(m.total, q.Offset+q.Limit); i++ {
		var address registry.Address = registry.ModuleAddress{Namespace: "acme", Name: fmt.Sprintf("m%d", i), System: "aws"}
		if q.Folder == registry.Providers {
			address = registry.ProviderAddress{Namespace: "acme", Type: fmt.Sprintf("p%d", i)}
		}
		v, _ := registry.ParseVersion("1.0.0")
		page.Entries = append(page.Entries, directory.Entry{Address: address, Newest: v})
	}
	return page, m.err
}

const entryOfModule = `{
	"id": "acme/vpc/aws/1.2.0+build.5", "owner": "acme", "namespace": "acme", "name": "vpc", "version": "1.2.0+build.5", "provider": "aws",
	"description": "What it is for.", "source": "https://git.example.com/acme", "tag": "", "published_at": "2026-11-23T02:00:00Z",
	"downloads": 0, "verified": false, "larder": {"status": "listed", "versions": 3}
}`

const entryOfProvider = `{
	"id": "acme/widget/1.0.0", "owner": "acme", "namespace": "acme", "name": "widget", "version": "1.0.0",
	"description": "What it is for.", "source": "https://git.example.com/acme", "tag": "", "published_at": "2026-11-23T02:00:00Z",
	"downloads": 0, "larder": {"status": "listed", "versions": 2}
}`

// A list is the public registry's document, to the letter.
func TestLists(t *testing.T) {
	h := New(open(newMemory(t)))
	for _, path := range everyList {
		field, entry := "modules", entryOfModule
		if strings.HasPrefix(path, "/v1/providers") {
			field, entry = "providers", entryOfProvider
		}
		r := ask(t, h, "GET", path)
		want := compact(t, `{"meta": {"limit": 15, "current_offset": 0}, "`+field+`": [`+entry+`], "larder": {"total": 1}}`)
		if got := body(t, r); r.StatusCode != 200 || got != want {
			t.Errorf("%s: %d\n%s, want\n%s", path, r.StatusCode, got, want)
		}
		if r.Header.Get("Cache-Control") != "private, no-cache" || r.Header.Get("Etag") == "" {
			t.Errorf("%s: %v", path, r.Header)
		}
		again := ask(t, h, "GET", path, "If-None-Match", r.Header.Get("Etag"))
		if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
			t.Errorf("%s again: %d", path, again.StatusCode)
		}
	}
}

// Each list asks the directory for what its path and its query say, and says where it goes on.
func TestListsAskFor(t *testing.T) {
	modules, providers := registry.Modules, registry.Providers
	for path, tt := range map[string]struct {
		asked directory.Query
		next  string // empty: it is the last part
	}{
		"/v1/modules":                                     {directory.Query{Folder: modules, Limit: 15}, "/v1/modules?limit=15&offset=15"},
		"/v1/modules?limit=2&offset=38":                   {directory.Query{Folder: modules, Limit: 2, Offset: 38}, ""},
		"/v1/modules?limit=2&offset=37":                   {directory.Query{Folder: modules, Limit: 2, Offset: 37}, "/v1/modules?limit=2&offset=39"},
		"/v1/modules?offset=1000000":                      {directory.Query{Folder: modules, Limit: 15, Offset: 1000000}, ""},
		"/v1/modules?provider=aws":                        {directory.Query{Folder: modules, System: "aws", Limit: 15}, "/v1/modules?limit=15&offset=15&provider=aws"},
		"/v1/modules/ACME?limit=100":                      {directory.Query{Folder: modules, Namespace: "acme", Limit: 100}, ""},
		"/v1/modules/acme?namespace=other":                {directory.Query{Folder: modules, Namespace: "acme", Limit: 15}, "/v1/modules/acme?limit=15&namespace=other&offset=15"},
		"/v1/modules/acme/VPC":                            {directory.Query{Folder: modules, Namespace: "acme", Name: "vpc", Limit: 15}, "/v1/modules/acme/vpc?limit=15&offset=15"},
		"/v1/modules/search?q=%27s3+bucket%27":            {directory.Query{Folder: modules, Text: "'s3 bucket'", Limit: 15}, "/v1/modules/search?limit=15&offset=15&q=%27s3+bucket%27"},
		"/v1/modules/search?q=a&namespace=search":         {directory.Query{Folder: modules, Namespace: "search", Text: "a", Limit: 15}, "/v1/modules/search?limit=15&namespace=search&offset=15&q=a"},
		"/v1/modules/search?q=vpc&provider=aws&limit=100": {directory.Query{Folder: modules, Text: "vpc", System: "aws", Limit: 100}, ""},
		"/v1/providers":                                   {directory.Query{Folder: providers, Limit: 15}, "/v1/providers?limit=15&offset=15"},
		"/v1/providers?q=widget":                          {directory.Query{Folder: providers, Text: "widget", Limit: 15}, "/v1/providers?limit=15&offset=15&q=widget"},
		"/v1/providers/acme?limit=40":                     {directory.Query{Folder: providers, Namespace: "acme", Limit: 40}, ""},
	} {
		d := &many{total: 40}
		config := open(newMemory(t))
		config.Browser.Directory = d
		r := ask(t, New(config), "GET", path)
		var got struct {
			Meta struct {
				Limit         int
				CurrentOffset int     `json:"current_offset"`
				NextOffset    *int    `json:"next_offset"`
				NextURL       *string `json:"next_url"`
			}
			Modules, Providers []struct{ ID string }
			Larder             struct{ Total int }
		}
		text := body(t, r)
		if err := json.Unmarshal([]byte(text), &got); err != nil || r.StatusCode != 200 || strings.Contains(text, "null") {
			t.Errorf("%s: %d, %v, %s", path, r.StatusCode, err, text)
			continue
		}
		if d.asked != tt.asked || got.Meta.Limit != tt.asked.Limit || got.Meta.CurrentOffset != tt.asked.Offset || got.Larder.Total != 40 {
			t.Errorf("%s asks for %+v, want %+v: %s", path, d.asked, tt.asked, text)
		}
		if tt.next == "" && (got.Meta.NextURL != nil || got.Meta.NextOffset != nil) ||
			tt.next != "" && (got.Meta.NextURL == nil || *got.Meta.NextURL != tt.next || *got.Meta.NextOffset != tt.asked.Offset+tt.asked.Limit) {
			t.Errorf("%s: goes on at %s, want %s", path, text, tt.next)
		}
		want := max(0, min(40, tt.asked.Offset+tt.asked.Limit)-tt.asked.Offset)
		if len(got.Modules)+len(got.Providers) != want {
			t.Errorf("%s: %d entries, want %d", path, len(got.Modules)+len(got.Providers), want)
		}
	}
}

// Following next_url from part to part finds everything once.
func TestListIsWhole(t *testing.T) {
	config := open(newMemory(t))
	config.Browser.Directory = &many{total: 40}
	h, found := New(config), []string{}
	for path := "/v1/modules/search?q=m&limit=7"; path != ""; {
		var got struct {
			Meta struct {
				NextURL string `json:"next_url"`
			}
			Modules []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(body(t, ask(t, h, "GET", path))), &got); err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Modules {
			found = append(found, m.Name)
		}
		path = got.Meta.NextURL
	}
	slices.Sort(found)
	if len(found) != 40 || len(slices.Compact(found)) != 40 {
		t.Errorf("%d modules: %v", len(found), found)
	}
}

// Nobody is verified. The directory is asked all the same: so a bad token is refused, and the
// answer takes the same time.
func TestVerified(t *testing.T) {
	d := &many{total: 40}
	config := open(newMemory(t))
	config.Browser.Directory = d
	if got := body(t, ask(t, New(config), "GET", "/v1/modules?verified=true")); got != compact(t, `{"meta": {"limit": 15, "current_offset": 0}, "modules": [], "larder": {"total": 0}}`) || d.asked.Limit != 15 {
		t.Errorf("%s, asked %+v", got, d.asked)
	}
	r := ask(t, New(closed(newMemory(t), io.Discard)), "GET", "/v1/modules?verified=true", "Authorization", "Bearer "+unknownToken)
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a bad token: %d", r.StatusCode)
	}
}

func TestNastyQueries(t *testing.T) {
	index := newMemory(t)
	h := New(open(index))
	for query, message := range nastyQueries {
		for _, path := range everyList {
			path, _, _ := strings.Cut(path, "?")
			expectError(t, path, ask(t, h, "GET", path+"?"+query), http.StatusBadRequest, message)
		}
	}
	for _, query := range []string{"", "?q=", "?q=%20", "?limit=3", "?Q=vpc"} {
		expectError(t, query, ask(t, h, "GET", "/v1/modules/search"+query), http.StatusBadRequest, "q is missing: write what to look for, as in /v1/modules/search?q=network")
	}
	if reads := index.reads.Load(); reads != 0 {
		t.Errorf("the catalog was read %d times", reads)
	}
	for _, path := range slices.Concat(everyRoute, []string{"/v1/modules/acme/vpc/aws/1.2.0+build.5/download"}) { // no other route reads a query
		if r := ask(t, h, "GET", path+"?limit=0&q=%00&"+strings.Repeat("x", 5000)); r.StatusCode >= 400 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// What a caller may not read is in no list, and a list without it looks as if it were not there.
// It takes as many reads of the catalog.
func TestListsHideWhatMayNotBeRead(t *testing.T) {
	index, empty := newMemory(t), &memory{}
	config, tokens := closedWith(index, io.Discard)
	emptyConfig, emptyTokens := closedWith(empty, io.Discard)
	for _, path := range everyList {
		scope := "read providers:*"
		if strings.HasPrefix(path, "/v1/providers") {
			scope = "read modules:*"
		}
		got := show(t, New(config), "GET", path, "Authorization", "Bearer "+tokens.issue(t, time.Minute, scope))
		want := show(t, New(emptyConfig), "GET", path, "Authorization", "Bearer "+emptyTokens.issue(t, time.Minute, "read *"))
		if got.status != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, and where nothing is %+v", path, got, want)
		}
	}
}

func TestListFails(t *testing.T) {
	for err, status := range map[error]int{errors.New("broken"): 500, context.DeadlineExceeded: 503} {
		for _, path := range everyList {
			config := open(newMemory(t))
			config.Browser.Directory = &many{err: err}
			if r := ask(t, New(config), "GET", path); r.StatusCode != status {
				t.Errorf("%s: %v is answered %d", path, err, r.StatusCode)
			}
		}
	}
}

// An unknown time is left out: clients read an empty one amiss.
func TestUnknownTime(t *testing.T) {
	a := registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	var got struct {
		Published time.Time `json:"published_at"`
	}
	document := encode(newListedModule(a, registrytest.Version(t, "1.0.0"), "", "", time.Time{}))
	if err := json.Unmarshal(document, &got); err != nil || !got.Published.IsZero() || strings.Contains(string(document), "published_at") {
		t.Errorf("%s: %v", document, err)
	}
}
