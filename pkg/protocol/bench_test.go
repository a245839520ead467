package protocol

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// hotPath is a request of a CLI, whose cost is measured.
type hotPath struct {
	name      string
	path      string
	versions  int
	platforms int // 0: of a module
}

var hotPaths = []hotPath{
	{"Discovery", "/.well-known/terraform.json", 0, 0},
	{"ProviderVersions/10x5", "/v1/providers/acme/widget/versions", 10, 5},
	{"ProviderVersions/400x12", "/v1/providers/acme/widget/versions", 400, 12},
	{"ProviderDownload", "/v1/providers/acme/widget/0.0.0/download/linux/amd64", 1, 14},
	{"ProviderDetails", "/v1/providers/acme/widget/0.0.0", 1, 14},
	{"ModuleVersions/5", "/v1/modules/acme/vpc/aws/versions", 5, 0},
	{"ModuleVersions/1000", "/v1/modules/acme/vpc/aws/versions", 1000, 0},
	{"ModuleDownload", "/v1/modules/acme/vpc/aws/1.0.0/download", 5, 0},
	{"ModuleDetails", "/v1/modules/acme/vpc/aws/1.0.0", 5, 0},
	{"ModuleNewest", "/v1/modules/acme/vpc/aws/download", 5, 0},
	{"MirrorVersions/400x12", "/v1/mirror/registry.example.com/acme/widget/index.json", 400, 12},
	{"MirrorVersion", "/v1/mirror/registry.example.com/acme/widget/0.0.0.json", 1, 14},
}

// handler answers from bbolt, with a token, as a node does.
func (p hotPath) handler(tb testing.TB) http.Handler {
	tb.Helper()
	dir := tb.TempDir()
	tokens, err := boltcatalog.OpenAccess(filepath.Join(dir, "access.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tokens.Close() })
	opened, err := boltcatalog.Open(filepath.Join(dir, "catalog.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = opened.Close() })
	index := opened.WithTokens(tokens)
	id, err := access.ParseToken(goodToken)
	if err != nil {
		tb.Fatal(err)
	}
	everything, err := access.ParseScopes([]string{"read *"})
	if err != nil {
		tb.Fatal(err)
	}
	if err := tokens.CreateToken(tb.Context(), access.Token{ID: id, Name: "ci", Owner: "ops", Scopes: everything}); err != nil {
		tb.Fatal(err)
	}
	p.publish(tb, index)
	config := open(index)
	config.Open, config.Logger = false, slog.New(slog.DiscardHandler)
	reading(&config, catalog.NewReader(catalog.ReaderConfig{Catalog: index, TokenUses: tokens, Logger: config.Logger}))
	return New(config)
}

func (p hotPath) publish(tb testing.TB, index catalog.Index) {
	var err error
	if p.platforms == 0 {
		for i := range p.versions {
			v := registrytest.Version(tb, fmt.Sprintf("1.%d.0", i))
			err = catalogtest.Put(tb.Context(), index, registry.ModuleVersion{
				Address: module, Version: v, Revision: 1,
				Archive: registry.ModuleArchive{Format: "tar.gz", SHA256: fmt.Sprintf("%064d", i), Size: 1},
			})
		}
	} else {
		for _, v := range catalogtest.Provider(provider, p.versions, p.platforms) {
			err = catalogtest.Put(tb.Context(), index, v)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// request asks as a CLI asks.
func (p hotPath) request() *http.Request {
	r := httptest.NewRequest(http.MethodGet, p.path, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Authorization", "Bearer "+goodToken)
	return r
}

// nowhere is a response that costs nothing, and notes what it is.
type nowhere struct {
	header         http.Header
	status, length int
}

func (w *nowhere) Header() http.Header { return w.header }
func (w *nowhere) WriteHeader(s int)   { w.status = s }
func (w *nowhere) Write(b []byte) (int, error) {
	w.length += len(b)
	return len(b), nil
}

// again answers a request once more, and checks the status.
func (w *nowhere) again(tb testing.TB, h http.Handler, r *http.Request) {
	clear(w.header)
	w.status, w.length = 0, 0
	h.ServeHTTP(w, r)
	if w.status >= 400 {
		tb.Fatalf("%s is answered %d", r.URL, w.status)
	}
}

// BenchmarkRoutes asks each hot path, as often as there is time.
func BenchmarkRoutes(b *testing.B) {
	for _, p := range hotPaths {
		b.Run(p.name, func(b *testing.B) {
			h, r, w := p.handler(b), p.request(), &nowhere{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				w.again(b, h, r)
			}
			b.ReportMetric(float64(w.length), "sent-B/op")
		})
	}
}

// BenchmarkFirst asks hot paths of a handler that has kept nothing yet.
func BenchmarkFirst(b *testing.B) {
	for _, p := range hotPaths[1:] {
		b.Run(p.name, func(b *testing.B) {
			h, r, w := p.handler(b), p.request(), &nowhere{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				h.(*handler).kept = newKept(keptRoom)
				w.again(b, h, r)
			}
		})
	}
}

// maxAllocations is how many allocations a hot path may take: a few more than it does.
var maxAllocations = map[string]float64{
	"Discovery": 1, "ProviderVersions/10x5": 28, "ProviderVersions/400x12": 28, "ProviderDownload": 36, "ProviderDetails": 35,
	"ModuleVersions/5": 28, "ModuleVersions/1000": 28, "ModuleDownload": 31, "ModuleDetails": 35, "ModuleNewest": 28,
	"MirrorVersions/400x12": 28, "MirrorVersion": 48,
}

// maxFirstAllocations is the same for an answer that is not kept yet.
var maxFirstAllocations = map[string]float64{"ProviderDownload": 190, "MirrorVersion": 300}

// Of many packages each is asked for seldom, so its answer is often made anew.
func TestFirstAnswersAllocateLittle(t *testing.T) {
	for _, p := range hotPaths {
		most, limited := maxFirstAllocations[p.name]
		if !limited {
			continue
		}
		h, r, w := p.handler(t), p.request(), &nowhere{header: http.Header{}}
		got := testing.AllocsPerRun(50, func() {
			h.(*handler).kept = newKept(keptRoom)
			w.again(t, h, r)
		})
		if got > most {
			t.Errorf("%s takes %v allocations, and at most %v are allowed", p.name, got, most)
		}
	}
}

// The allocations of a hot path do not depend on the machine: more of them make every
// request slower. They do not depend on the number of versions, either.
func TestHotPathsAllocateLittle(t *testing.T) {
	for _, p := range hotPaths {
		p.versions = min(p.versions, 40)
		h, r, w := p.handler(t), p.request(), &nowhere{header: http.Header{}}
		w.again(t, h, r)
		got := testing.AllocsPerRun(50, func() { w.again(t, h, r) })
		if most, known := maxAllocations[p.name]; !known || got > most {
			t.Errorf("%s takes %v allocations, and at most %v are allowed", p.name, got, most)
		}
	}
}
