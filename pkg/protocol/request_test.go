package protocol

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func TestParse(t *testing.T) {
	module := registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	provider := registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	linux := registry.Platform{OS: "linux", Arch: "amd64"}
	for path, want := range map[string]Request{
		"/.well-known/terraform.json":                        {Route: Discovery},
		"/llms.txt":                                          {Route: Guide},
		"/v1/modules/acme/vpc/aws.md":                        {Route: ModuleDetails, Module: module, Markdown: true},
		"/v1/modules/acme/vpc/aws/v1.2.md":                   {Route: ModuleDetails, Module: module, Version: registrytest.Version(t, "1.2.0"), Markdown: true},
		"/v1/modules/acme/vpc/aws/1.2.0-a.md.md":             {Route: ModuleDetails, Module: module, Version: registrytest.Version(t, "1.2.0-a.md"), Markdown: true},
		"/v1/providers/acme/widget.md":                       {Route: ProviderDetails, Provider: provider, Markdown: true},
		"/v1/providers/acme/widget/1.0.0.md":                 {Route: ProviderDetails, Provider: provider, Version: registrytest.Version(t, "1.0.0"), Markdown: true},
		"/v1/providers/acme/widget/1.0.0/docs/guides/a.b.md": {Route: ProviderPage, Provider: provider, Version: registrytest.Version(t, "1.0.0"), Category: "guides", Slug: "a.b", Markdown: true},
		"/v1/modules/acme/vpc/aws/versions":                  {Route: ModuleVersions, Module: module},
		"/v1/modules/Acme/VPC/AWS/versions":                  {Route: ModuleVersions, Module: module},
		"/v1/modules/acme/vpc/aws/download":                  {Route: ModuleNewest, Module: module},
		"/v1/modules/%61cme/v%70c/aws/versions":              {Route: ModuleVersions, Module: module},
		"/v1/modules/acme/vpc/aws/1.2.0/download":            {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.2.0")},
		"/v1/modules/acme/vpc/aws/v1.2/download":             {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.2.0")},
		"/v1/modules/acme/vpc/aws/1.2/download":              {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.2.0")},
		"/v1/modules/acme/vpc/aws/01.2.0/download":           {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.2.0")},
		"/v1/modules/acme/vpc/aws/1.0.0+build.5/download":    {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.0.0+build.5")},
		"/v1/modules/acme/vpc/aws/1.0.0%2Bbuild.5/download":  {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.0.0+build.5")},
		"/v1/modules/acme/vpc/aws/1.0.0%2bbuild.5/download":  {Route: ModuleDownload, Module: module, Version: registrytest.Version(t, "1.0.0+build.5")},
		"/v1/modules/acme/vpc/aws/1.2.0":                     {Route: ModuleDetails, Module: module, Version: registrytest.Version(t, "1.2.0")},
		"/v1/modules/acme/vpc/aws/v1.2+build.5":              {Route: ModuleDetails, Module: module, Version: registrytest.Version(t, "1.2.0+build.5")},
		"/v1/providers/acme/widget/1.2.0":                    {Route: ProviderDetails, Provider: provider, Version: registrytest.Version(t, "1.2.0")},
		"/v1/providers/acme/widget/versions":                 {Route: ProviderVersions, Provider: provider},
		"/v1/modules":                                        {Route: ModuleList},
		"/v1/modules/search":                                 {Route: ModuleSearch},
		"/v1/modules/search/vpc":                             {Route: ModuleSystems, Module: registry.ModuleAddress{Namespace: "search", Name: "vpc"}},
		"/v1/modules/search/vpc/aws":                         {Route: ModuleDetails, Module: registry.ModuleAddress{Namespace: "search", Name: "vpc", System: "aws"}},
		"/v1/modules/ACME":                                   {Route: ModulesOfNamespace, Module: registry.ModuleAddress{Namespace: "acme"}},
		"/v1/modules/acme/Vpc":                               {Route: ModuleSystems, Module: registry.ModuleAddress{Namespace: "acme", Name: "vpc"}},
		"/v1/modules/acme/vpc/AWS":                           {Route: ModuleDetails, Module: module},
		"/v1/modules/acme/vpc/aws/downloads/summary":         {Route: ModuleDownloads, Module: module},
		"/v1/providers":                                      {Route: ProviderList},
		"/v1/providers/acme":                                 {Route: ProvidersOfNamespace, Provider: registry.ProviderAddress{Namespace: "acme"}},
		"/v1/providers/acme/widget":                          {Route: ProviderDetails, Provider: provider},
		"/v1/providers/acme/widget/1.2/docs":                 {Route: ProviderPages, Provider: provider, Version: registrytest.Version(t, "1.2.0")},
		"/v1/providers/acme/widget/1.2.0/docs/resources/a%20b": {
			Route: ProviderPage, Provider: provider, Version: registrytest.Version(t, "1.2.0"), Category: contents.Resources, Slug: "a b"},
		"/v1/providers/acme/widget/1.2.0-rc.1/download/linux/amd64": {
			Route: ProviderDownload, Provider: provider, Version: registrytest.Version(t, "1.2.0-rc.1"), Platform: linux},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if got, err := Parse(method, path); err != nil || got != want {
				t.Errorf("%s %s: %+v, %v", method, path, got, err)
			}
		}
	}
}

// notThere are paths that nothing can be at, and malformed those that can be
// no address at all.
var notThere = []string{
	"", "/", "//", "*", "v1", ".well-known/terraform.json", "/.well-known/terraform.json/", "/.well-known", "/v1/", "/v2/modules/acme/vpc/aws/versions",
	"/v1/modules/acme/vpc/aws/versions/", "//v1/modules/acme/vpc/aws/versions", "/v1//modules/acme/vpc/aws/versions", "/v1/modules//vpc/aws/versions",
	"/v1/modules/acme/vpc/aws/version", "/v1/modules/acme/vpc/aws/Versions", "/v1/modules/", "/v1/modules/acme/", "/v1/modules/acme/vpc/", "/v1/modules/acme/vpc/aws/",
	"/v1/modules/-acme", "/v1/modules/acme/-vpc", "/v1/modules/acme/vpc/a-b", "/v1/modules/acme/vpc/aws/downloads/", "/v1/modules/search/", "/v1/modules/acme/vpc/aws/downloads/all",
	"/v1/providers/", "/v1/providers/Acme", "/v1/providers/acme/", "/v1/providers/acme/Widget", "/v1/providers/acme/widget/", "/v1/providers/acme/widget/1.0.0/docs/",
	"/v1/providers/acme/widget/latest/docs", "/v1/providers/acme/widget/1.0.0/docs/guides", "/v1/providers/acme/widget/1.0.0/docs/guides/", "/v1/providers/acme/widget/1.0.0/docs//start",
	"/v1/providers/acme/widget/latest/docs/guides/start", "/v1/modules/" + strings.Repeat("a", 65), "/v1/providers/" + strings.Repeat("a", 65),
	"/v1/modules/" + strings.Repeat("a", 65) + "/vpc/aws/versions", "/v1/modules/-acme/vpc/aws/versions", "/v1/modules/acm%C3%A9/vpc/aws/versions",
	"/v1/modules/acme/vpc/a-b/versions", "/v1/modules/acme/vpc/a%3Fb/versions", "/v1/modules/%E2%84%AAit/vpc/aws/versions",
	"/v1/modules/%252e%252e/vpc/aws/versions", "/v1/modules/acme%252fvpc/vpc/aws/versions", "/v1/modules/.../vpc/aws/versions",
	"/v1/modules/acme/vpc/aws/1.0.0/", "/v1/modules/acme/vpc/aws/1.0.0/versions", "/v1/providers/acme/widget/1.0.0/", "/v1/providers/acme/widget/download",
	"/v1/modules/acme/vpc/aws/1.0.0%20build.5/download", "/v1/modules/acme/vpc/aws/latest/download", "/v1/modules/acme/vpc/aws/1.2.3.4/download",
	"/v1/modules/acme/vpc/aws//download", "/v1/modules/acme/vpc/aws/download/", "/v1/modules/acme/vpc/aws/1.0.0/download/",
	"/v1/providers/Acme/widget/versions", "/v1/providers/acme/Widget/versions", "/v1/providers/acme/wid--get/versions", "/v1/providers/-acme/widget/versions",
	"/v1/providers/" + strings.Repeat("a", 65) + "/widget/versions", "/v1/providers/b%C3%BCcher/widget/versions", "/v1/providers/acme/terraform-provider-widget/versions",
	"/v1/providers/acme/widget/1.0.0/download/Linux/amd64", "/v1/providers/acme/widget/1.0.0/download/linux/AMD64",
	"/v1/providers/acme/widget/1.0.0/download/linux", "/v1/providers/acme/widget/1.0.0/download/linux/amd64/", "/v1/providers/acme/widget/1.0.0/download/linux/amd_64",
	"/v1/providers/acme/widget/x/download/linux/amd64", "/v1/providers/acme/widget/1.0.0%20b/download/linux/amd64",
	"/v1/mirror/registry.example.com/acme/widget/1.0.0.json.json", "/v1/mirror/registry.example.com/acme/widget/index.json/",
	"/v1/mirror/registry.example.com/acme/widget/1.0.0", "/v1/mirror/registry.example.com/acme/widget/1.0.0.jso",
	"/v1/mirror/registry.example.com/acme/widget/.json", "/v1/mirror/registry.example.com/acme/widget/latest.json",
	"/" + strings.Repeat("a", maxPath), "/" + strings.Repeat("%00", maxPath),
}

var malformed = []string{
	"/%", "/%z", "/%zz", "/v1/modules/acme/vpc/aws/versions%", "/v1/modules/%u0041/vpc/aws/versions",
	"/v1/modules/%2e%2e/vpc/aws/versions", "/v1/modules/../vpc/aws/versions", "/v1/modules/./vpc/aws/versions", "/v1/modules/.%2E/vpc/aws/versions",
	"/v1/modules/..%2f/vpc/aws/versions", "/v1/modules/acme%2Fvpc/x/aws/versions", "/v1/modules/..%5cacme/vpc/aws/versions", `/v1/modules/a\b/vpc/aws/versions`,
	"/v1/modules/acme%00/vpc/aws/versions", "/v1/modules/acme%0a/vpc/aws/versions", "/v1/modules/acme%7f/vpc/aws/versions", "/v1/modules/acme%C2%85/vpc/aws/versions",
	"/v1/modules/%ff/vpc/aws/versions", "/v1/modules/%C0%AE%C0%AE/vpc/aws/versions", "/v1/modules/%E0%80%AF/vpc/aws/versions", "/v1/modules/%ED%A0%80/vpc/aws/versions",
	"/v1/modules/acme/vpc/aws/%2e%2e/download", "/v1/providers/acme/widget/1.0.0/download/linux/%00", "/v1/providers/acme/..%2fwidget/versions",
	"/nowhere/%00", "/nowhere/..", "/v1/modules/%00", "/v1/modules/acme/%ff", "/v1/modules/acme/vpc/..", "/v1/providers/%2e%2e",
	"/v1/providers/acme/widget/1.0.0/docs/guides/..", "/v1/providers/acme/widget/1.0.0/docs/guides/a%2fb", "/v1/providers/acme/widget/1.0.0/docs/%00/a",
}

func TestParseRefuses(t *testing.T) {
	for kind, paths := range map[error][]string{registry.ErrNotFound: notThere, ErrMalformed: malformed} {
		for _, path := range paths {
			if got, err := Parse("GET", path); !errors.Is(err, kind) || got != (Request{}) {
				t.Errorf("%.80s: %+v, %v; want %v", path, got, err, kind)
			}
		}
	}
}

func TestParseMethods(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "", "X"} {
		for _, path := range everyRoute {
			if got, err := Parse(method, path); !errors.Is(err, ErrMethod) || got != (Request{}) {
				t.Errorf("%s %s: %+v, %v", method, path, got, err)
			}
		}
		for _, path := range []string{"/nowhere", "/v1/modules//vpc/aws/versions", "/v1/modules/acme/vpc/aws/versions/"} {
			if _, err := Parse(method, path); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("%s %s: %v", method, path, err)
			}
		}
	}
}

// parseSlowly is [Parse] by its definition: every segment first, then the routes by number
// of segments and by name.
func parseSlowly(method, path string) (Request, error) {
	if len(path) > maxPath {
		return Request{}, refuse(registry.ErrNotFound, "the path is longer than any address here")
	}
	var segments []string
	for _, escaped := range strings.Split(path, "/") {
		segment, err := url.PathUnescape(escaped)
		if err != nil || !wellFormed(segment) {
			return Request{}, refuse(ErrMalformed, "%q cannot be part of an address", escaped)
		}
		segments = append(segments, segment)
	}
	fits := func(r route) (args arguments, ok bool) {
		found := 0
		for i, want := range r.segments {
			if isArgument := strings.HasPrefix(want, "{"); isArgument && segments[i] != "" {
				args[found] = segments[i]
				found++
			} else if isArgument || segments[i] != want {
				return args, false
			}
		}
		return args, true
	}
	for _, r := range routes {
		if len(r.segments) != len(segments) {
			continue
		}
		if args, ok := fits(r); ok && slices.Contains(r.methods, method) {
			return r.parse(args)
		} else if ok {
			return Request{}, &methodError{r.methods}
		}
	}
	return Request{}, nothingAt(path)
}

// TestParseMakesNoGarbage holds the parser to its cost: nothing is allocated for a path of
// a release as clients write it.
func TestParseMakesNoGarbage(t *testing.T) {
	for _, path := range everyRoute {
		path = strings.ReplaceAll(path, "+build.5", "") // which the clients' library reads
		got := testing.AllocsPerRun(100, func() { _, _ = Parse("GET", path) })
		if _, err := Parse("GET", path); err == nil && got > 0 {
			t.Errorf("%s: %v allocations", path, got)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, path := range everyRoute {
		if _, err := Parse("GET", path); err != nil {
			continue // it is for POST
		}
		b.Run(strings.ReplaceAll(path[1:], "/", ":"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse("GET", path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRoutesFit checks that the limits are those of the routes.
func TestRoutesFit(t *testing.T) {
	segments, args := 0, 0
	for _, r := range routes {
		found := 0
		for _, s := range r.segments {
			if strings.HasPrefix(s, "{") {
				found++
			}
		}
		segments, args = max(segments, len(r.segments)), max(args, found)
	}
	if segments != maxSegments || args != maxArguments {
		t.Errorf("the routes have %d segments and %d arguments at most, and the limits are %d and %d", segments, args, maxSegments, maxArguments)
	}
}

func FuzzParse(f *testing.F) {
	for _, paths := range [][]string{everyRoute, {"/v1/modules", "/v1/modules/search", "/v1/modules/acme", "/v1/modules/acme/vpc", "/v1/providers", "/v1/providers/acme", "/v1/providers/acme/widget/1.0.0/docs/guides/start"}, notThere, malformed} {
		for _, path := range paths {
			f.Add("GET", path)
		}
	}
	f.Add("POST", "/v1/modules/acme/vpc/aws/versions")
	f.Fuzz(func(t *testing.T, method, path string) {
		got, err := Parse(method, path)
		if want, wantErr := parseSlowly(method, path); got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s %q: %+v, %v; want %+v, %v", method, path, got, err, want, wantErr)
		}
		if err != nil {
			if got != (Request{}) || !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrMethod) {
				t.Errorf("%s %q: %+v, %v", method, path, got, err)
			}
			return
		}
		if again, err := Parse("GET", canonical(t, got)); err != nil || again != got {
			t.Errorf("%q is %+v, which is at %q and reads %+v, %v", path, got, canonical(t, got), again, err)
		}
	})
}

// canonical is the plainest path of a request, and checks that all in it could
// have been published.
func canonical(t *testing.T, r Request) string {
	t.Helper()
	if r.Markdown {
		r.Markdown = false
		return canonical(t, r) + markdownSuffix
	}
	m, p, pl := r.Module, r.Provider, r.Platform
	if r.Route == ModuleVersions || r.Route == ModuleNewest || r.Route == ModuleDetails || r.Route == ModuleDownload || r.Route == ModuleDownloads {
		if a, err := registry.ParseModuleAddress(m.Namespace, m.Name, m.System); err != nil || a != m {
			t.Errorf("%q: %v", m, err)
		}
	}
	if r.Route == ProviderVersions || r.Route == ProviderDetails || r.Route == ProviderDownload || r.Route == ProviderPages || r.Route == ProviderPage {
		if a, err := registry.ParseProviderAddress(p.Namespace, p.Type); err != nil || a != p {
			t.Errorf("%q: %v", p, err)
		}
	}
	if r.Route == MirrorVersions || r.Route == MirrorVersion {
		if a, err := registry.ParseMirroredAddress(p.Hostname, p.Namespace, p.Type); err != nil || a != p {
			t.Errorf("%q: %v", p, err)
		}
	}
	if r.Version != (registry.Version{}) {
		registrytest.Version(t, r.Version.String())
	}
	switch r.Route {
	case Discovery:
		return discoveryPath
	case Guide:
		return guidePath
	case ModuleVersions:
		return modulesPath + m.String() + "/versions"
	case ModuleNewest:
		return modulesPath + m.String() + "/download"
	case ModuleDetails:
		return strings.TrimSuffix(modulesPath+m.String()+"/"+url.PathEscape(r.Version.String()), "/")
	case ProviderDetails:
		return strings.TrimSuffix(providersPath+p.String()+"/"+url.PathEscape(r.Version.String()), "/")
	case ModuleList, ModuleSearch, ModulesOfNamespace, ModuleSystems, ProviderList, ProvidersOfNamespace:
		return r.listPath()
	case ModuleDownloads:
		return modulesPath + m.String() + "/downloads/summary"
	case ProviderPages:
		return providersPath + p.String() + "/" + url.PathEscape(r.Version.String()) + "/docs"
	case ProviderPage:
		return providersPath + p.String() + "/" + url.PathEscape(r.Version.String()) + "/docs/" + url.PathEscape(string(r.Category)) + "/" + url.PathEscape(r.Slug)
	case ModuleDownload:
		return modulesPath + m.String() + "/" + url.PathEscape(r.Version.String()) + "/download"
	case ProviderVersions:
		return providersPath + p.String() + "/versions"
	case ProviderDownload:
		if a, err := registry.ParsePlatform(pl.OS, pl.Arch); err != nil || a != pl {
			t.Errorf("%q: %v", pl, err)
		}
		return providersPath + p.String() + "/" + url.PathEscape(r.Version.String()) + "/download/" + pl.OS + "/" + pl.Arch
	case MirrorVersions:
		return mirrorPath + p.String() + "/index.json"
	case MirrorVersion:
		return mirrorPath + p.String() + "/" + url.PathEscape(r.Version.String()) + ".json"
	}
	t.Fatalf("no such route: %d", r.Route)
	return ""
}
