package browse_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

var vpc = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
var widget = registry.ProviderAddress{Namespace: "acme", Type: "widget"}

// world is a browser over a real catalog and a bucket in memory. It counts what it reads.
type world struct {
	*browse.Browser
	index  *boltcatalog.Catalog
	bucket *blobtest.Memory
	gets   []string
	fails  error
	query  directory.Query
}

// Get implements browse.Documents.
func (w *world) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	w.gets = append(w.gets, key)
	if w.fails != nil {
		return nil, w.fails
	}
	return blob.ReadRange(ctx, w.bucket, key, offset, length)
}

// List implements browse.Directory.
func (w *world) List(_ context.Context, caller access.Caller, q directory.Query) (directory.Page, error) {
	w.query = q
	if !caller.IsAnyone() {
		return directory.Page{}, catalog.ErrUnauthorized
	}
	return directory.Page{Total: 7}, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	index, err := boltcatalog.Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	w := &world{index: index, bucket: blobtest.NewMemory()}
	reader := catalog.NewReader(catalog.ReaderConfig{Catalog: index, Logger: slog.New(slog.DiscardHandler)})
	w.Browser = browse.New(browse.Config{Catalog: reader, Directory: w, Documents: w})
	return w
}

func (w *world) put(t *testing.T, s registry.State) {
	t.Helper()
	if err := w.index.Put(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func (w *world) keep(t *testing.T, sha256 string, document any) {
	t.Helper()
	body, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	w.bucket.Upload(t, registry.ContentsKey(contents.Reader, sha256), body, nil)
}

func moduleVersion(t *testing.T, version, sha256 string) *registry.ModuleVersion {
	return &registry.ModuleVersion{Address: vpc, Version: registrytest.Version(t, version), Revision: 1, Archive: registry.ModuleArchive{Format: "zip", SHA256: sha256}}
}

func TestModule(t *testing.T) {
	w := newWorld(t)
	w.put(t, moduleVersion(t, "1.0.0", "aa"))
	w.put(t, moduleVersion(t, "1.1.0", "bb"))
	w.put(t, moduleVersion(t, "2.0.0-rc.1", "cc"))
	w.keep(t, "bb", contents.Module{Root: contents.Part{Readme: "# VPC"}, Problems: []string{"main.tf is odd"}})
	for name, tt := range map[string]struct {
		version string // empty: the newest
		want    string
		readme  string
		problem string
	}{
		"the newest":       {"", "1.1.0", "# VPC", "main.tf is odd"},
		"one":              {"1.1.0", "1.1.0", "# VPC", "main.tf is odd"},
		"one without text": {"1.0.0", "1.0.0", "", "was not read yet"},
	} {
		for round := range 2 {
			w.gets = nil
			var v registry.Version
			if tt.version != "" {
				v = registrytest.Version(t, tt.version)
			}
			m, err := w.Module(t.Context(), access.Anyone, vpc, v)
			if err != nil || m.State.Version.String() != tt.want || m.State.Address != vpc || len(m.Listing) != 3 ||
				m.Contents.Root.Readme != tt.readme || m.Known != (tt.readme != "") ||
				len(m.Contents.Problems) != 1 || !strings.Contains(m.Contents.Problems[0], tt.problem) {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
			if kept := round > 0 && m.Known; kept && len(w.gets) > 0 || len(w.gets) > 1 {
				t.Errorf("%s: read %q", name, w.gets)
			}
		}
	}
}

// TestDocumentsAreReadAgain changes a document, as "larder reindex --contents --again" does. A
// minute later it is shown.
func TestDocumentsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put(t, moduleVersion(t, "1.0.0", "aa"))
		readme := func() string {
			m, err := w.Module(t.Context(), access.Anyone, vpc, registry.Version{})
			if err != nil {
				t.Fatal(err)
			}
			return m.Contents.Root.Readme
		}
		w.keep(t, "aa", contents.Module{Root: contents.Part{Readme: "first"}})
		readme()
		w.keep(t, "aa", contents.Module{Root: contents.Part{Readme: "second"}})
		for _, want := range []string{"first", "second"} {
			time.Sleep(browse.KeptFor - time.Nanosecond)
			if got := readme(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			time.Sleep(time.Nanosecond)
		}
		if len(w.gets) != 2 {
			t.Errorf("read %q", w.gets)
		}
	})
}

func TestModuleFails(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		prepare func(*testing.T, *world)
		caller  access.Caller
		err     error  // nil: any
		text    string // of the error
		gets    int
	}{
		"not there":  {func(*testing.T, *world) {}, access.Anyone, registry.ErrNotFound, "", 0},
		"nobody":     {func(*testing.T, *world) {}, access.Caller{}, catalog.ErrUnauthorized, "", 0},
		"the bucket": {func(_ *testing.T, w *world) { w.fails = broken }, access.Anyone, broken, "registry/contents/1/aa.json", 1},
		"damaged": {func(t *testing.T, w *world) {
			w.bucket.Upload(t, registry.ContentsKey(contents.Reader, "aa"), []byte("{"), nil)
		}, access.Anyone, nil, "registry/contents/1/aa.json", 1},
		"another format": {func(t *testing.T, w *world) { w.keep(t, "aa", map[string]any{"root": 1}) }, access.Anyone, nil, "registry/contents/1/aa.json", 1},
		"too large": {func(t *testing.T, w *world) {
			w.bucket.Upload(t, registry.ContentsKey(contents.Reader, "aa"), []byte(strings.Repeat(" ", contents.MaxDocument)+"{}"), nil)
		}, access.Anyone, nil, "at most", 1},
	} {
		w := newWorld(t)
		if name != "not there" {
			w.put(t, moduleVersion(t, "1.0.0", "aa"))
		}
		tt.prepare(t, w)
		m, err := w.Module(t.Context(), tt.caller, vpc, registrytest.Version(t, "1.0.0"))
		if err == nil || tt.err != nil && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) || m.Known || len(m.Listing) > 0 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if tt.err == nil && errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: it is taken for a version that is not there: %v", name, err)
		}
		if len(w.gets) != tt.gets {
			t.Errorf("%s: read %q", name, w.gets)
		}
	}
}

// What was found is the same as long as neither the version nor the listing changes.
func TestStored(t *testing.T) {
	w := newWorld(t)
	one := moduleVersion(t, "1.0.0", "aa")
	find := func() []byte {
		found, err := w.FindModule(t.Context(), access.Anyone, vpc, one.Version)
		if err != nil {
			t.Fatal(err)
		}
		return found.Stored()
	}
	w.put(t, one)
	first := find()
	if !slices.Equal(first, find()) {
		t.Error("nothing has changed, and what is stored differs")
	}
	w.put(t, moduleVersion(t, "1.1.0", "bb"))
	second := find()
	one.Revision, one.Standing = 2, registry.Standing{State: registry.Deprecated, Message: "use 1.1.0"}
	w.put(t, one)
	if third := find(); slices.Equal(first, second) || slices.Equal(second, third) {
		t.Errorf("%q, %q, %q", first, second, third)
	}
}

func TestProvider(t *testing.T) {
	w := newWorld(t)
	linux := registry.Platform{OS: "linux", Arch: "amd64"}
	one := &registry.ProviderVersion{
		Address: widget, Version: registrytest.Version(t, "1.0.0"), Revision: 2,
		Packages: []registry.Package{{Platform: linux, SHA256: "aa", Sequence: 1}}, Release: &registry.Release{Sequence: 2},
	}
	w.put(t, one)
	w.put(t, &registry.ProviderVersion{Address: widget, Version: registrytest.Version(t, "1.1.0"), Revision: 1, Packages: one.Packages})
	for _, v := range []registry.Version{one.Version, {}} {
		p, err := w.Provider(t.Context(), access.Anyone, widget, v)
		if err != nil || p.State.Version != one.Version || p.Known || len(p.Listing) != 1 || len(p.Contents.Problems) != 1 ||
			!strings.Contains(p.Contents.Problems[0], "terraform-provider-widget_1.0.0_docs.zip") {
			t.Errorf("%q: %+v, %v", v, p, err)
		}
		if page, err := w.ProviderPage(t.Context(), access.Anyone, widget, v, contents.Overview, "index"); !errors.Is(err, registry.ErrNotFound) || page.Markdown != "" {
			t.Errorf("%q: a page of no documentation: %+v, %v", v, page, err)
		}
	}
	for name, tt := range map[string]struct {
		caller  access.Caller
		version string
		err     error
	}{
		"nothing to serve": {access.Anyone, "1.1.0", registry.ErrNotFound},
		"not there":        {access.Anyone, "1.2.0", registry.ErrNotFound},
		"nobody":           {access.Caller{}, "1.0.0", catalog.ErrUnauthorized},
	} {
		if p, err := w.Provider(t.Context(), tt.caller, widget, registrytest.Version(t, tt.version)); !errors.Is(err, tt.err) || len(p.State.Packages) > 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if len(w.gets) > 0 {
		t.Errorf("read %q", w.gets)
	}
}

func TestList(t *testing.T) {
	w := newWorld(t)
	asked := directory.Query{Namespace: "acme", Text: "vpc"}
	if page, err := w.List(t.Context(), access.Anyone, asked); err != nil || page.Total != 7 || w.query != asked {
		t.Errorf("%+v, %v, asked %+v", page, err, w.query)
	}
	if _, err := w.List(t.Context(), access.Caller{}, asked); !errors.Is(err, catalog.ErrUnauthorized) {
		t.Errorf("nobody: %v", err)
	}
}
