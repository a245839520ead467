package protocol

import (
	"context"
	"net/http"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// detailsDocument describes a version of a module or a provider. It has the field names
// of the public registry, where a module's system is its provider, and a provider's type
// its name.
type detailsDocument struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Provider  string `json:"provider,omitempty"`
	Version   string `json:"version"`

	// Source is there even if it is empty: clients rely on the field.
	Source string `json:"source"`
}

func (h *handler) moduleDetails(ctx context.Context, caller access.Caller, request Request) (response, error) {
	a := request.Module
	found, err := h.Reader.ModuleVersion(ctx, caller, a, request.Version)
	details, err := made(h.kept, request, found, err, func(m registry.ModuleVersion) (*document, error) {
		return newDocument(encode(detailsDocument{
			ID: a.String() + "/" + m.Version.String(), Namespace: a.Namespace, Name: a.Name, Provider: a.System,
			Version: m.Version.String(), Source: m.Archive.Source,
		})), nil
	})
	if err != nil {
		return response{}, orMissing(err, "module %s has no version %s", a, request.Version)
	}
	return whole(details), nil
}

func (h *handler) providerDetails(ctx context.Context, caller access.Caller, request Request) (response, error) {
	a := request.Provider
	found, err := h.Reader.ProviderVersion(ctx, caller, a, request.Version)
	details, err := made(h.kept, request, found, err, func(p registry.ProviderVersion) (*document, error) {
		if !p.Listable() { // a version without packages to serve is not there
			return nil, registry.ErrNotFound
		}
		return newDocument(encode(detailsDocument{
			ID: a.String() + "/" + p.Version.String(), Namespace: a.Namespace, Name: a.Type,
			Version: p.Version.String(), Source: p.Source(),
		})), nil
	})
	if err != nil {
		return response{}, orMissing(err, "provider %s has no version %s", a, request.Version)
	}
	return whole(details), nil
}

// whole answers with a document that has no presigned URL.
func whole(d *document) response {
	return response{status: http.StatusOK, cache: revalidate, document: d}
}
