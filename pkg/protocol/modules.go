package protocol

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// moduleVersionsDocument always has one module, the requested one.
// The clients take a null for an element amiss: no list here has one.
type moduleVersionsDocument struct {
	Modules [1]moduleVersions `json:"modules"`
}

type moduleVersions struct {
	// Source is for tools that look for release notes.
	Source   string          `json:"source,omitempty"`
	Versions []moduleVersion `json:"versions"`
}

type moduleVersion struct {
	Version string `json:"version"`

	// Deprecation is for people and tools: no client reads it.
	Deprecation *deprecation `json:"deprecation,omitempty"`
}

type deprecation struct {
	Reason string `json:"reason"`
}

func (h *handler) moduleVersions(ctx context.Context, caller access.Caller, request Request) (response, error) {
	listing, err := decoded(h.Reader.Listing(ctx, caller, request.Module))
	if err != nil {
		return response{}, orMissing(err, "there is no module %s", request.Module)
	}
	versions := make([]moduleVersion, 0, len(listing))
	for listed := range listing.Offered() {
		version := moduleVersion{Version: listed.Version.String()}
		if listed.Standing.State == registry.Deprecated {
			version.Deprecation = &deprecation{listed.Standing.Message}
		}
		versions = append(versions, version)
	}
	document := moduleVersionsDocument{[1]moduleVersions{{listing.Source(), versions}}}
	return response{status: http.StatusOK, cache: revalidate, body: encode(document)}, nil
}

// moduleNewest redirects to the newest listed version that is not a pre-release. It may
// be deprecated, as a client without a constraint also gets it. Like the paths of
// discovery, the one in Location begins at the root.
func (h *handler) moduleNewest(ctx context.Context, caller access.Caller, request Request) (response, error) {
	listing, err := decoded(h.Reader.Listing(ctx, caller, request.Module))
	if err != nil {
		return response{}, orMissing(err, "there is no module %s", request.Module)
	}
	newest, ok := listing.Newest()
	if !ok {
		return response{}, refuse(registry.ErrNotFound, "module %s has no version that is listed and no pre-release", request.Module)
	}
	// A plus is valid in a path, but some read it as a space.
	version := url.QueryEscape(newest.Version.String())
	return response{
		status: http.StatusFound,
		cache:  revalidate,
		header: map[string]string{"Location": modulesPath + request.Module.String() + "/" + version + "/download"},
	}, nil
}

// moduleDownload answers 204 with the archive's URL in a header, which every
// client of either kind follows.
func (h *handler) moduleDownload(ctx context.Context, caller access.Caller, request Request, goGetter bool) (response, error) {
	m, err := decoded(h.Reader.ModuleVersion(ctx, caller, request.Module, request.Version))
	if err != nil {
		return response{}, orMissing(err, "module %s has no version %s", request.Module, request.Version)
	}
	key := request.Module.ArchiveKey(m.Version, m.Archive)
	signed, err := h.Presigner.PresignGet(ctx, key)
	if err != nil {
		return response{}, fmt.Errorf("presign %s: %w", key, err)
	}
	if goGetter {
		signed = archiveSource(signed, m.Archive)
	}
	return response{
		status: http.StatusNoContent,
		cache:  noStore,
		header: map[string]string{"X-Terraform-Get": signed, "Vary": versionHeader},
	}, nil
}

// versionHeader is sent by Terraform, and under the same name by OpenTofu.
const versionHeader = "X-Terraform-Version"

// usesGoGetter says whether a client downloads modules with go-getter, as both CLIs do.
// Other clients may fetch the URL as it is: it must then have nothing that is not signed,
// since S3 refuses that.
func usesGoGetter(h http.Header) bool { return h.Get(versionHeader) != "" }

// archiveSource is the address of an archive for go-getter. It takes archive and
// checksum off the query before it asks the bucket, so neither can be part of what
// is signed.
func archiveSource(signed string, archive registry.ModuleArchive) string {
	return signed + "&archive=" + archive.Format + "&checksum=sha256:" + archive.SHA256
}
