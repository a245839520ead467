package browse

import (
	"context"
	"fmt"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// Provider is what is known of a version of a provider. Nobody may change it: it may be shared.
type Provider struct {
	State   registry.ProviderVersion
	Listing registry.Listing // of all versions; see [registry.Listing.Offered]

	// Contents is the index of the version's pages. If it is not known, Contents has one
	// problem, which says why.
	Contents contents.Provider
	Known    bool
}

// Page is one page of a provider's documentation.
type Page struct {
	Provider Provider
	Page     contents.Page
	Markdown string // without front matter
}

// FoundProvider is a version of a provider that a caller may read, before its document is read.
type FoundProvider struct {
	browser *Browser
	found   catalog.WithListing[*registry.ProviderVersion]
	address registry.ProviderAddress
}

// FindProvider finds what Provider answers, without its document. It reads the catalog twice.
//
// Errors: [catalog.ErrUnauthorized], [registry.ErrNotFound].
func (b *Browser) FindProvider(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (FoundProvider, error) {
	found, err := b.Catalog.ProviderWithListing(ctx, caller, a, v)
	if err != nil {
		return FoundProvider{}, err
	}
	return FoundProvider{b, found, a}, nil
}

// Stored is for a provider what [FoundModule.Stored] is for a module.
func (f FoundProvider) Stored() []byte {
	return stored(f.found.Version.Stored(), f.found.Listing.Stored())
}

// Load decodes what was found, and reads its document. A version without a package to serve is
// not there.
//
// Errors: [registry.ErrNotFound].
func (f FoundProvider) Load(ctx context.Context) (Provider, error) {
	p := Provider{State: registry.ProviderVersion{Address: f.address}}
	if err := f.found.Version.Decode(&p.State); err != nil {
		return Provider{}, err
	}
	if !p.State.Listable() {
		return Provider{}, registry.ErrNotFound
	}
	if err := decodeListing(f.found.Listing, &p.Listing); err != nil {
		return Provider{}, err
	}
	sha256 := docsSHA256(p.State)
	if sha256 == "" {
		p.Contents.Problems = []string{noDocs(p.State)}
		return p, nil
	}
	var err error
	p.Contents, p.Known, err = document(ctx, f.browser, registry.ContentsDocsKey(contents.Reader, sha256), contents.DecodeProvider)
	if err != nil {
		return Provider{}, err
	}
	if !p.Known {
		p.Contents.Problems = []string{notRead}
	}
	return p, nil
}

// Documented says whether documentation was published with the version. It may not be read yet.
func (p Provider) Documented() bool { return docsSHA256(p.State) != "" }

// Published is when the version was published, or zero if that is not known.
func (p Provider) Published() time.Time { return p.State.Published }

// Description is what the overview says of itself; "" if there is none.
func (p Provider) Description() string {
	for _, page := range p.Contents.Pages {
		if page.Category == contents.Overview {
			return page.Description
		}
	}
	return ""
}

// docsSHA256 is the hash of the archive with a version's documentation, or "" if it has none.
func docsSHA256(p registry.ProviderVersion) string {
	if p.Docs == nil {
		return ""
	}
	return p.Docs.SHA256
}

func noDocs(p registry.ProviderVersion) string {
	return fmt.Sprintf("No documentation was published with this version. Publishers upload it beside the packages, as terraform-provider-%s_%s_docs.zip.", p.Address.Type, p.Version)
}

// ProviderPage is one page of a version; of the zero version, as with Provider. It reads the
// catalog twice, and the bucket once for the page and once for the index, if it has not kept
// that.
//
// Errors: [catalog.ErrUnauthorized], [registry.ErrNotFound].
func (b *Browser) ProviderPage(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version, category contents.Category, slug string) (Page, error) {
	provider, err := b.Provider(ctx, caller, a, v)
	if err != nil {
		return Page{}, err
	}
	for _, page := range provider.Contents.Pages {
		if page.Category != category || page.Slug != slug {
			continue
		}
		text, err := b.text(ctx, registry.ContentsPagesKey(contents.Reader, docsSHA256(provider.State)), page)
		if err != nil {
			return Page{}, err
		}
		return Page{provider, page, text}, nil
	}
	return Page{}, registry.ErrNotFound
}
