package protocol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// memory is a catalog of one module and one provider that counts its reads.
type memory struct {
	moduleVersions   registry.Listing
	module           registry.ModuleVersion
	providerVersions registry.Listing
	provider         registry.ProviderVersion
	err              error // instead of any answer
	damaged          bool  // nothing can be decoded
	reads            atomic.Int64
}

// answer counts a read, and returns the error that the test has set.
func (m *memory) answer(known bool) error {
	m.reads.Add(1)
	switch {
	case m.err != nil:
		return m.err
	case !known:
		return fmt.Errorf("read the index: %w", registry.ErrNotFound)
	}
	return nil
}

func (m *memory) Listing(_ context.Context, a registry.Address, _ *access.Lookup) (s catalog.Snapshot[*registry.Listing], err error) {
	listing := map[registry.Address]registry.Listing{m.module.Address: m.moduleVersions, m.provider.Address: m.providerVersions}
	_, known := listing[a]
	if err := m.answer(known); err != nil {
		return s, err
	}
	return snapshotOf[*registry.Listing](m, listing[a])
}

func (m *memory) State(_ context.Context, version registry.Subject, _ *access.Lookup) (s catalog.Snapshot[registry.State], err error) {
	asked := version.LogPrefix()
	module, provider := m.module, m.provider
	if newest, ok := m.moduleVersions.Shown(); ok && newest.Version == version.Version && asked != module.Subject().LogPrefix() {
		module.Version = newest.Version // which every listing that a test makes up has, too
	}
	if newest, ok := m.providerVersions.Shown(); ok && newest.Version == version.Version && asked != provider.Subject().LogPrefix() {
		provider.Version = newest.Version
	}
	isModule, isProvider := asked == module.Subject().LogPrefix(), asked == provider.Subject().LogPrefix()
	if err := m.answer(isModule || isProvider); err != nil {
		return s, err
	}
	if isModule {
		return snapshotOf[registry.State](m, module)
	}
	return snapshotOf[registry.State](m, provider)
}

func snapshotOf[T any](m *memory, value any) (catalog.Snapshot[T], error) {
	if m.damaged {
		return catalog.NewSnapshot([]byte("damaged"), func([]byte, T) error { return errors.New("damaged") }), nil
	}
	return catalogtest.Snapshot[T](value)
}

const signature = "X-Amz-Expires=900&X-Amz-Signature=5ecre7"

// bucket presigns any key.
type bucket struct{ err error }

func (b bucket) PresignGet(_ context.Context, key string) (string, error) {
	return "https://bucket.example.com/" + key + "?" + signature, b.err
}

var (
	module   = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	provider = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	linux    = registry.Platform{OS: "linux", Arch: "amd64"}
	darwin   = registry.Platform{OS: "darwin", Arch: "arm64"}
	windows  = registry.Platform{OS: "windows", Arch: "amd64"}
)

// everyRoute has one path of each route that a memory answers. Tests name some by their place:
// add new ones at the end.
var everyRoute = []string{
	"/.well-known/terraform.json",
	"/v1/modules/acme/vpc/aws/versions",
	"/v1/modules/acme/vpc/aws/1.2.0+build.5/download",
	"/v1/providers/acme/widget/versions",
	"/v1/providers/acme/widget/1.0.0/download/linux/amd64",
	"/v1/mirror/registry.example.com/acme/widget/index.json",
	"/v1/mirror/registry.example.com/acme/widget/1.0.0.json",
	"/v1/modules/acme/vpc/aws/download",
	"/v1/modules/acme/vpc/aws/1.2.0+build.5",
	"/v1/providers/acme/widget/1.0.0",
	"/v1/modules/acme/vpc/aws",
	"/v1/modules/acme/vpc/aws/downloads/summary",
	"/v1/providers/acme/widget",
	"/v1/providers/acme/widget/1.0.0/docs",
	"/v1/modules/acme/vpc/aws.md",
	"/v1/modules/acme/vpc/aws/1.2.0+build.5.md",
	"/v1/providers/acme/widget.md",
	"/v1/providers/acme/widget/1.0.0.md",
	"/llms.txt",
}

// everyList has one path of each list. What may not be read is not in it, and is no error.
var everyList = []string{
	"/v1/modules",
	"/v1/modules/search?q=vpc",
	"/v1/modules/acme",
	"/v1/modules/acme/vpc",
	"/v1/providers",
	"/v1/providers/acme",
}

// forEverybody has the paths of everyRoute that need no token, no catalog and no bucket.
var forEverybody = []string{discoveryPath, guidePath}

// withToken has the other paths of everyRoute.
func withToken() []string {
	return slices.DeleteFunc(slices.Clone(everyRoute), func(path string) bool { return slices.Contains(forEverybody, path) })
}

// described is the document of every module version.
var described = contents.Module{
	Root: contents.Part{
		Readme: "# VPC",
		Inputs: []contents.Input{
			{Name: "cidr", Type: "string", Description: "of the network", Required: true, Sensitive: true, NotNullable: true, Validations: []contents.Validation{{Condition: `var.cidr != ""`, Message: "say which"}}},
			{Name: "zones", Type: "list(string)", Default: `["a","b"]`},
		},
		Outputs: []contents.Output{{Name: "id", Description: "of the VPC", Deprecated: "use arn"}, {Name: "arn"}},
		Resources: []contents.Resource{
			{Mode: contents.Managed, Type: "aws_vpc", Name: "this"}, {Mode: contents.Data, Type: "aws_region", Name: "here"},
			{Mode: contents.Ephemeral, Type: "random_password", Name: "secret"}, {Mode: contents.Action, Type: "aws_lambda_invoke", Name: "warm"},
		},
		Calls:     []contents.Call{{Name: "tags", Source: "acme/tags/null", Version: "~> 1.0"}},
		Providers: []contents.Requirement{{Name: "aws", Source: "hashicorp/aws", Versions: []string{">= 5.0", "< 7.0"}, Aliases: []string{"aws.peer"}}, {Name: "null"}},
		Versions:  []string{">= 1.5"},
	},
	Submodules: []contents.Part{{Path: "modules/nat", Name: "nat", Readme: "# NAT", Inputs: []contents.Input{{Name: "size", Type: "number", Default: "1"}}}},
	Examples:   []contents.Part{{Path: "examples/small", Name: "small", Empty: true, Readme: "# Small"}},
	Problems:   []string{"broken.tf, line 3: this is no block."},
}

// documents has the document of every module version, by its key.
type documents struct {
	module contents.Module
	err    error
	gets   atomic.Int64
}

func (d *documents) Get(_ context.Context, key string, offset, length int64) ([]byte, error) {
	d.gets.Add(1)
	if d.err != nil {
		return nil, d.err
	}
	if offset != 0 || !strings.HasPrefix(key, registry.ContentsPrefix) {
		return nil, fmt.Errorf("%s at %d", key, offset)
	}
	body, err := json.Marshal(d.module)
	return body[:min(int64(len(body)), length)], err
}

// entries is a directory of what a memory has. It asks the reader whether the caller may read it.
type entries struct{ reader *catalog.Reader }

func (e entries) List(ctx context.Context, caller access.Caller, q directory.Query) (page directory.Page, _ error) {
	var address registry.Address = module
	if q.Folder == registry.Providers {
		address = provider
	}
	listing, err := decoded(e.reader.Listing(ctx, caller, address))
	if errors.Is(err, registry.ErrNotFound) {
		return page, nil
	}
	if err != nil {
		return page, err
	}
	shown, _ := listing.Shown()
	page.Total = 1
	if q.Offset == 0 {
		page.Entries = []directory.Entry{{
			Address: address, Newest: shown.Version, Versions: len(listing), Standing: shown.Standing, Source: "https://git.example.com/acme",
			Description: "What it is for.", Published: time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC),
		}}
	}
	return page, nil
}

// reading sets a reader, and a browser that uses it.
func reading(c *Config, reader *catalog.Reader) {
	c.Reader = reader
	c.Browser = browse.New(browse.Config{Catalog: reader, Directory: entries{reader}, Documents: &documents{module: described}})
}

func newMemory(tb testing.TB) *memory {
	return &memory{
		moduleVersions: registry.Listing{
			{Version: registrytest.Version(tb, "1.0.0-rc.1"), Revision: 1},
			{Version: registrytest.Version(tb, "1.0.0"), Revision: 1},
			{Version: registrytest.Version(tb, "1.2.0+build.5"), Revision: 1},
		},
		module: registry.ModuleVersion{
			Address: module, Version: registrytest.Version(tb, "1.2.0+build.5"), Revision: 1,
			Archive: registry.ModuleArchive{Format: "tar.gz", SHA256: "a1c4e5"},
		},
		providerVersions: registry.Listing{
			{Version: registrytest.Version(tb, "0.9.0"), Revision: 2, Protocols: []string{"5.1", "6.0"}, Platforms: []registry.Platform{darwin, linux}},
			{Version: registrytest.Version(tb, "1.0.0"), Revision: 4, Protocols: []string{"5.0"}, Platforms: []registry.Platform{linux}},
		},
		provider: registry.ProviderVersion{
			Address: provider, Version: registrytest.Version(tb, "1.0.0"), Revision: 4,
			Packages: []registry.Package{
				{Platform: linux, SHA256: "b2d6f7", H1: "h1:c0ffee=", Size: 251, Sequence: 1, Protocols: []string{"5.0", "6.1", "5.3"}},
				{Platform: windows, SHA256: "c3", Sequence: 4}, // no SHA256SUMS covers it yet
			},
			Release: &registry.Release{SHA256: "d4", Signature: "e5", Sequence: 3, Keys: []registry.SigningKey{
				{KeyID: "51852D87348FFC4C", ASCIIArmor: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ<&>==\n"},
			}},
		},
	}
}

// open is a registry that everybody may read, and logs to nowhere.
func open(index catalog.Catalog) Config {
	c := Config{Presigner: bucket{}, Hostname: "registry.example.com", Open: true, Logger: slog.New(slog.DiscardHandler)}
	reading(&c, catalog.NewReader(catalog.ReaderConfig{Catalog: index, Logger: c.Logger}))
	return c
}

// ask sends a request with exactly this path.
func ask(tb testing.TB, h http.Handler, method, path string, headers ...string) *http.Response {
	tb.Helper()
	path, query, _ := strings.Cut(path, "?")
	unescaped, err := url.PathUnescape(path)
	if err != nil {
		tb.Fatalf("no server would pass %q on: %v", path, err)
	}
	r := httptest.NewRequest(method, "https://registry.example.com/", nil)
	r.URL = &url.URL{Path: unescaped, RawPath: path, RawQuery: query}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(tb testing.TB, r *http.Response) string {
	tb.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// compact is a JSON document as it is sent, from one that is easy to read.
func compact(t *testing.T, document string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(document)); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

func TestDocuments(t *testing.T) {
	for _, tt := range []struct{ path, cache, document string }{
		{everyRoute[0], "public, max-age=300", `{"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"}`},
		{everyRoute[1], "private, no-cache", `{"modules": [{"versions": [
			{"version": "1.0.0-rc.1"},
			{"version": "1.0.0"},
			{"version": "1.2.0+build.5"}
		]}]}`},
		{everyRoute[3], "private, no-cache", `{"versions": [
			{"version": "0.9.0", "protocols": ["5.1", "6.0"], "platforms": [{"os": "darwin", "arch": "arm64"}, {"os": "linux", "arch": "amd64"}]},
			{"version": "1.0.0", "protocols": ["5.0"], "platforms": [{"os": "linux", "arch": "amd64"}]}
		]}`},
		{everyRoute[4], "no-store", `{
			"protocols": ["5.3", "6.1"],
			"os": "linux",
			"arch": "amd64",
			"filename": "terraform-provider-widget_1.0.0_linux_amd64.zip",
			"download_url": "https://bucket.example.com/registry/providers/acme/widget/1.0.0/b2d6f7/terraform-provider-widget_1.0.0_linux_amd64.zip?` + signature + `",
			"shasums_url": "https://bucket.example.com/registry/providers/acme/widget/1.0.0/d4/terraform-provider-widget_1.0.0_SHA256SUMS?` + signature + `",
			"shasums_signature_url": "https://bucket.example.com/registry/providers/acme/widget/1.0.0/e5/terraform-provider-widget_1.0.0_SHA256SUMS.sig?` + signature + `",
			"shasum": "b2d6f7",
			"signing_keys": {"gpg_public_keys": [{
				"key_id": "51852D87348FFC4C",
				"ascii_armor": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ<&>==\n",
				"trust_signature": "",
				"source": "",
				"source_url": ""
			}]},
			"packages": {"linux_amd64": {"hashes": ["h1:c0ffee=", "zh:b2d6f7"], "package_size": 251}}
		}`},
		{everyRoute[5], "private, no-cache", `{"versions": {"0.9.0": {}, "1.0.0": {}}}`},
		{everyRoute[6], "no-store", `{"archives": {"linux_amd64": {
			"url": "https://bucket.example.com/registry/providers/acme/widget/1.0.0/b2d6f7/terraform-provider-widget_1.0.0_linux_amd64.zip?` + signature + `",
			"hashes": ["h1:c0ffee=", "zh:b2d6f7"]
		}}}`},
	} {
		r := ask(t, New(open(newMemory(t))), "GET", tt.path)
		want := compact(t, tt.document)
		if got := body(t, r); r.StatusCode != 200 || got != want {
			t.Errorf("%s: %d\n%s\nwant\n%s", tt.path, r.StatusCode, got, want)
		}
		wantHeader := http.Header{
			"Cache-Control":          {tt.cache},
			"Content-Type":           {"application/json"},
			"Content-Length":         {strconv.Itoa(len(want))},
			"Vary":                   {"Accept-Encoding"},
			"X-Content-Type-Options": {"nosniff"},
		}
		if tt.cache != "no-store" {
			wantHeader["Etag"] = newDocument([]byte(want)).etag
		}
		if !reflect.DeepEqual(r.Header, wantHeader) {
			t.Errorf("%s: header %v, want %v", tt.path, r.Header, wantHeader)
		}
	}
}

func TestModuleDownload(t *testing.T) {
	for _, path := range []string{
		"/v1/modules/acme/vpc/aws/1.2.0+build.5/download",
		"/v1/modules/acme/vpc/aws/1.2.0%2Bbuild.5/download",
		"/v1/modules/Acme/VPC/aws/v1.2+build.5/download",
	} {
		for version, parameters := range map[string]string{
			"1.13.5": "&archive=tar.gz&checksum=sha256:a1c4e5",
			"x":      "&archive=tar.gz&checksum=sha256:a1c4e5",
			"":       "", // as if it were not sent
			"none":   "",
		} {
			headers := []string{"X-Terraform-Version", version}
			if version == "none" {
				headers = nil
			}
			r := ask(t, New(open(newMemory(t))), "GET", path, headers...)
			want := http.Header{
				"Cache-Control":          {"no-store"},
				"Vary":                   {"X-Terraform-Version"},
				"X-Content-Type-Options": {"nosniff"},
				"X-Terraform-Get":        {"https://bucket.example.com/registry/modules/acme/vpc/aws/1.2.0/a1c4e5.tar.gz?" + signature + parameters},
			}
			if got := body(t, r); r.StatusCode != 204 || got != "" || !reflect.DeepEqual(r.Header, want) {
				t.Errorf("%s, %q: %d %v %q", path, headers, r.StatusCode, r.Header, got)
			}
		}
	}
}

// Whoever names no version is led to the newest one that is listed and no
// pre-release, however far behind a pre-release it is.
func TestModuleNewest(t *testing.T) {
	listed := func(text string, state registry.StandingState) registry.Listed {
		return registry.Listed{Version: registrytest.Version(t, text), Revision: 1, Standing: registry.Standing{State: state}}
	}
	const none = "module acme/vpc/aws has no version that is listed and no pre-release"
	for name, tt := range map[string]struct {
		listing  registry.Listing
		location string // empty: 404
	}{
		"the last":         {registry.Listing{listed("1.9.0", ""), listed("1.10.0", "")}, "1.10.0"},
		"build metadata":   {registry.Listing{listed("1.0.0", ""), listed("1.2.0+build.5", "")}, "1.2.0%2Bbuild.5"},
		"a pre-release":    {registry.Listing{listed("1.0.0", ""), listed("2.0.0-rc.1", "")}, "1.0.0"},
		"a withdrawn one":  {registry.Listing{listed("1.0.0", ""), listed("1.1.0", registry.Withdrawn)}, "1.0.0"},
		"a deprecated one": {registry.Listing{listed("1.0.0", ""), listed("1.1.0", registry.Deprecated)}, "1.1.0"},
		"pre-releases":     {registry.Listing{listed("1.0.0-rc.1", ""), listed("1.0.0-rc.2", "")}, ""},
		"all withdrawn":    {registry.Listing{listed("1.0.0", registry.Withdrawn)}, ""},
		"nothing":          {nil, ""},
	} {
		m := newMemory(t)
		m.moduleVersions = tt.listing
		for _, method := range []string{"GET", "HEAD"} {
			r := ask(t, New(open(m)), method, "/v1/modules/Acme/vpc/aws/download", "X-Terraform-Version", "1.13.5")
			if tt.location == "" {
				if method == "GET" {
					expectError(t, name, r, 404, none)
				} else if r.StatusCode != 404 {
					t.Errorf("%s: HEAD is answered %d", name, r.StatusCode)
				}
				continue
			}
			want := http.Header{
				"Cache-Control":          {"private, no-cache"},
				"Content-Length":         {"0"},
				"Location":               {"/v1/modules/acme/vpc/aws/" + tt.location + "/download"},
				"X-Content-Type-Options": {"nosniff"},
			}
			if got := body(t, r); r.StatusCode != 302 || got != "" || !reflect.DeepEqual(r.Header, want) {
				t.Errorf("%s: %s is answered %d %v %q", name, method, r.StatusCode, r.Header, got)
			}
		}
	}
}

// A package's document has what lock files hold of all platforms that are served,
// and of no other.
func TestPackages(t *testing.T) {
	m := newMemory(t)
	m.provider.Packages = []registry.Package{
		{Platform: darwin, SHA256: "a1", H1: "h1:darwin=", Size: 1 << 33, Sequence: 2},
		{Platform: linux, SHA256: "b2", H1: "h1:linux=", Size: 1, Sequence: 1},
		{Platform: windows, SHA256: "c3", H1: "h1:windows=", Size: 3, Sequence: 4}, // no SHA256SUMS covers it yet
	}
	want := map[string]platformPackage{
		"darwin_arm64": {[]string{"h1:darwin=", "zh:a1"}, 1 << 33},
		"linux_amd64":  {[]string{"h1:linux=", "zh:b2"}, 1},
	}
	for platform, shasum := range map[string]string{"darwin/arm64": "a1", "linux/amd64": "b2"} {
		var document packageDocument
		r := ask(t, New(open(m)), "GET", "/v1/providers/acme/widget/1.0.0/download/"+platform)
		if err := json.Unmarshal([]byte(body(t, r)), &document); err != nil || document.SHASum != shasum || !reflect.DeepEqual(document.Packages, want) {
			t.Errorf("%s: %v, shasum %s, packages %v", platform, err, document.SHASum, document.Packages)
		}
	}
}

func TestEmptyListsAreNotNull(t *testing.T) {
	index := newMemory(t)
	index.moduleVersions = nil
	index.providerVersions = registry.Listing{{Version: registrytest.Version(t, "1.0.0")}}
	for path, want := range map[string]string{
		everyRoute[1]: `{"modules": [{"versions": []}]}`,
		everyRoute[3]: `{"versions": [{"version": "1.0.0", "protocols": [], "platforms": []}]}`,
	} {
		if got := body(t, ask(t, New(open(index)), "GET", path)); got != compact(t, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	index.providerVersions = nil
	if got := body(t, ask(t, New(open(index)), "GET", everyRoute[3])); got != compact(t, `{"versions": []}`) {
		t.Errorf("no versions: %s", got)
	}
}

func TestNotFoundSaysWhat(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/modules/acme/vpn/aws/versions":                       "there is no module acme/vpn/aws",
		"/v1/modules/acme/vpn/aws/download":                       "there is no module acme/vpn/aws",
		"/v1/modules/acme/-vpn/aws/download":                      `"acme/-vpn/aws" is not a module address <namespace>/<name>/<system>`,
		"/v1/modules/Acme/vpc/aws/1.2.3/download":                 "module acme/vpc/aws has no version 1.2.3",
		"/v1/modules/acme/vpc/aws/1.2.0/download":                 "module acme/vpc/aws has no version 1.2.0",
		"/v1/modules/acme/vpc/aws/1.2.0+other/download":           "module acme/vpc/aws has no version 1.2.0+other",
		"/v1/modules/acme/vpc/aws/1.2.0%20build.5/download":       `module acme/vpc/aws has no version "1.2.0 build.5"`,
		"/v1/modules/-acme/vpc/aws/versions":                      `"-acme/vpc/aws" is not a module address <namespace>/<name>/<system>`,
		"/v1/modules/acme/vpc/aws/1.2.3":                          "module acme/vpc/aws has no version 1.2.3",
		"/v1/modules/acme/vpc/aws/1.2.0+other":                    "module acme/vpc/aws has no version 1.2.0+other",
		"/v1/modules/acme/vpc/aws/latest":                         `module acme/vpc/aws has no version "latest"`,
		"/v1/modules/acme/-vpc/aws/1.2.3":                         `"acme/-vpc/aws" is not a module address <namespace>/<name>/<system>`,
		"/v1/providers/acme/widget/2.0.0":                         "provider acme/widget has no version 2.0.0",
		"/v1/providers/acme/widget/1.0.0+other":                   "provider acme/widget has no version 1.0.0+other",
		"/v1/providers/acme/widget/latest":                        `provider acme/widget has no version "latest"`,
		"/v1/providers/Acme/widget/1.0.0":                         `"Acme/widget" is not a provider address <namespace>/<type>, in lower case`,
		"/v1/providers/acme/gadget/versions":                      "there is no provider acme/gadget",
		"/v1/providers/Acme/widget/versions":                      `"Acme/widget" is not a provider address <namespace>/<type>, in lower case`,
		"/v1/providers/acme/widget/2.0.0/download/linux/amd64":    "provider acme/widget has no version 2.0.0 for linux_amd64",
		"/v1/providers/acme/widget/1.0.0/download/darwin/arm64":   "provider acme/widget has no version 1.0.0 for darwin_arm64",
		"/v1/providers/acme/widget/1.0.0/download/windows/amd64":  "provider acme/widget has no version 1.0.0 for windows_amd64",
		"/v1/providers/Acme/widget/1.0.0/download/linux/amd64":    `"Acme/widget" is not a provider address <namespace>/<type>, in lower case`,
		"/v1/mirror/localhost/acme/widget/index.json":             `"localhost/acme/widget" is not the address <hostname>/<namespace>/<type> of a provider that can be mirrored`,
		"/v1/mirror/localhost/acme/widget/1.0.0.json":             `"localhost/acme/widget" is not the address <hostname>/<namespace>/<type> of a provider that can be mirrored`,
		"/v1/mirror/registry.example.com/Acme/widget/1.0.0.json":  `"registry.example.com/Acme/widget" is not the address <hostname>/<namespace>/<type> of a provider that can be mirrored`,
		"/v1/mirror/registry.example.com/acme/widget/1.json.json": `there is no version "1.json.json" of registry.example.com/acme/widget`,
		"/" + strings.Repeat("a", maxPath-1):                      "there is nothing at /" + strings.Repeat("a", maxPath-1),
		"/" + strings.Repeat("a", maxPath):                        "the path is longer than any address here",
		"/v1/providers/acme/widget/latest/download/windows/amd64": `provider acme/widget has no version "latest"`,
		"/v1/providers/acme/widget/1.0.0/download/Linux/AMD64":    `"Linux_AMD64" is not a platform such as linux_amd64, in lower case`,
		"/v1/modules/acme/vpn/aws":                                "there is no module acme/vpn/aws",
		"/v1/modules/acme/vpn/aws/downloads/summary":              "there is no module acme/vpn/aws",
		"/v1/modules/-acme":                                       `"-acme" cannot be the start of a module address <namespace>/<name>/<system>`,
		"/v1/modules/acme/-vpc":                                   `"acme/-vpc" cannot be the start of a module address <namespace>/<name>/<system>`,
		"/v1/providers/acme/gadget":                               "there is no provider acme/gadget",
		"/v1/providers/Acme":                                      `"Acme" is not the namespace of a provider, in lower case`,
		"/v1/providers/acme/widget/2.0.0/docs":                    "provider acme/widget has no version 2.0.0",
		"/v1/providers/acme/widget/1.0.0/docs/guides/start":       "provider acme/widget has no version 1.0.0 with a page guides/start",
		"/v1/providers/acme/widget/2.0.0/docs/guides/start":       "provider acme/widget has no version 2.0.0 with a page guides/start",
		"/v1/providers/acme/widget/versions/":                     "there is nothing at /v1/providers/acme/widget/versions/",
		"/%3Cscript%3E":                                           "there is nothing at /%3Cscript%3E",
	} {
		r := ask(t, New(open(newMemory(t))), "GET", path)
		expectError(t, "GET "+path, r, 404, want)
	}
}

// expectError checks that a response is an error and nothing else.
func expectError(t *testing.T, request string, r *http.Response, status int, message string) {
	t.Helper()
	want := string(encode(errorDocument{[]string{message}}))
	if got := body(t, r); r.StatusCode != status || got != want {
		t.Errorf("%s: %d %s\nwant %d %s", request, r.StatusCode, got, status, want)
	}
	if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("X-Terraform-Get") != "" ||
		r.Header.Get("Content-Length") != strconv.Itoa(len(want)) || r.Header.Get("Location") != "" {
		t.Errorf("%s: header %v", request, r.Header)
	}
}

func TestNastyPathsReachNoCatalog(t *testing.T) {
	index := newMemory(t)
	var log strings.Builder
	handler := New(closed(index, &log))
	for status, paths := range map[int][]string{404: notThere, 400: malformed} {
		for _, path := range paths {
			if _, err := url.PathUnescape(path); err != nil {
				continue // the server itself answers these, TestServer sees how
			}
			r := ask(t, handler, "GET", path)
			var document struct{ Errors []string }
			if err := json.Unmarshal([]byte(body(t, r)), &document); err != nil || r.StatusCode != status || len(document.Errors) != 1 {
				t.Errorf("%.80s: %d %v, %v; want %d", path, r.StatusCode, document, err, status)
			}
		}
	}
	if reads := index.reads.Load(); reads != 0 {
		t.Errorf("the catalog was read %d times", reads)
	}
}

// TestReads holds what each route costs: reads of the catalog, and of the bucket's documents. A
// kept document is not read again.
func TestReads(t *testing.T) {
	type cost struct{ catalog, documents int64 }
	for _, path := range slices.Concat(everyRoute, everyList) {
		want := cost{1, 0}
		switch {
		case slices.Contains(forEverybody, path):
			want = cost{}
		case path == everyRoute[8] || path == everyRoute[10] || path == everyRoute[14] || path == everyRoute[15]:
			want = cost{2, 1}
		case slices.Contains(everyRoute[9:], path) && strings.HasPrefix(path, providersPath): // no documentation was published
			want = cost{2, 0}
		}
		index := newMemory(t)
		config := open(index)
		read := &documents{module: described}
		config.Browser.Documents = read
		h := New(config)
		for range 2 {
			ask(t, h, "GET", path)
			if got := (cost{index.reads.Swap(0), read.gets.Swap(0)}); got != want {
				t.Errorf("%s: %+v reads, want %+v", path, got, want)
			}
			want.documents = 0
		}
	}
}

// A route is not found in a handler without what the route needs: the handler looks neither
// at the token nor into a catalog.
func TestRoutesWithoutTheirMeans(t *testing.T) {
	m := newMemory(t)
	listings, unbrowsed := open(m), open(m)
	listings.Presigner, unbrowsed.Browser = nil, nil
	all := slices.Concat(everyRoute, everyList)
	for name, c := range map[string]struct {
		config   Config
		answered []string
	}{
		"nothing at all": {Config{Logger: slog.New(slog.DiscardHandler)}, forEverybody},
		"no browser":     {unbrowsed, slices.Concat(forEverybody, everyRoute[:8])},
		"no reader":      {Config{Presigner: bucket{}, Open: true, Logger: slog.New(slog.DiscardHandler)}, forEverybody},
		"no presigner":   {listings, slices.Concat(forEverybody, []string{everyRoute[1], everyRoute[3], everyRoute[5], everyRoute[7]}, everyRoute[8:], everyList)},
		"everything":     {open(m), all},
	} {
		h := New(c.config)
		for _, path := range all {
			reads := m.reads.Load()
			r := ask(t, h, http.MethodGet, path)
			if slices.Contains(c.answered, path) {
				if r.StatusCode >= 400 {
					t.Errorf("%s: %s is answered %d", name, path, r.StatusCode)
				}
				continue
			}
			bare, _, _ := strings.Cut(path, "?")
			expectError(t, name+": "+path, r, http.StatusNotFound, "there is nothing at "+bare)
			if m.reads.Load() != reads {
				t.Errorf("%s: %s reached the catalog", name, path)
			}
		}
		expectError(t, name, ask(t, h, http.MethodPost, everyRoute[2]), http.StatusMethodNotAllowed, "this address answers GET and HEAD alone")
	}
}

func TestOtherMethods(t *testing.T) {
	index := newMemory(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		for _, path := range slices.Concat(everyRoute, everyList) {
			r := ask(t, New(open(index)), method, path)
			expectError(t, method+" "+path, r, 405, "this address answers GET and HEAD alone")
			if allow := r.Header.Values("Allow"); !reflect.DeepEqual(allow, []string{"GET, HEAD"}) {
				t.Errorf("%s %s: Allow %q", method, path, allow)
			}
		}
	}
	if reads := index.reads.Load(); reads != 0 {
		t.Errorf("the catalog was read %d times", reads)
	}
}

// tokens is a catalog that has tokens, too.
type tokens struct {
	catalog.Catalog
	all map[access.ID]access.Token
}

func (t tokens) Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (s catalog.Snapshot[*registry.Listing], err error) {
	if !t.wanted(lookup) {
		return s, registry.ErrNotFound
	}
	return t.Catalog.Listing(ctx, a, nil)
}

func (t tokens) State(ctx context.Context, version registry.Subject, lookup *access.Lookup) (s catalog.Snapshot[registry.State], err error) {
	if !t.wanted(lookup) {
		return s, registry.ErrNotFound
	}
	return t.Catalog.State(ctx, version, nil)
}

// wanted fills a lookup, and says whether anything else is wanted.
func (t tokens) wanted(lookup *access.Lookup) bool {
	if lookup == nil {
		return true
	}
	if token, ok := t.all[lookup.ID]; ok {
		return lookup.Found(&token)
	}
	return lookup.Found(nil)
}

func (t tokens) NoteUse(context.Context, access.ID, access.Day) error { return nil }

// issue makes a token, which is good for a while.
func (t tokens) issue(tb testing.TB, expires time.Duration, scopes ...string) (secret string) {
	tb.Helper()
	parsed, err := access.ParseScopes(scopes)
	if err != nil {
		tb.Fatal(err)
	}
	secret, id := access.NewToken()
	t.all[id] = access.Token{ID: id, Name: "test", Owner: "tester", Scopes: parsed, Expires: time.Now().Add(expires)}
	return secret
}

// closed is a registry that wants a token, knows goodToken, and logs everything.
func closed(index catalog.Catalog, log io.Writer) Config {
	config, _ := closedWith(index, log)
	return config
}

func closedWith(index catalog.Catalog, log io.Writer) (Config, tokens) {
	config, t := open(index), tokens{index, map[access.ID]access.Token{}}
	good, _ := access.ParseToken(goodToken)
	everything, _ := access.ParseScopes([]string{"read *"})
	t.all[good] = access.Token{ID: good, Name: "good", Owner: "tester", Scopes: everything}
	config.Open = false
	config.Logger = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	reading(&config, catalog.NewReader(catalog.ReaderConfig{Catalog: t, TokenUses: t, Logger: config.Logger}))
	return config, t
}

// goodToken is one that a closed registry knows, for everything, and
// unknownToken one that it does not.
const (
	goodToken    = "larder_MHWKFS3BTX7SQE536XUEBSTWWC5BELGNQ"
	unknownToken = "larder_VKMX2CDEGJD2UAO42RG3UEIEOB5O25GZY"
)

func TestUnauthorized(t *testing.T) {
	index := newMemory(t)
	config, tokens := closedWith(index, io.Discard)
	handler := New(config)
	expired := tokens.issue(t, -time.Second, "read *")
	const advice = `: give one in a credentials "registry.example.com" block of the CLI configuration, or in the environment variable TF_TOKEN_registry_example_com`
	for name, tt := range map[string]struct {
		why     string
		headers []string
	}{
		"none":                      {"there is no token", nil},
		"empty":                     {"what was sent is not a token of this registry", []string{"Authorization", "Bearer "}},
		"lower case":                {"what was sent is not a token of this registry", []string{"Authorization", "bearer x"}},
		"cut off":                   {"what was sent is not a token of this registry", []string{"Authorization", "Bearer " + unknownToken[:30]}},
		"basic":                     {"the Authorization header has no bearer token", []string{"Authorization", "Basic dTpw"}},
		"bare":                      {"the Authorization header has no bearer token", []string{"Authorization", unknownToken}},
		"two":                       {"there is more than one Authorization header", []string{"Authorization", "Bearer " + expired, "Authorization", "Bearer " + expired}},
		"joined":                    {"there is more than one Authorization header", []string{"Authorization", "Bearer " + expired + ",Bearer " + expired}},
		"long":                      {"the Authorization header has no bearer token", []string{"Authorization", "Bearer " + strings.Repeat("a", 9<<10)}},
		"expired":                   {"the token that was sent has expired", []string{"Authorization", "Bearer " + expired}},
		"revoked":                   {"the token that was sent is unknown here, or was revoked", []string{"Authorization", "Bearer " + unknownToken}},
		"in a cookie and elsewhere": {"there is no token", []string{"Cookie", "token=" + expired, "X-Auth-Token", expired}},
	} {
		for _, path := range slices.Concat(everyRoute, everyList) {
			r := ask(t, handler, "GET", path, tt.headers...)
			if slices.Contains(forEverybody, path) {
				if r.StatusCode >= 300 {
					t.Errorf("%s: %s is %d", name, path, r.StatusCode)
				}
				continue
			}
			expectError(t, name+" at "+path, r, 401, "this registry wants a token, and "+tt.why+advice)
			if challenge := r.Header.Get("WWW-Authenticate"); challenge != "Bearer" {
				t.Errorf("%s at %s: challenge %q", name, path, challenge)
			}
		}
	}
	good := tokens.issue(t, time.Minute, "read *")
	for _, path := range slices.Concat(withToken(), everyList) {
		path, query, _ := strings.Cut(path, "?")
		r := httptest.NewRequest("GET", path+"?"+query+"&token="+good+"&access_token="+good, nil)
		r.SetBasicAuth("token", good)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != 401 || strings.Contains(w.Body.String(), good) {
			t.Errorf("a token in the query of %s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		for _, path := range slices.Concat(everyRoute, everyList) {
			if r := ask(t, handler, "GET", path, "Authorization", scheme+good); r.StatusCode >= 400 {
				t.Errorf("%q and a good token at %s: %d", scheme, path, r.StatusCode)
			}
		}
	}
}

// To a caller who may not read, what is published looks as what is not.
func TestUnauthorizedIsAnsweredBeforeNotFound(t *testing.T) {
	handler := New(closed(newMemory(t), io.Discard))
	there, notThere := ask(t, handler, "GET", everyRoute[1]), ask(t, handler, "GET", "/v1/modules/acme/secret/aws/versions")
	if there.StatusCode != notThere.StatusCode || body(t, there) != body(t, notThere) || !reflect.DeepEqual(there.Header, notThere.Header) {
		t.Errorf("%d %v and %d %v", there.StatusCode, there.Header, notThere.StatusCode, notThere.Header)
	}
}

// To a token without the scope, what is there is as what is not.
func TestDeniedIsNotFound(t *testing.T) {
	config, tokens := closedWith(newMemory(t), io.Discard)
	config.Origins = noOrigins{t}
	handler := New(config)
	none := New(open(&memory{}))
	of := func(scope string) string { return tokens.issue(t, time.Minute, scope) }
	for path, secret := range map[string]string{
		everyRoute[1]:  of("read modules:other/*"),
		everyRoute[2]:  of("read providers:*"),
		everyRoute[3]:  of("read modules:*"),
		everyRoute[4]:  of("read providers:acme/other"),
		everyRoute[5]:  of("read mirror:*"), // the registry's own are providers
		everyRoute[6]:  of("read mirror:*"),
		everyRoute[7]:  of("read modules:other/*"),
		everyRoute[8]:  of("read providers:*"),
		everyRoute[9]:  of("read modules:*"),
		everyRoute[10]: of("read modules:acme/vpc/azure"),
		everyRoute[11]: of("read modules:other/*"),
		everyRoute[12]: of("read providers:other/*"),
		everyRoute[13]: of("read providers:acme/gadget"),
		"/v1/mirror/registry.terraform.io/hashicorp/time/index.json":  of("read providers:*"),
		"/v1/mirror/registry.terraform.io/hashicorp/time/0.14.2.json": of("read mirror:registry.terraform.io/hashicorp/null"),
	} {
		got, want := ask(t, handler, "GET", path, "Authorization", "Bearer "+secret), ask(t, none, "GET", path)
		if text := body(t, want); got.StatusCode != 404 || want.StatusCode != 404 || body(t, got) != text || !reflect.DeepEqual(got.Header, want.Header) {
			t.Errorf("%s: %d %v, and where nothing is %d %v %s", path, got.StatusCode, got.Header, want.StatusCode, want.Header, text)
		}
	}
}

// noOrigins may not be asked.
type noOrigins struct{ tb testing.TB }

func (o noOrigins) Versions(context.Context, registry.ProviderAddress) []registry.Version {
	o.tb.Error("an origin was asked for its versions")
	return nil
}

func (o noOrigins) Packages(context.Context, registry.ProviderAddress, registry.Version, func(registry.Platform) bool) []Offer {
	o.tb.Error("an origin was asked for its packages")
	return nil
}

func TestHowToAuthenticate(t *testing.T) {
	for host, want := range map[string]string{
		"Registry.my-corp.example":          "block of the CLI configuration, or in the environment variable TF_TOKEN_registry_my__corp_example",
		"127.0.0.1:8443":                    `credentials "127.0.0.1:8443" block of the CLI configuration`,
		"<script>":                          "for its hostname in a credentials block of the CLI configuration",
		"":                                  "for its hostname in a credentials block of the CLI configuration",
		strings.Repeat("a", 1<<16) + ".com": "for its hostname in a credentials block of the CLI configuration",
	} {
		for _, login := range []bool{false, true} {
			got := (&handler{Config: Config{Login: login}}).howToAuthenticate(host)
			if !strings.HasSuffix(got, want) || strings.Contains(got, "terraform login "+strings.ToLower(host)) != (login && strings.Contains(got, " block of the CLI configuration") && !strings.Contains(want, "hostname")) {
				t.Errorf("%.40s: %s", host, got)
			}
		}
	}
}

// Where people can log in, discovery says how, to everybody.
func TestDiscoveryOfLogin(t *testing.T) {
	config := closed(newMemory(t), io.Discard)
	config.Login = true
	const want = `{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/","login.v1":{"client":"terraform-cli","grant_types":["authz_code"],"authz":"/v1/login","token":"/v1/token","ports":[10000,10010]}}` + "\n"
	if got := body(t, ask(t, New(config), "GET", discoveryPath, "Authorization", "Bearer "+unknownToken)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Another handler answers the routes of login and of tokens, and gets the whole request.
// Without that handler these routes are not found.
func TestSignIn(t *testing.T) {
	methods := map[string]string{TokenPath: "POST", LoginPath: "GET", LoginCallbackPath: "GET", LoginConsentPath: "POST"}
	for _, login := range []bool{false, true} {
		var log strings.Builder
		config := closed(newMemory(t), &log)
		config.Login = login
		config.SignIn = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, r.Method, r.URL.Path)
		})
		for path, method := range methods {
			r := ask(t, New(config), method, path)
			if got := body(t, r); (login || path == TokenPath) != (r.StatusCode == 418 && got == method+path) || !login && path != TokenPath && r.StatusCode != 404 {
				t.Errorf("login %v: %s: %d %s", login, path, r.StatusCode, got)
			}
			other := map[string]string{"POST": "GET", "GET": "POST"}[method]
			if r := ask(t, New(config), other, path); r.StatusCode != 405 || !strings.Contains(r.Header.Get("Allow"), method) || strings.Contains(r.Header.Get("Allow"), other) {
				t.Errorf("%s %s: %d, Allow %q", other, path, r.StatusCode, r.Header.Get("Allow"))
			}
		}
		if !strings.Contains(log.String(), `"path":"/v1/token","status":418,"bytes":13`) {
			t.Errorf("the log is %s", log.String())
		}
		config.SignIn = nil
		for path, method := range methods {
			if r := ask(t, New(config), method, path); r.StatusCode != 404 {
				t.Errorf("without a handler, %s: %d", path, r.StatusCode)
			}
		}
	}
}

func TestErrorDocument(t *testing.T) {
	got := string(errorResponse(refuse(registry.ErrNotFound, "%s", "no <b> & no \"c\"\n")).body)
	if want := `{"errors":["no <b> & no \"c\"\n"]}` + "\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestErrorStatuses(t *testing.T) {
	for _, tt := range []struct {
		err     error
		status  int
		message string
	}{
		{ErrMalformed, 400, "malformed address"},
		{catalog.ErrUnauthorized, 401, "unauthorized"},
		{registry.ErrNotFound, 404, "not found"},
		{ErrMethod, 405, "method not allowed"},
		{fmt.Errorf("table larder-prod: %w", registry.ErrNotFound), 404, "not found"},
		{fmt.Errorf("%w: table larder-prod", catalog.ErrUnauthorized), 401, "unauthorized"},
		{errors.Join(errors.New("larder-prod"), registry.ErrNotFound), 404, "not found"},
		{refuse(registry.ErrNotFound, "there is no %s", "x"), 404, "there is no x"},
		{fmt.Errorf("table larder-prod: %w", refuse(ErrMalformed, "no")), 400, "no"},
		{orMissing(fmt.Errorf("larder-prod: %w", registry.ErrNotFound), "no %d", 1), 404, "no 1"},
		{orMissing(catalog.ErrUnauthorized, "no %d", 1), 401, "unauthorized"},
		{orMissing(errors.New("disk full"), "no %d", 1), 500, "internal error"},
		{errors.New("open /var/lib/larder/catalog.db: disk full"), 500, "internal error"},
		{fmt.Errorf("table larder-prod: %w", context.DeadlineExceeded), 503, "the registry's storage does not answer at the moment: try again in some seconds"},
		{errors.Join(context.DeadlineExceeded, registry.ErrNotFound), 404, "not found"},
		{context.Canceled, 500, "internal error"},
		{refuse(io.EOF, "EOF at /var/lib/larder"), 500, "internal error"},
	} {
		got := errorResponse(tt.err)
		want := string(encode(errorDocument{[]string{tt.message}}))
		var header [2]field
		switch tt.status {
		case 401:
			header[0] = field{"Www-Authenticate", []string{"Bearer"}}
		case 503:
			header[0] = field{"Retry-After", []string{"1"}}
		}
		if got.status != tt.status || string(got.body) != want || got.cache != "no-store" || tt.status != 405 && !reflect.DeepEqual(got.header, header) {
			t.Errorf("%v: %d %s, want %d %s", tt.err, got.status, got.body, tt.status, want)
		}
	}
}

func TestInternalErrorsAreLoggedAndNotTold(t *testing.T) {
	broken := errors.New("open /var/lib/larder/catalog.db: disk full")
	slow := fmt.Errorf("table larder-prod: %w", context.DeadlineExceeded)
	for _, tt := range []struct {
		err     error
		status  int
		message string
	}{{broken, 500, "internal error"}, {slow, 503, "the registry's storage does not answer at the moment: try again in some seconds"}} {
		for _, path := range slices.Concat(withToken(), everyList) {
			var log bytes.Buffer
			index := newMemory(t)
			index.err = tt.err
			config := closed(index, &log)
			r := ask(t, New(config), "GET", path, "Authorization", "Bearer "+goodToken)
			expectError(t, path, r, tt.status, tt.message)
			path, _, _ := strings.Cut(path, "?")
			if !strings.Contains(log.String(), tt.err.Error()) || !strings.Contains(log.String(), path) {
				t.Errorf("%s: log %s", path, log.String())
			}
		}
	}
	for _, path := range []string{everyRoute[2], everyRoute[4]} {
		var log bytes.Buffer
		config := closed(newMemory(t), &log)
		config.Presigner = bucket{errors.New("no credentials")}
		r := ask(t, New(config), "GET", path, "Authorization", "Bearer "+goodToken)
		expectError(t, path, r, 500, "internal error")
		if !strings.Contains(log.String(), "no credentials") || strings.Contains(log.String(), "X-Amz") {
			t.Errorf("%s: log %s", path, log.String())
		}
	}
}

func TestClientThatLeftIsNoInternalError(t *testing.T) {
	var log bytes.Buffer
	index := newMemory(t)
	index.err = context.Canceled
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequest("GET", everyRoute[1], nil).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer "+goodToken)
	New(closed(index, &log)).ServeHTTP(httptest.NewRecorder(), r)
	if strings.Contains(log.String(), `"ERROR"`) || !strings.Contains(log.String(), `"status":500`) {
		t.Errorf("log %s", log.String())
	}
}

func TestLog(t *testing.T) {
	for _, path := range slices.Concat([]string{"/nowhere", "/v1/modules/acme/vpc/aws/9.9.9/download"}, everyRoute, everyList) {
		path, query, _ := strings.Cut(path, "?")
		for _, method := range []string{"GET", "HEAD", "POST"} {
			var log bytes.Buffer
			r := httptest.NewRequest(method, path+"?"+query+"&token=qu3ry", nil)
			r.RemoteAddr = "[2001:db8::1]:4711"
			if method == "HEAD" { // as a gateway has it
				r.RemoteAddr = "2001:db8::1"
			}
			r.Header.Set("Authorization", "Bearer "+goodToken)
			w := httptest.NewRecorder()
			New(closed(newMemory(t), &log)).ServeHTTP(w, r)
			if method == "HEAD" && w.Body.Len() != 0 {
				t.Errorf("HEAD %s has a body of %d bytes", path, w.Body.Len())
			}
			decision, request, decided := strings.Cut(log.String(), "\n")
			if request == "" {
				decision, request, decided = "", decision, false
			}
			if read := method != "POST" && strings.HasPrefix(path, "/v1/") && !slices.Contains(forEverybody, path); decided != read || read && !strings.Contains(decision, `"msg":"access"`) {
				t.Errorf("%s %s logs the decision %s", method, path, decision)
			}
			var line map[string]any
			if err := json.Unmarshal([]byte(request), &line); err != nil { // more than one line, too
				t.Fatalf("%v in %s", err, log.String())
			}
			for _, secret := range []string{"5ecre7", "X-Amz", goodToken, "qu3ry", "bucket.example.com"} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("%s %s logs %s: %s", method, path, secret, log.String())
				}
			}
			if _, ok := line["duration"].(float64); !ok || line["method"] != method || line["path"] != path ||
				line["status"] != float64(w.Code) || line["bytes"] != float64(w.Body.Len()) || line["client"] != "2001:db8::1" {
				t.Errorf("%s %s, %d, %d bytes, logs %s", method, path, w.Code, w.Body.Len(), log.String())
			}
		}
	}
}

func TestLogIsBounded(t *testing.T) {
	var log bytes.Buffer
	r := httptest.NewRequest("GET", "/"+strings.Repeat("a", 1<<20), nil)
	r.Method = strings.Repeat("M", 1<<20)
	w := httptest.NewRecorder()
	New(closed(newMemory(t), &log)).ServeHTTP(w, r)
	if log.Len() > 2<<10 || w.Body.Len() > 2<<10 {
		t.Errorf("a long request makes a line of %d bytes and a body of %d", log.Len(), w.Body.Len())
	}
}

func TestGzip(t *testing.T) {
	handler := New(open(large(t, 400, 12)))
	plain := body(t, ask(t, handler, "GET", everyRoute[3]))
	for _, accept := range []string{"gzip", "GZIP", "deflate, gzip;q=0.5", "br,gzip ; Q=1"} {
		r := ask(t, handler, "GET", everyRoute[3], "Accept-Encoding", accept)
		packed := body(t, r)
		if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Content-Length") != strconv.Itoa(len(packed)) || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: header %v", accept, r.Header)
		}
		reader, err := gzip.NewReader(strings.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(reader); err != nil || string(unpacked) != plain || len(packed)*10 > len(plain) {
			t.Errorf("%s: %d bytes became %d and then %d, %v", accept, len(plain), len(packed), len(unpacked), err)
		}
	}
	for _, accept := range []string{"", "identity", "gzip;q=0", "gzip;q=0.0", "gzip;q=x", "gzip;q=1e999", "br", "xgzip", "*"} {
		r := ask(t, handler, "GET", everyRoute[3], "Accept-Encoding", accept)
		if got := body(t, r); got != plain || r.Header.Get("Content-Encoding") != "" || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %d bytes, header %v", accept, len(got), r.Header)
		}
	}
	if r := ask(t, handler, "GET", discoveryPath, "Accept-Encoding", "gzip"); r.Header.Get("Content-Encoding") != "" {
		t.Error("a small body was compressed")
	}
}

// A body is compressed from the byte on at which that is worth it.
func TestGzipFrom(t *testing.T) {
	made := func(size int) response { return response{status: 200, body: make([]byte, size)} }
	once := func(size int) response { return whole(newDocument(make([]byte, size))) }
	for _, tt := range []struct {
		response response
		want     string
	}{{once(gzipFrom), ""}, {once(gzipFrom + 1), "gzip"}, {made(gzipMadeFrom), ""}, {made(gzipMadeFrom + 1), "gzip"}} {
		for accept, want := range map[string]string{"gzip": tt.want, "identity": ""} {
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			r.Header.Set("Accept-Encoding", accept)
			_, written := tt.response.write(w, r)
			if got := w.Header().Get("Content-Encoding"); got != want || written != w.Body.Len() || (written < 1000) != (want == "gzip") {
				t.Errorf("for %s, %d bytes are encoded as %q in %d bytes, want %q", accept, len(tt.response.body), got, written, want)
			}
		}
	}
}

// broken is a response whose client has gone.
type broken struct{ http.ResponseWriter }

func (broken) Write(data []byte) (int, error) { return len(data) / 2, io.ErrClosedPipe }

// What another handler answers counts as far as it was sent, and it learns when it
// was not.
func TestCountingWriter(t *testing.T) {
	w := &countingWriter{ResponseWriter: broken{httptest.NewRecorder()}}
	if n, err := w.Write([]byte("0123")); n != 2 || !errors.Is(err, io.ErrClosedPipe) || w.written != 2 {
		t.Errorf("wrote %d, %v, and counted %d", n, err, w.written)
	}
}

func TestBounded(t *testing.T) {
	longest := strings.Repeat("a", 512)
	for s, want := range map[string]string{"": "", longest: longest, longest + "a": longest + "…"} {
		if got := bounded(s); got != want {
			t.Errorf("%d bytes become %d", len(s), len(got))
		}
	}
}

func FuzzAcceptsGzip(f *testing.F) {
	for _, s := range []string{"", "gzip", "deflate, GZIP;q=0.5", "gzip;q=0", "gzip;q=NaN", ",;,gzip;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if acceptsGzip(http.Header{"Accept-Encoding": {header}}) && !strings.Contains(strings.ToLower(header), "gzip") {
			t.Errorf("%q names no gzip", header)
		}
	})
}

// TestServer asks a real server, which has opinions of its own on redirects,
// lengths and HEAD.
func TestServer(t *testing.T) {
	index := large(t, 40, 12)
	server := httptest.NewServer(New(closed(index, io.Discard)))
	defer server.Close()
	paths := append([]string{"/v1/modules/acme/vpc/aws/9.9.9/download", "/v1/modules/acme/vpc/aws/versions/", "//v1/modules/acme/vpc/aws/versions",
		"/v1/modules/%2e%2e/vpc/aws/versions", "/v1/modules/../vpc/aws/versions", "/nowhere", "/"}, slices.Concat(everyRoute, everyList)...)
	for _, headers := range []http.Header{
		{},
		{"Authorization": {"Bearer " + goodToken}},
		{"Authorization": {"Bearer " + goodToken}, "Accept-Encoding": {"gzip"}},
	} {
		for _, path := range paths {
			get, got := send(t, server, "GET", path, headers)
			head, none := send(t, server, "HEAD", path, headers)
			if head.StatusCode != get.StatusCode || !reflect.DeepEqual(head.Header, get.Header) || none != "" {
				t.Errorf("%s %v\nGET  %d %v\nHEAD %d %v %q", path, headers, get.StatusCode, get.Header, head.StatusCode, head.Header, none)
			}
			if length := get.Header.Get("Content-Length"); get.StatusCode != 204 && length != strconv.Itoa(len(got)) || get.StatusCode == 204 && length+got != "" {
				t.Errorf("%s: %d with Content-Length %q and %d bytes", path, get.StatusCode, length, len(got))
			}
			if get.StatusCode >= 300 && get.StatusCode < 400 && path != everyRoute[7] {
				t.Errorf("%s: redirects with %d", path, get.StatusCode)
			}
		}
	}
	for _, path := range []string{"/%zz", "/v1/modules/acme/vpc/aws/versions%"} {
		if r, _ := send(t, server, "GET", path, nil); r.StatusCode != 400 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// send asks a server for exactly this path, which Go's clients would change, and leaves out
// the Date of the answer.
func send(t *testing.T, server *httptest.Server, method, path string, headers http.Header) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// At once: a server that answers before all has come resets the connection.
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.1\r\nHost: registry.example.com\r\nConnection: close\r\n", method, path)
	_ = headers.Write(&request) // to memory
	request.WriteString("\r\n")
	if _, err := request.WriteTo(conn); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	answer.Header.Del("Date")
	return answer, body(t, answer)
}

// large is a catalog whose listings have many versions, of many platforms.
func large(tb testing.TB, versions, platforms int) *memory {
	index := newMemory(tb)
	index.providerVersions, index.moduleVersions = nil, nil
	for i := range versions {
		listed := registry.Listed{Version: registrytest.Version(tb, fmt.Sprintf("%d.%d.%d", i/100, i/10%10, i%10)), Revision: 1}
		index.moduleVersions = append(index.moduleVersions, listed)
		listed.Protocols = []string{"5.0", "6.0"}
		for j := range platforms {
			listed.Platforms = append(listed.Platforms, registry.Platform{OS: "linux" + strconv.Itoa(j), Arch: "amd64"})
		}
		index.providerVersions = append(index.providerVersions, listed)
	}
	return index
}

// A listing is written in a handful of pieces, however many versions it has.
func TestListingsAllocateLittle(t *testing.T) {
	for _, size := range []struct{ versions, platforms int }{{400, 12}, {1000, 14}} {
		listing := large(t, size.versions, size.platforms).providerVersions
		if got := testing.AllocsPerRun(20, func() { providerVersionsBody(provider, listing) }); got > 20 {
			t.Errorf("%d versions of %d platforms take %v allocations", size.versions, size.platforms, got)
		}
	}
}
