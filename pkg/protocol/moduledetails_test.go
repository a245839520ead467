package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// describedBy is a registry whose bucket has the documents.
func describedBy(index *memory, d *documents) http.Handler {
	config := open(index)
	config.Browser.Documents = d
	return New(config)
}

const moduleDetails = `{
	"id": "acme/vpc/aws/1.2.0+build.5", "owner": "acme", "namespace": "acme", "name": "vpc", "version": "1.2.0+build.5", "provider": "aws",
	"description": "", "source": "https://git.example.com/acme/vpc", "tag": "", "published_at": "2026-11-23T02:00:00Z", "downloads": 0, "verified": false,
	"root": {
		"path": "", "name": "", "readme": "# VPC", "empty": false,
		"inputs": [
			{"name": "cidr", "type": "string", "description": "of the network", "default": "", "required": true,
				"larder": {"sensitive": true, "not_nullable": true, "validations": [{"condition": "var.cidr != \"\"", "message": "say which"}]}},
			{"name": "zones", "type": "list(string)", "description": "", "default": "[\"a\",\"b\"]", "required": false}
		],
		"outputs": [{"name": "id", "description": "of the VPC", "larder": {"deprecated": "use arn"}}, {"name": "arn", "description": ""}],
		"dependencies": [{"name": "tags", "source": "acme/tags/null", "version": "~> 1.0"}],
		"provider_dependencies": [
			{"name": "aws", "namespace": "hashicorp", "source": "hashicorp/aws", "version": ">= 5.0, < 7.0", "larder": {"aliases": ["aws.peer"]}},
			{"name": "null", "namespace": "", "source": "", "version": ""}
		],
		"resources": [{"name": "this", "type": "aws_vpc"}],
		"larder": {
			"data_sources": [{"name": "here", "type": "aws_region"}], "ephemeral_resources": [{"name": "secret", "type": "random_password"}],
			"actions": [{"name": "warm", "type": "aws_lambda_invoke"}], "versions": [">= 1.5"]
		}
	},
	"submodules": [{
		"path": "modules/nat", "name": "nat", "readme": "# NAT", "empty": false,
		"inputs": [{"name": "size", "type": "number", "description": "", "default": "1", "required": false}],
		"outputs": [], "dependencies": [], "provider_dependencies": [], "resources": [],
		"larder": {"data_sources": [], "ephemeral_resources": [], "actions": [], "versions": []}
	}],
	"examples": [{
		"path": "examples/small", "name": "small", "readme": "# Small", "empty": true,
		"inputs": [], "outputs": [], "dependencies": [], "provider_dependencies": [], "resources": [],
		"larder": {"data_sources": [], "ephemeral_resources": [], "actions": [], "versions": []}
	}],
	"providers": ["aws"], "versions": ["1.0.0-rc.1", "1.0.0", "1.2.0+build.5"],
	"deprecation": {"reason": "use 2.0.0"},
	"larder": {
		"status": "deprecated", "message": "use 2.0.0", "h1": "h1:c0ffee=", "sha256": "a1c4e5", "size": 251, "format": "tar.gz",
		"documented": true, "problems": ["broken.tf, line 3: this is no block."], "deprecated_versions": ["1.0.0"]
	}
}`

// whollyKnown is a memory whose module says everything.
func whollyKnown(t *testing.T) *memory {
	m := newMemory(t)
	m.module.Archive = registry.ModuleArchive{Format: "tar.gz", SHA256: "a1c4e5", H1: "h1:c0ffee=", Size: 251, Source: "https://git.example.com/acme/vpc"}
	m.module.Published = time.Date(2026, 11, 23, 3, 0, 0, 0, time.FixedZone("", 3600))
	m.module.Standing = registry.Standing{State: registry.Deprecated, Message: "use 2.0.0"}
	m.moduleVersions[1].Standing = registry.Standing{State: registry.Deprecated, Message: "use 1.2.0"}
	return m
}

// The details of a module are a superset of the public registry's, to the letter, also those
// of the newest version.
func TestModuleDetails(t *testing.T) {
	h := New(open(whollyKnown(t)))
	for _, path := range []string{"/v1/modules/acme/vpc/aws/1.2.0+build.5", "/v1/modules/acme/vpc/aws"} {
		r := ask(t, h, "GET", path)
		if got, want := body(t, r), compact(t, moduleDetails); r.StatusCode != 200 || got != want || r.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %d %v\n%s, want\n%s", path, r.StatusCode, r.Header, got, want)
		}
	}
}

// A version whose archive was not read yet has its details all the same, and they are made anew
// each time until it was read.
func TestModuleDetailsBeforeReading(t *testing.T) {
	d := &documents{err: registry.ErrNotFound}
	h := describedBy(whollyKnown(t), d)
	for range 2 {
		var got moduleDocument
		r := ask(t, h, "GET", everyRoute[8])
		if err := json.Unmarshal([]byte(body(t, r)), &got); err != nil || r.StatusCode != 200 || got.Larder.Documented || len(got.Larder.Problems) != 1 ||
			!strings.Contains(got.Larder.Problems[0], "larder reindex --contents") || got.Source == "" || got.Root.Inputs == nil || got.Submodules == nil || got.Examples == nil {
			t.Errorf("%d, %v, %+v", r.StatusCode, err, got)
		}
	}
	d.err, d.module = nil, described
	if got := body(t, ask(t, h, "GET", everyRoute[8])); got != compact(t, moduleDetails) {
		t.Errorf("after reading: %s", got)
	}
	if gets := d.gets.Load(); gets != 3 {
		t.Errorf("the bucket was read %d times", gets)
	}
}

// Documents change when an operator has archives read again. Then so do the answers, within two
// minutes, though the catalog has not changed.
func TestDetailsAreMadeAgain(t *testing.T) {
	for _, path := range []string{everyRoute[8], everyRoute[10]} {
		synctest.Test(t, func(t *testing.T) {
			d := &documents{module: described}
			h := describedBy(whollyKnown(t), d)
			first := body(t, ask(t, h, "GET", path))
			d.module.Problems = []string{"again"}
			if got := body(t, ask(t, h, "GET", path)); got != first {
				t.Errorf("%s: %s", path, got)
			}
			time.Sleep(2 * browse.KeptFor)
			if got := body(t, ask(t, h, "GET", path)); got == first || !strings.Contains(got, "again") {
				t.Errorf("%s is still %s", path, got)
			}
		})
	}
}

func TestDetailsFail(t *testing.T) {
	for _, path := range []string{everyRoute[8], everyRoute[10]} {
		h := describedBy(newMemory(t), &documents{err: errors.New("slow down")})
		expectError(t, path, ask(t, h, "GET", path), http.StatusInternalServerError, "internal error")
		if entries, _ := keeping(h); entries > 0 {
			t.Errorf("%s: a failure is kept", path)
		}
	}
}

// Who may not read a version costs no read of the bucket, and one of the catalog, whatever is
// there.
func TestDeniedDetailsReadNothing(t *testing.T) {
	for _, path := range []string{everyRoute[8], everyRoute[9], everyRoute[10], everyRoute[12], everyRoute[13], "/v1/modules/acme/missing/aws", "/v1/modules/acme/missing/aws/1.0.0", "/v1/providers/acme/missing"} {
		for name, scope := range map[string]string{"out of scope": "read modules:other/*", "nobody": ""} {
			config, tokens := closedWith(newMemory(t), io.Discard)
			d := &documents{module: described}
			config.Browser.Documents = d
			headers, status := []string{}, 401
			if scope != "" {
				headers, status = []string{"Authorization", "Bearer " + tokens.issue(t, time.Minute, scope)}, 404
			}
			if r := ask(t, New(config), "GET", path, headers...); r.StatusCode != status || d.gets.Load() != 0 {
				t.Errorf("%s, %s: %d, and %d reads of the bucket", path, name, r.StatusCode, d.gets.Load())
			}
		}
	}
}

// However long the documentation is, an answer is bounded, says what it leaves out, and leaves
// out no more than it must.
func TestDetailsAreBounded(t *testing.T) {
	text := func(n int) string { return strings.Repeat("é\"", n/3) }
	inputs := func(n int) (all []contents.Input) {
		for i := range n {
			all = append(all, contents.Input{Name: fmt.Sprint("v", i), Description: text(1000)})
		}
		return all
	}
	parts := func(p contents.Part) []contents.Part { return slices.Repeat([]contents.Part{p}, 100) }
	for name, tt := range map[string]struct {
		module contents.Module
		says   int // how many of the shortenings
	}{
		"all of it fits":     {contents.Module{Root: contents.Part{Readme: text(200 << 10)}, Examples: parts(contents.Part{Readme: text(10 << 10)})}, 0},
		"READMEs":            {contents.Module{Root: contents.Part{Readme: text(200 << 10)}, Examples: parts(contents.Part{Readme: text(100 << 10)})}, 1},
		"READMEs everywhere": {contents.Module{Submodules: parts(contents.Part{Readme: text(100 << 10)}), Examples: parts(contents.Part{Readme: text(100 << 10)})}, 2},
		"inputs of examples": {contents.Module{Root: contents.Part{Inputs: inputs(2)}, Examples: parts(contents.Part{Inputs: inputs(60)})}, 3},
		"inputs everywhere":  {contents.Module{Root: contents.Part{Inputs: inputs(2)}, Submodules: parts(contents.Part{Inputs: inputs(60)}), Examples: parts(contents.Part{Inputs: inputs(60)})}, 4},
		"the module itself":  {contents.Module{Root: contents.Part{Inputs: inputs(6000)}}, 5},
	} {
		document := moduleBody(browse.Module{State: newMemory(t).module, Contents: tt.module, Known: true})
		var got moduleDocument
		if err := json.Unmarshal(document, &got); err != nil || len(document) > maxDetails {
			t.Errorf("%s: %d bytes, %v", name, len(document), err)
		}
		if len(got.Larder.Problems) != tt.says {
			t.Errorf("%s: %d bytes, and it says %q", name, len(document), got.Larder.Problems)
		}
		if len(got.Examples) != len(tt.module.Examples) || len(got.Submodules) != len(tt.module.Submodules) {
			t.Errorf("%s: %d examples and %d submodules", name, len(got.Examples), len(got.Submodules))
		}
	}
	pages := slices.Repeat([]contents.Page{{Category: contents.Resources, Slug: "a", Description: text(4 << 10)}}, contents.MaxPages)
	p := withoutDescriptions(browse.Provider{State: newMemory(t).provider, Contents: contents.Provider{Pages: pages}})
	if size := len(encode(newProviderDocument(p))); size > maxDetails || len(p.Contents.Problems) != 1 || pages[0].Description == "" {
		t.Errorf("an index of %d pages has %d bytes and says %q", len(pages), size, p.Contents.Problems)
	}
}

// What clients decode the answers into: the fields that they read, with the types that they
// have there.
type (
	// terraform-ls: internal/registry
	languageServerModule struct {
		Version     string    `json:"version"`
		PublishedAt time.Time `json:"published_at"`
		Root        struct {
			Inputs  []languageServerInput  `json:"inputs"`
			Outputs []languageServerOutput `json:"outputs"`
		} `json:"root"`
		Submodules []struct {
			Path    string                 `json:"path"`
			Inputs  []languageServerInput  `json:"inputs"`
			Outputs []languageServerOutput `json:"outputs"`
		} `json:"submodules"`
	}
	languageServerInput struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Description string `json:"description"`
		Default     string `json:"default"`
		Required    bool   `json:"required"`
	}
	languageServerOutput struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}

	// HashiCorp's terraform-mcp-server: lists, and details of modules and providers
	assistantModules struct {
		Metadata struct {
			Limit         int    `json:"limit"`
			CurrentOffset int    `json:"current_offset"`
			NextOffset    int    `json:"next_offset"`
			NextURL       string `json:"next_url"`
		} `json:"meta"`
		Data []struct {
			ID          string    `json:"id"`
			Owner       string    `json:"owner"`
			Namespace   string    `json:"namespace"`
			Name        string    `json:"name"`
			Version     string    `json:"version"`
			Provider    string    `json:"provider"`
			Description string    `json:"description"`
			Source      string    `json:"source"`
			Tag         string    `json:"tag"`
			PublishedAt time.Time `json:"published_at"`
			Downloads   int64     `json:"downloads"`
			Verified    bool      `json:"verified"`
		} `json:"modules"`
	}
	assistantProvider struct {
		ID          string    `json:"id"`
		Owner       string    `json:"owner"`
		Namespace   string    `json:"namespace"`
		Name        string    `json:"name"`
		Version     string    `json:"version"`
		Description string    `json:"description"`
		Source      string    `json:"source"`
		PublishedAt time.Time `json:"published_at"`
		Downloads   int64     `json:"downloads"`
		Versions    []string  `json:"versions"`
		Docs        []struct {
			ID          string `json:"id"`
			Title       string `json:"title"`
			Path        string `json:"path"`
			Slug        string `json:"slug"`
			Category    string `json:"category"`
			Subcategory string `json:"subcategory"`
			Language    string `json:"language"`
		} `json:"docs"`
	}

	// Dependabot takes the source of a version, and fails if the field is not there.
	dependabot struct {
		Source *string `json:"source"`
	}

	// Renovate takes the source of the first module.
	renovate struct {
		Modules []struct {
			Source   string                     `json:"source"`
			Versions []struct{ Version string } `json:"versions"`
		} `json:"modules"`
	}
)

// Every client gets what it asks for, in the words in which it asks.
func TestClientsDecodeTheAnswers(t *testing.T) {
	published := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		client, path string
		into         any
		right        func(any) bool
	}{
		{"terraform-ls", "/v1/modules/acme/vpc/aws/1.2.0+build.5", &languageServerModule{}, func(v any) bool {
			m := v.(*languageServerModule)
			return m.PublishedAt.Equal(published) && len(m.Root.Inputs) == 2 && m.Root.Inputs[0].Required && m.Root.Inputs[1].Default == `["a","b"]` &&
				m.Root.Outputs[0].Description == "of the VPC" && m.Submodules[0].Path == "modules/nat" && m.Submodules[0].Inputs[0].Default == "1"
		}},
		{"terraform-mcp-server, a search", "/v1/modules/search?q='vpc'&offset=0", &assistantModules{}, func(v any) bool {
			m := v.(*assistantModules)
			return m.Metadata.Limit == 15 && len(m.Data) == 1 && m.Data[0].ID == "acme/vpc/aws/1.2.0+build.5" && m.Data[0].PublishedAt.Equal(published)
		}},
		{"terraform-mcp-server, an encoded search", "/v1/modules/search?q=%27s3%20bucket%27&offset=0", &assistantModules{}, func(v any) bool { return len(v.(*assistantModules).Data) == 1 }},
		{"terraform-mcp-server, a list", "/v1/modules?offset=0", &assistantModules{}, func(v any) bool { return len(v.(*assistantModules).Data) == 1 }},
		{"terraform-mcp-server, a provider", "/v1/providers/acme/widget/1.0.0", &assistantProvider{}, func(v any) bool {
			p := v.(*assistantProvider)
			return p.ID == "acme/widget/1.0.0" && len(p.Versions) == 2 && p.Docs != nil
		}},
		{"terraform-mcp-server, the newest provider", "/v1/providers/acme/widget", &assistantProvider{}, func(v any) bool { return v.(*assistantProvider).Version == "1.0.0" }},
		{"Dependabot, a module", "/v1/modules/acme/vpc/aws/1.2.0+build.5", &dependabot{}, func(v any) bool { return *v.(*dependabot).Source == "https://git.example.com/acme/vpc" }},
		{"Dependabot, a provider", "/v1/providers/acme/widget/1.0.0", &dependabot{}, func(v any) bool { return *v.(*dependabot).Source == "" }},
		{"Renovate", "/v1/modules/acme/vpc/aws/versions", &renovate{}, func(v any) bool { return len(v.(*renovate).Modules[0].Versions) == 3 }},
	} {
		r := ask(t, New(open(whollyKnown(t))), "GET", tt.path)
		text := body(t, r)
		if err := json.Unmarshal([]byte(text), tt.into); err != nil || r.StatusCode != 200 || !tt.right(tt.into) {
			t.Errorf("%s: %s is answered %d, %v: %s", tt.client, tt.path, r.StatusCode, err, text)
		}
	}
}

// No list of an answer is null: clients read that amiss.
func TestDetailsHaveNoNull(t *testing.T) {
	m := newMemory(t)
	m.moduleVersions, m.providerVersions = m.moduleVersions[2:], m.providerVersions[1:]
	h := describedBy(m, &documents{})
	for _, path := range []string{everyRoute[8], everyRoute[9], everyRoute[13]} {
		if got := strings.Replace(body(t, ask(t, h, "GET", path)), `"deprecation":null`, "", 1); strings.Contains(got, "null") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if !reflect.DeepEqual(each(nil, newInput), []inputDocument{}) {
		t.Error("an empty list is nil")
	}
}
