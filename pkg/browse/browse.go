// Package browse answers what people, editors and assistants ask of a registry: what there is,
// and what a version of a module or a provider says of itself. It knows nothing of HTTP, so all
// that shows a registry answers from the same place: the API, pages, Markdown.
//
// Everything has a caller. The catalog decides first: what the caller may not read is the same
// as what is not there, and the bucket is not asked for it.
package browse

import (
	"context"
	"time"

	"github.com/larder-registry/larder/internal/sizedlru"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// Catalog has the versions. It is a [catalog.Reader].
type Catalog interface {
	// ModuleWithListing is a version of a module with the module's listing; of the zero
	// version, the one that [registry.Listing.Shown] says.
	//
	// Errors: [catalog.ErrUnauthorized], [registry.ErrNotFound].
	ModuleWithListing(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (catalog.WithListing[*registry.ModuleVersion], error)

	// ProviderWithListing is the same for a provider.
	ProviderWithListing(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (catalog.WithListing[*registry.ProviderVersion], error)
}

// Directory lists and finds. It is a [directory.View].
type Directory interface {
	// List is the part of a query's answer that the caller may read.
	//
	// Errors: [catalog.ErrUnauthorized].
	List(ctx context.Context, caller access.Caller, q directory.Query) (directory.Page, error)
}

// Documents reads the documents that were made of archives.
type Documents interface {
	// Get is at most length bytes of an object, from an offset on; fewer if it ends before.
	//
	// Errors: [registry.ErrNotFound].
	Get(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

// Config is what a browser works with. All of it is required.
type Config struct {
	Catalog   Catalog
	Directory Directory
	Documents Documents
}

// Browser answers. It is safe for concurrent use.
type Browser struct {
	Config
	documents *sizedlru.Cache[string, keptDocument] // by their keys
}

// KeptFor is how long a document is kept. What is under a key changes seldom: if an operator has
// archives read again, since a reader had been stopped, or a document was damaged.
const KeptFor = time.Minute

// keptDocument is a document, and when it was read by the wall clock: the other one may stop while
// a function of Lambda is frozen.
type keptDocument struct {
	body []byte
	read time.Time
}

// fresh says whether the document may still be used. It was not read in the future, unless the
// clock was set back.
func (d keptDocument) fresh() bool {
	age := time.Now().Round(0).Sub(d.read)
	return 0 <= age && age < KeptFor
}

// documentsRoom is how many bytes of documents are kept. The largest of them takes an eighth.
const documentsRoom = 8 * (contents.MaxDocument + 1<<10)

// New makes a browser. It sends no request.
func New(c Config) *Browser {
	return &Browser{c, sizedlru.New[string, keptDocument](documentsRoom)}
}

// List is what there is, or what is found, as far as the caller may read it. It asks the
// directory once.
//
// Errors: [catalog.ErrUnauthorized].
func (b *Browser) List(ctx context.Context, caller access.Caller, q directory.Query) (directory.Page, error) {
	return b.Directory.List(ctx, caller, q)
}

// Module is a version of a module; of the zero version the newest, or if all are pre-releases,
// the highest. It reads the catalog twice, and the bucket once if it has not kept the document.
//
// Errors: [catalog.ErrUnauthorized], [registry.ErrNotFound].
func (b *Browser) Module(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (Module, error) {
	found, err := b.FindModule(ctx, caller, a, v)
	if err != nil {
		return Module{}, err
	}
	return found.Load(ctx)
}

// Provider is for a provider what Module is for a module.
//
// Errors: [catalog.ErrUnauthorized], [registry.ErrNotFound].
func (b *Browser) Provider(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (Provider, error) {
	found, err := b.FindProvider(ctx, caller, a, v)
	if err != nil {
		return Provider{}, err
	}
	return found.Load(ctx)
}
