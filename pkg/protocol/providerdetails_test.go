package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// pageBucket is a bucket with the documentation of a provider.
type pageBucket struct {
	index contents.Provider
	texts string
	err   error // of the index
	gone  error // of the texts
	gets  []string
}

func (p *pageBucket) Get(_ context.Context, key string, offset, length int64) ([]byte, error) {
	p.gets = append(p.gets, fmt.Sprintf("%s %d", key, offset))
	switch key {
	case registry.ContentsDocsKey(contents.Reader, "d0c5"):
		body, err := json.Marshal(p.index)
		return body, errors.Join(err, p.err)
	case registry.ContentsPagesKey(contents.Reader, "d0c5"):
		if p.gone != nil || offset >= int64(len(p.texts)) {
			return nil, p.gone
		}
		return []byte(p.texts[offset:min(int64(len(p.texts)), offset+length)]), nil
	}
	return nil, registry.ErrNotFound
}

func newPages() *pageBucket {
	return &pageBucket{
		index: contents.Provider{
			Pages: []contents.Page{
				{Category: contents.Overview, Slug: "index", Title: "Widget", Description: "Widgets as code.", Path: "docs/index.md", Offset: 0, Length: 8},
				{Category: contents.Resources, Slug: "widget_box", Title: "widget_box", Subcategory: "Boxes", Path: "docs/resources/box.md", Offset: 8, Length: 9},
				{Category: contents.Guides, Slug: "empty", Title: "empty", Path: "docs/guides/empty.md", Offset: 17},
				{Category: contents.Guides, Slug: "lost", Title: "lost", Path: "docs/guides/lost.md", Offset: 17, Length: 5},
			},
			Problems: []string{"docs/guides/old.md: it is too long."},
		},
		texts: "# Widget# Box\n<é>"[:17],
	}
}

// documented is a memory whose provider has documentation.
func documentedProvider(t *testing.T) *memory {
	m := newMemory(t)
	m.provider.Docs = &registry.Docs{SHA256: "d0c5", Size: 1}
	m.providerVersions[0].Standing = registry.Standing{State: registry.Deprecated}
	m.provider.Published = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	return m
}

const (
	overviewPage = `{"id": "overview/index", "title": "Widget", "path": "docs/index.md", "slug": "index", "category": "overview", "subcategory": "", "description": "Widgets as code.", "language": "hcl"`
	boxPage      = `{"id": "resources/widget_box", "title": "widget_box", "path": "docs/resources/box.md", "slug": "widget_box", "category": "resources", "subcategory": "Boxes", "description": "", "language": "hcl"`
	emptyPage    = `{"id": "guides/empty", "title": "empty", "path": "docs/guides/empty.md", "slug": "empty", "category": "guides", "subcategory": "", "description": "", "language": "hcl"`
	lostPage     = `{"id": "guides/lost", "title": "lost", "path": "docs/guides/lost.md", "slug": "lost", "category": "guides", "subcategory": "", "description": "", "language": "hcl"`
	allPages     = overviewPage + "}," + boxPage + "}," + emptyPage + "}," + lostPage + "}"
)

// The details of a provider and its pages, to the letter.
func TestProviderDetails(t *testing.T) {
	const path = "/v1/providers/acme/widget"
	bucket := newPages()
	config := open(documentedProvider(t))
	config.Browser.Documents = bucket
	h := New(config)
	details := `{
		"id": "acme/widget/1.0.0", "owner": "acme", "namespace": "acme", "name": "widget", "version": "1.0.0", "description": "Widgets as code.", "source": "",
		"tag": "", "published_at": "2026-11-23T02:00:00Z", "downloads": 0, "versions": ["0.9.0", "1.0.0"], "docs": [` + allPages + `], "deprecation": null,
		"larder": {
			"status": "listed", "signer": "registry", "keys": ["51852D87348FFC4C"],
			"packages": [{"os": "linux", "arch": "amd64", "h1": "h1:c0ffee=", "sha256": "b2d6f7", "size": 251, "protocols": ["5.3", "6.1"]}],
			"documented": true, "problems": ["docs/guides/old.md: it is too long."], "deprecated_versions": ["0.9.0"]
		}
	}`
	for suffix, want := range map[string]string{
		"": details, "/1.0.0": details,
		"/1.0.0/docs":                      `{"id": "acme/widget/1.0.0", "docs": [` + allPages + `], "larder": {"documented": true, "problems": ["docs/guides/old.md: it is too long."]}}`,
		"/1.0.0/docs/overview/index":       overviewPage + `, "content": "# Widget"}`,
		"/1.0.0/docs/resources/widget_box": boxPage + `, "content": "# Box\n<é"}`,
		"/1.0.0/docs/guides/empty":         emptyPage + `, "content": ""}`,
	} {
		if r := ask(t, h, "GET", path+suffix); r.StatusCode != 200 {
			t.Errorf("%s: %d %s", suffix, r.StatusCode, body(t, r))
		} else if got := body(t, r); got != compact(t, want) {
			t.Errorf("%s:\n%s, want\n%s", suffix, got, compact(t, want))
		}
	}
	for _, missing := range []string{"guides/none", "index/overview", "resources/index", "Guides/empty"} {
		expectError(t, missing, ask(t, h, "GET", path+"/1.0.0/docs/"+missing), http.StatusNotFound, "provider acme/widget has no version 1.0.0 with a page "+missing)
	}
}

// A page is one read beside its index, which is kept. Texts that are missing are a failure, and
// no page that is not there.
func TestProviderPageReads(t *testing.T) {
	bucket := newPages()
	config := open(documentedProvider(t))
	config.Browser.Documents = bucket
	h := New(config)
	const page = "/v1/providers/acme/widget/1.0.0/docs/resources/widget_box"
	for _, want := range []int{2, 1, 1} {
		bucket.gets = nil
		if r := ask(t, h, "GET", page); r.StatusCode != 200 || len(bucket.gets) != want {
			t.Errorf("%d after %q", r.StatusCode, bucket.gets)
		}
	}
	expectError(t, "cut off", ask(t, h, "GET", "/v1/providers/acme/widget/1.0.0/docs/guides/lost"), http.StatusInternalServerError, "internal error")
	for _, err := range []error{registry.ErrNotFound, errors.New("slow down")} {
		bucket.gone = err
		expectError(t, err.Error(), ask(t, h, "GET", page), http.StatusInternalServerError, "internal error")
	}
	broken := newPages()
	broken.err = errors.New("slow down")
	config = open(documentedProvider(t))
	config.Browser.Documents = broken
	for _, path := range []string{page, everyRoute[9], everyRoute[12], everyRoute[13]} {
		expectError(t, path, ask(t, New(config), "GET", path), http.StatusInternalServerError, "internal error")
	}
}

// An author's release says so, and documentation that was not read yet is said.
func TestProviderDetailsBeforeReading(t *testing.T) {
	m := documentedProvider(t)
	release := *m.provider.Release
	release.Author = true
	m.provider.Release, m.provider.Standing = &release, registry.Standing{State: registry.Deprecated, Message: "use gadget"}
	config := open(m)
	config.Browser.Documents = &documents{err: registry.ErrNotFound}
	h := New(config)
	var got providerDocument
	if err := json.Unmarshal([]byte(body(t, ask(t, h, "GET", everyRoute[9]))), &got); err != nil || got.Larder.Documented || got.Larder.Signer != "author" ||
		got.Deprecation == nil || got.Deprecation.Reason != "use gadget" || got.Larder.Status != "deprecated" || len(got.Larder.Packages) != 2 ||
		len(got.Larder.Problems) != 1 || !strings.Contains(got.Larder.Problems[0], "was not read yet") {
		t.Errorf("%v, %+v", err, got)
	}
	if entries, _ := keeping(h); entries != 0 {
		t.Errorf("%d answers are kept", entries)
	}
}
