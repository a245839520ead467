package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/contents/store"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// pagesReader reads the same pages of any documentation.
type pagesReader struct {
	pages []contents.Page
	texts string
	fails error
}

func (r pagesReader) Module(context.Context, io.ReaderAt, int64, string) (contents.Module, error) {
	return contents.Module{Root: contents.Part{Readme: "A module."}}, r.fails
}

func (r pagesReader) Provider(context.Context, io.ReaderAt, int64) (contents.Provider, []byte, error) {
	return contents.Provider{Pages: r.pages}, []byte(r.texts), r.fails
}

// Provider implements [store.Reader].
func (e echo) Provider(_ context.Context, archive io.ReaderAt, size int64) (contents.Provider, []byte, error) {
	texts := make([]byte, size)
	_, err := archive.ReadAt(texts, 0)
	return contents.Provider{}, texts, errors.Join(e.err, err)
}

// documentation is that of the provider below, which is nothing that could be read.
const documentation = "a zip"

func documented(t *testing.T) *registry.ProviderVersion {
	t.Helper()
	return &registry.ProviderVersion{
		Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}, Version: registrytest.Version(t, "1.0.0"), Revision: 1,
		Docs: &registry.Docs{SHA256: blob.SHA256([]byte(documentation)), Size: int64(len(documentation))},
	}
}

var widgetPages = []contents.Page{
	{Category: contents.Overview, Slug: "index", Path: "docs/index.md", Offset: 15, Length: 29},
	{Category: contents.Resources, Slug: "frame", Path: "docs/resources/frame.md", Length: 15},
	{Category: contents.DataSources, Slug: "frame", Path: "docs/data-sources/frame.md", Length: 15},
}

const widgetTexts = "# widget_frame\n# Widgets\n\nThey *do* widgets.\n"

// What is read of a provider's documentation is its document and the texts of its pages, and they
// are made again from the zip in the bucket.
func TestKeepProvider(t *testing.T) {
	bucket, s := blobtest.NewMemory(), documented(t)
	documents := store.New(store.Config{Bucket: bucket, Scratch: t.TempDir(), Reader: pagesReader{pages: widgetPages, texts: widgetTexts}})
	if lacks, err := documents.Lacks(t.Context(), s); err != nil || !lacks {
		t.Errorf("it lacks nothing: %v", err)
	}
	if err := documents.Make(t.Context(), s); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("without the zip: %v", err)
	}
	bucket.Upload(t, s.Address.DocsKey(s.Version, *s.Docs), []byte(documentation), nil)
	if err := documents.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if lacks, err := documents.Lacks(t.Context(), s); err != nil || lacks {
		t.Errorf("it lacks its document: %v", err)
	}
	if got := read(t, bucket, registry.ContentsPagesKey(contents.Reader, s.Docs.SHA256)); string(got) != widgetTexts {
		t.Errorf("the texts are %q", got)
	}
	document, err := documents.Document(t.Context(), s)
	if err != nil || !bytes.Equal(document, read(t, bucket, registry.ContentsDocsKey(contents.Reader, s.Docs.SHA256))) {
		t.Errorf("the document is %q, %v", document, err)
	}
	if p, err := contents.DecodeProvider(document); err != nil || !slices.Equal(p.Pages, widgetPages) {
		t.Errorf("the document is %+v, %v", p, err)
	}
	without := *s
	without.Docs = nil
	if lacks, err := documents.Lacks(t.Context(), &without); err != nil || lacks {
		t.Errorf("a version without documentation lacks it: %v", err)
	}
	if err := errors.Join(documents.Make(t.Context(), &without), documents.Keep(t.Context(), &without, strings.NewReader(documentation))); err != nil {
		t.Error(err)
	}
}

// The same bytes as a module and as documentation have two documents.
func TestAModuleAndDocumentationWithTheSameBytes(t *testing.T) {
	bucket, s := blobtest.NewMemory(), documented(t)
	documents := store.New(store.Config{Bucket: bucket, Scratch: t.TempDir(), Reader: pagesReader{pages: widgetPages, texts: widgetTexts}})
	module := &registry.ModuleVersion{
		Address: registry.ModuleAddress{Namespace: "other", Name: "vpc", System: "aws"}, Version: s.Version, Revision: 1,
		Archive: registry.ModuleArchive{Format: "zip", SHA256: s.Docs.SHA256, Size: s.Docs.Size},
	}
	if err := documents.Keep(t.Context(), module, strings.NewReader(documentation)); err != nil {
		t.Fatal(err)
	}
	if lacks, err := documents.Lacks(t.Context(), s); err != nil || !lacks {
		t.Errorf("the document of the module is taken for that of the provider: %v", err)
	}
}

// A storage that fails is an error, and no document is there without its texts.
func TestKeepProviderFails(t *testing.T) {
	broken := errors.New("broken")
	s := documented(t)
	for _, failing := range []string{registry.ContentsPagesKey(contents.Reader, s.Docs.SHA256), registry.ContentsDocsKey(contents.Reader, s.Docs.SHA256)} {
		bucket := blobtest.NewMemory()
		documents := store.New(store.Config{Bucket: failingPut{bucket, failing, broken}, Scratch: t.TempDir(), Reader: pagesReader{texts: widgetTexts}})
		if err := documents.Keep(t.Context(), s, strings.NewReader(documentation)); !errors.Is(err, broken) {
			t.Errorf("%s: %v", failing, err)
		}
		if lacks, err := documents.Lacks(t.Context(), s); err != nil || !lacks {
			t.Errorf("%s: it lacks nothing, %v", failing, err)
		}
	}
	bucket := blobtest.NewMemory()
	documents := store.New(store.Config{Bucket: bucket, Scratch: t.TempDir(), Reader: pagesReader{fails: broken}})
	if err := documents.Keep(t.Context(), s, strings.NewReader(documentation)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

type failingPut struct {
	*blobtest.Memory
	key string
	err error
}

func (f failingPut) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	if key == f.key {
		return f.err
	}
	return f.Memory.Put(ctx, key, body, size)
}

// A document is compared with the documentation, and its texts with that.
func TestMatchesProvider(t *testing.T) {
	bucket, s := blobtest.NewMemory(), documented(t)
	documents := store.New(store.Config{Bucket: bucket, Scratch: t.TempDir(), Reader: pagesReader{pages: widgetPages, texts: widgetTexts}})
	if err := documents.Keep(t.Context(), s, strings.NewReader(documentation)); err != nil {
		t.Fatal(err)
	}
	document, err := documents.Document(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	pages := registry.ContentsPagesKey(contents.Reader, s.Docs.SHA256)
	for _, test := range []struct {
		name     string
		document []byte
		texts    string // "" for none
		want     bool
	}{
		{"both", document, widgetTexts, true},
		{"another document", append(slices.Clone(document), ' '), widgetTexts, false},
		{"other texts", document, strings.ToUpper(widgetTexts), false},
		{"no texts", document, "", false},
	} {
		if bucket.Upload(t, pages, []byte(test.texts), nil); test.texts == "" {
			bucket.Delete(t, pages)
		}
		if same, err := documents.Matches(t.Context(), s, strings.NewReader(documentation), test.document); err != nil || same != test.want {
			t.Errorf("%s: %v, %v", test.name, same, err)
		}
	}
}

// A provider is described by its overview: by what its author says of that, or by how it begins.
func TestDescribeProvider(t *testing.T) {
	said := slices.Clone(widgetPages)
	said[0].Description = "Widgets of\n  **all** kinds."
	far := slices.Clone(widgetPages)
	far[0].Offset = 1 << 20
	names := []string{"frame"}
	for _, test := range []struct {
		name string
		read pagesReader
		want directory.Description
	}{
		{"how it begins", pagesReader{pages: widgetPages, texts: widgetTexts}, directory.Description{Text: "They do widgets.", Resources: names}},
		{"what is said of it", pagesReader{pages: said, texts: widgetTexts}, directory.Description{Text: "Widgets of all kinds.", Resources: names}},
		{"no overview", pagesReader{pages: widgetPages[1:], texts: widgetTexts}, directory.Description{Resources: names}},
		{"an overview that is not there", pagesReader{pages: far, texts: widgetTexts}, directory.Description{Resources: names}},
		{"nothing", pagesReader{}, directory.Description{}},
	} {
		bucket, s := blobtest.NewMemory(), documented(t)
		documents := store.New(store.Config{Bucket: bucket, Scratch: t.TempDir(), Reader: test.read})
		if got, err := documents.Describe(t.Context(), s); err != nil || !sameDescription(got, directory.Description{}) {
			t.Errorf("%s, before it is read: %+v, %v", test.name, got, err)
		}
		if err := documents.Keep(t.Context(), s, strings.NewReader(documentation)); err != nil {
			t.Fatal(err)
		}
		if got, err := documents.Describe(t.Context(), s); err != nil || !sameDescription(got, test.want) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
		bucket.Delete(t, registry.ContentsPagesKey(contents.Reader, s.Docs.SHA256))
		if got, err := documents.Describe(t.Context(), s); err != nil || !slices.Equal(got.Resources, test.want.Resources) {
			t.Errorf("%s, without texts: %+v, %v", test.name, got, err)
		}
		bucket.Upload(t, registry.ContentsDocsKey(contents.Reader, s.Docs.SHA256), []byte("{"), nil)
		if got, err := documents.Describe(t.Context(), s); err != nil || !sameDescription(got, directory.Description{}) {
			t.Errorf("%s, with a document that is none: %+v, %v", test.name, got, err)
		}
	}
}

func sameDescription(a, b directory.Description) bool {
	return a.Text == b.Text && slices.Equal(a.Inputs, b.Inputs) && slices.Equal(a.Outputs, b.Outputs) && slices.Equal(a.Resources, b.Resources)
}

func read(t *testing.T, bucket blob.Bucket, key string) []byte {
	t.Helper()
	data, _, err := blob.Read(t.Context(), bucket, key, "", contents.MaxTexts)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
