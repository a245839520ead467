package protocol

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/larder-registry/larder/internal/jsonstring"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// Origins is what other registries have of the providers that the mirror pulls through.
// For other providers, and when a registry cannot be asked, all of it is empty.
type Origins interface {
	// Versions is all versions that the origin of a provider has.
	Versions(ctx context.Context, a registry.ProviderAddress) []registry.Version

	// Packages is the packages of a version that the origin has for platforms that
	// the mirror does not have.
	Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, has func(registry.Platform) bool) []Offer
}

// Offer is a package at its origin.
type Offer struct {
	Platform registry.Platform
	URL      string // absolute
	SHA256   string // lower-case hex, as the origin has signed it
}

func (h *handler) mirrorVersions(ctx context.Context, caller access.Caller, request Request) (response, error) {
	a := h.provider(request)
	found, err := h.Reader.Listing(ctx, caller, a)
	if h.Origins != nil && !errors.Is(err, catalog.ErrDenied) {
		return h.versionsWithOrigin(ctx, request, a, found, err)
	}
	versions, err := made(h.kept, request, found, err, func(listing registry.Listing) (*document, error) {
		return newDocument(mirrorVersionsBody(offered(listing))), nil
	})
	if err != nil {
		return response{}, orMissing(err, "there is no provider %s", request.Provider)
	}
	return whole(versions), nil
}

// versionsWithOrigin adds what the provider's origin has.
func (h *handler) versionsWithOrigin(ctx context.Context, request Request, a registry.ProviderAddress, found catalog.Snapshot[*registry.Listing], err error) (response, error) {
	listing, err := decoded(found, err)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return response{}, err
	}
	versions := offered(listing)
	for _, v := range h.Origins.Versions(ctx, a) {
		if listing.Find(v).Revision == 0 { // else it is among the versions, or was withdrawn
			versions = append(versions, v.String())
		}
	}
	if err != nil && len(versions) == 0 {
		return response{}, missingProvider(request)
	}
	return whole(newDocument(mirrorVersionsBody(versions))), nil
}

// offered is the versions of a listing that may be chosen.
func offered(listing registry.Listing) []string {
	versions := make([]string, 0, len(listing))
	for listed := range listing.Offered() {
		versions = append(versions, listed.Version.String())
	}
	return versions
}

// deprecated is those of them that are deprecated.
func deprecated(listing registry.Listing) []string {
	versions := []string{}
	for listed := range listing.Offered() {
		if listed.Standing.State == registry.Deprecated {
			versions = append(versions, listed.Version.String())
		}
	}
	return versions
}

// mirrorVersionsBody has an empty object for each version, in the order of the texts:
// the protocol has nothing to say in it yet.
func mirrorVersionsBody(versions []string) []byte {
	slices.Sort(versions)
	b := append(make([]byte, 0, 64+24*len(versions)), `{"versions":{`...)
	for i, v := range slices.Compact(versions) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonstring.Append(b, v), ":{}"...)
	}
	return append(b, "}}\n"...)
}

func missingProvider(request Request) error {
	return refuse(registry.ErrNotFound, "there is no provider %s", request.Provider)
}

// provider is the provider that a request to the mirror asks for. Under the registry's
// own hostname these are its own providers.
func (h *handler) provider(request Request) registry.ProviderAddress {
	a := request.Provider
	if a.Hostname == h.Hostname {
		a.Hostname = ""
	}
	return a
}

// mirrorVersionDocument has each archive by its platform.
type mirrorVersionDocument struct {
	Archives map[string]mirrorArchive `json:"archives"`
}

// mirrorArchive has both kinds of hashes; of a package that is still at its origin only
// the zh. The clients accept an archive if one of them fits. OpenTofu locks both,
// Terraform the h1. Each finds the hashes that it compares in a lock file of a direct
// installation.
type mirrorArchive struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
}

func (h *handler) mirrorVersion(ctx context.Context, caller access.Caller, request Request) (response, error) {
	a := h.provider(request)
	found, err := h.Reader.ProviderVersion(ctx, caller, a, request.Version)
	if h.Origins != nil && !errors.Is(err, catalog.ErrDenied) {
		return h.versionWithOrigin(ctx, request, a, found, err)
	}
	document, err := made(h.kept, request, found, err, func(p registry.ProviderVersion) (*template, error) {
		return mirrorTemplate(a, p)
	})
	if err != nil {
		return response{}, orMissing(err, "there is no version %s of %s", request.Version, request.Provider)
	}
	return h.filled(ctx, document)
}

// mirrorTemplate is the [mirrorVersionDocument] of a version that the mirror has, or an
// error if it has no package to serve.
func mirrorTemplate(a registry.ProviderAddress, p registry.ProviderVersion) (*template, error) {
	var t template
	piece := []byte(`{"archives":{`)
	for pkg := range p.Served() {
		piece = jsonstring.Append(piece, pkg.Platform.String())
		t.until(append(piece, `:{"url":`...), a.PackageKey(p.Version, pkg))
		piece = append(appendStrings([]byte(`,"hashes":`), hashes(pkg)), "},"...)
	}
	if len(t.keys) == 0 {
		return nil, registry.ErrNotFound
	}
	t.end(append(piece[:len(piece)-1], "}}\n"...))
	return &t, nil
}

// versionWithOrigin adds the packages that only the provider's origin has.
func (h *handler) versionWithOrigin(ctx context.Context, request Request, a registry.ProviderAddress, found catalog.Snapshot[*registry.ProviderVersion], err error) (response, error) {
	p, err := decoded(found, err)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return response{}, err
	}
	archives, failed := h.archives(ctx, a, p)
	if failed != nil {
		return response{}, failed
	}
	// An origin's version that the index leaves out is not offered here, either.
	if p.Standing.State != registry.Withdrawn && !errors.Is(err, catalog.ErrOtherBuild) {
		h.addOrigins(ctx, a, request.Version, archives)
	}
	if len(archives) == 0 { // in the same words: a version without packages to serve is not there
		return response{}, missingVersion(request)
	}
	return response{status: http.StatusOK, cache: noStore, body: encode(mirrorVersionDocument{archives})}, nil
}

func missingVersion(request Request) error {
	return refuse(registry.ErrNotFound, "there is no version %s of %s", request.Version, request.Provider)
}

// archives is the packages of a version that the mirror has.
func (h *handler) archives(ctx context.Context, a registry.ProviderAddress, p registry.ProviderVersion) (map[string]mirrorArchive, error) {
	archives := make(map[string]mirrorArchive, len(p.Packages))
	for pkg := range p.Served() {
		signed, err := presign(ctx, h.Presigner, a.PackageKey(p.Version, pkg))
		if err != nil {
			return nil, err
		}
		archives[pkg.Platform.String()] = mirrorArchive{signed, hashes(pkg)}
	}
	return archives, nil
}

// addOrigins adds the packages that only the provider's origin has.
func (h *handler) addOrigins(ctx context.Context, a registry.ProviderAddress, v registry.Version, archives map[string]mirrorArchive) {
	has := func(platform registry.Platform) bool { _, ok := archives[platform.String()]; return ok }
	for _, offer := range h.Origins.Packages(ctx, a, v, has) {
		archives[offer.Platform.String()] = mirrorArchive{offer.URL, []string{"zh:" + offer.SHA256}}
	}
}
