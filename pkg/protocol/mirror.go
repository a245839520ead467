package protocol

import (
	"context"
	"fmt"
	"net/http"

	"github.com/larder-registry/larder/pkg/registry"
)

// mirrorVersionsDocument has an empty object for each version: the protocol has
// nothing to say in it yet.
type mirrorVersionsDocument struct {
	Versions map[string]struct{} `json:"versions"`
}

func (h *handler) mirrorVersions(ctx context.Context, caller registry.Caller, request Request) (response, error) {
	listing, err := h.Reader.ProviderVersions(ctx, caller, h.provider(request))
	if err != nil {
		return response{}, orMissing(err, "there is no provider %s", request.Provider)
	}
	document := mirrorVersionsDocument{make(map[string]struct{}, len(listing))}
	for listed := range listing.Offered() {
		document.Versions[listed.Version.String()] = struct{}{}
	}
	return response{status: http.StatusOK, cache: revalidate, body: encode(document)}, nil
}

// provider is what a request to the mirror is about: the registry's own
// providers are mirrored under its own hostname.
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

// mirrorArchive has both kinds of hashes. The clients take an archive that one
// of them fits; OpenTofu locks both, Terraform the h1, and each finds in a lock
// file that was written by a direct installation the ones that it compares.
type mirrorArchive struct {
	URL    string    `json:"url"`
	Hashes [2]string `json:"hashes"`
}

func (h *handler) mirrorVersion(ctx context.Context, caller registry.Caller, request Request) (response, error) {
	a := h.provider(request)
	p, err := h.Reader.ProviderVersion(ctx, caller, a, request.Version)
	if err != nil {
		return response{}, orMissing(err, "there is no version %s of %s", request.Version, request.Provider)
	}
	document := mirrorVersionDocument{make(map[string]mirrorArchive, len(p.Packages))}
	for _, pkg := range p.Packages {
		if _, served := p.Package(pkg.Platform); !served {
			continue
		}
		key := a.PackageKey(p.Version, pkg)
		signed, err := h.Presigner.PresignGet(ctx, key)
		if err != nil {
			return response{}, fmt.Errorf("presign %s: %w", key, err)
		}
		document.Archives[pkg.Platform.String()] = mirrorArchive{signed, [2]string{pkg.H1, "zh:" + pkg.SHA256}}
	}
	if len(document.Archives) == 0 { // in the same words: a version of which nothing is served yet is not there
		return response{}, orMissing(registry.ErrNotFound, "there is no version %s of %s", request.Version, request.Provider)
	}
	return response{status: http.StatusOK, cache: noStore, body: encode(document)}, nil
}
