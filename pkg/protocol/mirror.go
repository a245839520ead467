package protocol

import (
	"context"
	"errors"
	"fmt"
	"net/http"

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

// mirrorVersionsDocument has an empty object for each version: the protocol has
// nothing to say in it yet.
type mirrorVersionsDocument struct {
	Versions map[string]struct{} `json:"versions"`
}

func (h *handler) mirrorVersions(ctx context.Context, caller access.Caller, request Request) (response, error) {
	a := h.provider(request)
	listing, err := decoded(h.Reader.Listing(ctx, caller, a))
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return response{}, err
	}
	if errors.Is(err, catalog.ErrDenied) { // then the origin is not asked, either
		return response{}, missingProvider(request)
	}
	document := mirrorVersionsDocument{make(map[string]struct{}, len(listing))}
	for listed := range listing.Offered() {
		document.Versions[listed.Version.String()] = struct{}{}
	}
	if h.Origins != nil {
		for _, v := range h.Origins.Versions(ctx, a) {
			if listing.Find(v).Revision == 0 { // else it is in the document, or was withdrawn
				document.Versions[v.String()] = struct{}{}
			}
		}
	}
	if err != nil && len(document.Versions) == 0 {
		return response{}, missingProvider(request)
	}
	return response{status: http.StatusOK, cache: revalidate, body: encode(document)}, nil
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
	p, err := decoded(h.Reader.ProviderVersion(ctx, caller, a, request.Version))
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return response{}, err
	}
	if errors.Is(err, catalog.ErrDenied) {
		return response{}, missingVersion(request)
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
	for _, pkg := range p.Packages {
		if _, served := p.Package(pkg.Platform); !served {
			continue
		}
		key := a.PackageKey(p.Version, pkg)
		signed, err := h.Presigner.PresignGet(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("presign %s: %w", key, err)
		}
		archives[pkg.Platform.String()] = mirrorArchive{signed, hashes(pkg)}
	}
	return archives, nil
}

// addOrigins adds the packages that only the provider's origin has.
func (h *handler) addOrigins(ctx context.Context, a registry.ProviderAddress, v registry.Version, archives map[string]mirrorArchive) {
	if h.Origins == nil {
		return
	}
	has := func(platform registry.Platform) bool { _, ok := archives[platform.String()]; return ok }
	for _, offer := range h.Origins.Packages(ctx, a, v, has) {
		archives[offer.Platform.String()] = mirrorArchive{offer.URL, []string{"zh:" + offer.SHA256}}
	}
}
