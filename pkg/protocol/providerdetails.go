package protocol

import (
	"context"
	"slices"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/pages"
	"github.com/larder-registry/larder/pkg/registry"
)

// providerDocument describes a version of a provider: a superset of what the public registry
// says.
type providerDocument struct {
	listedProvider
	Versions    []string            `json:"versions"`
	Docs        []pageDocument      `json:"docs"`
	Deprecation *deprecatedDocument `json:"deprecation"`
	Larder      providerExtras      `json:"larder"`
}

// providerExtras is what Larder says of a provider version beyond the public registry's API.
type providerExtras struct {
	standing
	Signer     string         `json:"signer"` // "author" or "registry"
	Keys       []string       `json:"keys"`   // IDs of those that verify the signature
	Packages   []packageEntry `json:"packages"`
	Documented bool           `json:"documented"`
	Problems   []string       `json:"problems"`
	// DeprecatedVersions are those of the versions that can be chosen.
	DeprecatedVersions []string `json:"deprecated_versions"`
}

// packageEntry is a package that can be installed.
type packageEntry struct {
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	H1        string   `json:"h1"`
	SHA256    string   `json:"sha256"`
	Size      int64    `json:"size"`
	Protocols []string `json:"protocols"`
}

// pageDocument is one page of a provider, without its text.
type pageDocument struct {
	ID          string `json:"id"` // under …/docs/
	Title       string `json:"title"`
	Path        string `json:"path"` // in the archive
	Slug        string `json:"slug"`
	Category    string `json:"category"`
	Subcategory string `json:"subcategory"`
	Description string `json:"description"`
	Language    string `json:"language"`
}

func newPage(p contents.Page) pageDocument {
	return pageDocument{
		ID: string(p.Category) + "/" + p.Slug, Title: p.Title, Path: p.Path, Slug: p.Slug, Category: string(p.Category),
		Subcategory: p.Subcategory, Description: p.Description, Language: "hcl",
	}
}

func (h *handler) providerDetails(ctx context.Context, caller access.Caller, request Request) (response, error) {
	answer, err := h.ofProvider(ctx, caller, request, func(p browse.Provider) any { return newProviderDocument(p) })
	if err != nil {
		return response{}, err
	}
	return detailed(answer.document), nil
}

// pagesDocument is the index of a version's documentation.
type pagesDocument struct {
	ID     string         `json:"id"`
	Docs   []pageDocument `json:"docs"`
	Larder pagesExtras    `json:"larder"`
}

type pagesExtras struct {
	Documented bool     `json:"documented"`
	Problems   []string `json:"problems"`
}

func (h *handler) providerPages(ctx context.Context, caller access.Caller, request Request) (response, error) {
	return h.ofProvider(ctx, caller, request, func(p browse.Provider) any {
		return pagesDocument{
			ID: p.State.Address.String() + "/" + p.State.Version.String(), Docs: each(p.Contents.Pages, newPage),
			Larder: pagesExtras{p.Known, append([]string{}, p.Contents.Problems...)},
		}
	})
}

// newProviderDetails is a version as it was asked for.
func newProviderDetails(p browse.Provider, request Request, from func(browse.Provider) any) *document {
	if request.Markdown {
		return newMarkdown(pages.Provider{Host: request.Host, Provider: p}.Markdown())
	}
	body := encode(from(p))
	if len(body) > maxDetails {
		body = encode(from(withoutDescriptions(p)))
	}
	return newDocument(body)
}

// ofProvider answers with what a version of a provider says of itself.
func (h *handler) ofProvider(ctx context.Context, caller access.Caller, request Request, from func(browse.Provider) any) (response, error) {
	found, err := h.Browser.FindProvider(ctx, caller, request.Provider, request.Version)
	if err != nil {
		return response{}, missingProviderVersion(err, request)
	}
	stored := found.Stored()
	if d, ok := h.kept.get(request, stored).(*document); ok {
		return whole(d), nil
	}
	p, err := found.Load(ctx)
	if err != nil {
		return response{}, missingProviderVersion(err, request)
	}
	d := newProviderDetails(p, request, from)
	if p.Known || !p.Documented() { // else its documentation may be read soon
		h.kept.putDetails(request, stored, d)
	}
	return whole(d), nil
}

// withoutDescriptions leaves out what makes an index long, and says so.
func withoutDescriptions(p browse.Provider) browse.Provider {
	p.Contents.Pages = each(p.Contents.Pages, func(page contents.Page) contents.Page {
		page.Description = ""
		return page
	})
	p.Contents.Problems = append(slices.Clone(p.Contents.Problems), "The descriptions of the pages are left out here: the answer would be too long.")
	return p
}

func missingProviderVersion(err error, request Request) error {
	if request.Version == (registry.Version{}) {
		return orMissing(err, "there is no provider %s", request.Provider)
	}
	return orMissing(err, "provider %s has no version %s", request.Provider, request.Version)
}

// pageText is one page of a provider with its text.
type pageText struct {
	pageDocument
	Content string `json:"content"` // Markdown
}

// providerPage reads the page each time: one page is seldom asked for twice.
func (h *handler) providerPage(ctx context.Context, caller access.Caller, request Request) (response, error) {
	page, err := h.Browser.ProviderPage(ctx, caller, request.Provider, request.Version, request.Category, request.Slug)
	if err != nil {
		return response{}, orMissing(err, "provider %s has no version %s with a page %s/%s", request.Provider, request.Version, request.Category, request.Slug)
	}
	if request.Markdown {
		of := pages.Provider{Host: request.Host, Provider: page.Provider}
		return detailed(newMarkdown(of.Page(page.Page, page.Markdown))), nil
	}
	return detailed(newDocument(encode(pageText{newPage(page.Page), page.Markdown}))), nil
}

func newProviderDocument(p browse.Provider) providerDocument {
	a, state := p.State.Address, p.State
	d := providerDocument{
		listedProvider: newListedProvider(a, state.Version, state.Source(), p.Description(), p.Published()),
		Versions:       offered(p.Listing),
		Docs:           each(p.Contents.Pages, newPage),
		Deprecation:    newDeprecation(state.Standing),
		Larder: providerExtras{
			standing: newStanding(state.Standing), Signer: "registry", Keys: []string{}, Packages: []packageEntry{},
			Documented: p.Known, Problems: append([]string{}, p.Contents.Problems...), DeprecatedVersions: deprecated(p.Listing),
		},
	}
	if state.Release != nil {
		if state.Release.Author {
			d.Larder.Signer = "author"
		}
		d.Larder.Keys = each(state.Release.Keys, func(k registry.SigningKey) string { return k.KeyID })
	}
	for pkg := range state.Served() {
		d.Larder.Packages = append(d.Larder.Packages, packageEntry{
			pkg.Platform.OS, pkg.Platform.Arch, pkg.H1, pkg.SHA256, pkg.Size, state.Protocols(pkg),
		})
	}
	return d
}
