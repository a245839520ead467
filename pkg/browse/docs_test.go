package browse_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// documented puts a version of the widget whose documentation has the hash "dd".
func (w *world) documented(t *testing.T) *registry.ProviderVersion {
	t.Helper()
	s := &registry.ProviderVersion{
		Address: widget, Version: registrytest.Version(t, "1.0.0"), Revision: 3, Docs: &registry.Docs{SHA256: "dd", Size: 1},
		Packages: []registry.Package{{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, SHA256: "aa", Sequence: 1}}, Release: &registry.Release{Sequence: 2},
	}
	w.put(t, s)
	return s
}

// The pages of a provider are those of its documentation, and not what a module says that has the
// same bytes. A page is read alone.
func TestProviderPages(t *testing.T) {
	const texts = "# Overview\n# widget_frame\n"
	w := newWorld(t)
	s := w.documented(t)
	p, err := w.Provider(t.Context(), access.Anyone, widget, s.Version)
	if err != nil || p.Known || len(p.Contents.Problems) != 1 || strings.Contains(p.Contents.Problems[0], "_docs.zip") {
		t.Errorf("before it is read: %+v, %v", p, err)
	}
	w.keep(t, "dd", contents.Module{Root: contents.Part{Readme: "# A module"}})
	if p, err := w.Provider(t.Context(), access.Anyone, widget, s.Version); err != nil || p.Known {
		t.Errorf("with the document of a module: %+v, %v", p, err)
	}
	document, err := json.Marshal(contents.Provider{Pages: []contents.Page{
		{Category: contents.Overview, Slug: "index", Path: "docs/index.md", Length: 11},
		{Category: contents.Resources, Slug: "frame", Path: "docs/resources/frame.md", Offset: 11, Length: 15},
		{Category: contents.Resources, Slug: "lost", Path: "docs/resources/lost.md", Offset: 26, Length: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.bucket.Upload(t, registry.ContentsDocsKey(contents.Reader, "dd"), document, nil)
	w.bucket.Upload(t, registry.ContentsPagesKey(contents.Reader, "dd"), []byte(texts), nil)
	if p, err := w.Provider(t.Context(), access.Anyone, widget, s.Version); err != nil || !p.Known || len(p.Contents.Pages) != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	for slug, want := range map[string]string{"index": "# Overview\n", "frame": "# widget_frame\n"} {
		category := map[string]contents.Category{"index": contents.Overview, "frame": contents.Resources}[slug]
		if page, err := w.ProviderPage(t.Context(), access.Anyone, widget, s.Version, category, slug); err != nil || page.Markdown != want {
			t.Errorf("%s: %+v, %v", slug, page, err)
		}
	}
	if page, err := w.ProviderPage(t.Context(), access.Anyone, widget, s.Version, contents.Resources, "lost"); err == nil || errors.Is(err, registry.ErrNotFound) {
		t.Errorf("a page beyond the texts: %+v, %v", page, err)
	}
	if page, err := w.ProviderPage(t.Context(), access.Anyone, widget, s.Version, contents.Guides, "frame"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("of another category: %+v, %v", page, err)
	}
	before := slices.Clone(w.gets)
	if page, err := w.ProviderPage(t.Context(), access.Caller{}, widget, s.Version, contents.Overview, "index"); !errors.Is(err, catalog.ErrUnauthorized) || page.Markdown != "" || !slices.Equal(w.gets, before) {
		t.Errorf("nobody: %+v, %v, read %q", page, err, w.gets)
	}
}
