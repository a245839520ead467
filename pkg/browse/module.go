package browse

import (
	"context"
	"errors"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// Module is what is known of a version of a module. Nobody may change it: it may be shared.
type Module struct {
	State   registry.ModuleVersion
	Listing registry.Listing // of all versions; see [registry.Listing.Offered]

	// Contents is what the version says of itself. If it is not known, Contents has one
	// problem, which says why.
	Contents contents.Module
	Known    bool
}

// FoundModule is a version of a module that a caller may read, before its document is read.
type FoundModule struct {
	browser *Browser
	found   catalog.WithListing[*registry.ModuleVersion]
	address registry.ModuleAddress
}

// FindModule finds what Module answers, without its document. It reads the catalog twice.
//
// Errors: [catalog.ErrUnauthorized], [registry.ErrNotFound].
func (b *Browser) FindModule(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (FoundModule, error) {
	found, err := b.Catalog.ModuleWithListing(ctx, caller, a, v)
	if err != nil {
		return FoundModule{}, err
	}
	return FoundModule{b, found, a}, nil
}

// Stored is equal for two findings of one address only if they have the same version and
// listing. So an answer that was made from a known Module is still right, for [KeptFor].
func (f FoundModule) Stored() []byte {
	return stored(f.found.Version.Stored(), f.found.Listing.Stored())
}

// Load decodes what was found, and reads its document.
//
// Errors: [registry.ErrNotFound].
func (f FoundModule) Load(ctx context.Context) (Module, error) {
	m := Module{State: registry.ModuleVersion{Address: f.address}}
	if err := f.found.Version.Decode(&m.State); err != nil {
		return Module{}, err
	}
	if err := decodeListing(f.found.Listing, &m.Listing); err != nil {
		return Module{}, err
	}
	var err error
	m.Contents, m.Known, err = document(ctx, f.browser, registry.ContentsKey(contents.Reader, m.State.Archive.SHA256), contents.DecodeModule)
	if err != nil {
		return Module{}, err
	}
	if !m.Known {
		m.Contents.Problems = []string{notRead}
	}
	return m, nil
}

// decodeListing decodes a listing that may have become empty.
func decodeListing(found catalog.Snapshot[*registry.Listing], into *registry.Listing) error {
	if err := found.Decode(into); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	return nil
}

// Published is when the version was published, or zero if that is not known.
func (m Module) Published() time.Time { return m.State.Published }

// Description is the first paragraph of the version's README; "" if it says nothing.
func (m Module) Description() string { return contents.FirstParagraph(m.Contents.Root.Readme) }
