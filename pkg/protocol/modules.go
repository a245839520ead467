package protocol

import (
	"context"
	"net/http"
	"net/url"

	"github.com/larder-registry/larder/internal/jsonstring"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

func (h *handler) moduleVersions(ctx context.Context, caller access.Caller, request Request) (response, error) {
	found, err := h.Reader.Listing(ctx, caller, request.Module)
	versions, err := made(h.kept, request, found, err, func(listing registry.Listing) (*document, error) {
		return newDocument(moduleVersionsBody(listing)), nil
	})
	if err != nil {
		return response{}, orMissing(err, "there is no module %s", request.Module)
	}
	return whole(versions), nil
}

// moduleVersionsBody has one module, the requested one. Its source is for tools that
// look for release notes; the deprecations are for people and tools. The clients take a
// null for an element amiss: no list here has one.
func moduleVersionsBody(listing registry.Listing) []byte {
	b := make([]byte, 0, 256+32*len(listing))
	b = append(b, `{"modules":[{`...)
	if source := listing.Source(); source != "" {
		b = append(b, `"source":`...)
		b = append(jsonstring.Append(b, source), ',')
	}
	b = append(b, `"versions":`...)
	b = appendList(b, listing.Offered(), func(b []byte, listed registry.Listed) []byte {
		b = append(b, `{"version":`...)
		b = jsonstring.Append(b, listed.Version.String())
		if listed.Standing.State == registry.Deprecated {
			b = append(b, `,"deprecation":{"reason":`...)
			b = append(jsonstring.Append(b, listed.Standing.Message), '}')
		}
		return append(b, '}')
	})
	return append(b, "}]}\n"...)
}

// moduleNewest redirects to the newest listed version that is not a pre-release. It may
// be deprecated, as a client without a constraint also gets it. Like the paths of
// discovery, the one in Location begins at the root.
func (h *handler) moduleNewest(ctx context.Context, caller access.Caller, request Request) (response, error) {
	found, err := h.Reader.Listing(ctx, caller, request.Module)
	to, err := made(h.kept, request, found, err, func(listing registry.Listing) (redirect, error) {
		newest, ok := listing.Newest()
		if !ok {
			return redirect{}, refuse(registry.ErrNotFound, "module %s has no version that is listed and no pre-release", request.Module)
		}
		// A plus is valid in a path, but some read it as a space.
		version := url.QueryEscape(newest.Version.String())
		return redirect{field{"Location", []string{modulesPath + request.Module.String() + "/" + version + "/download"}}}, nil
	})
	if err != nil {
		return response{}, orMissing(err, "there is no module %s", request.Module)
	}
	return response{status: http.StatusFound, cache: revalidate, header: [2]field{to.location}}, nil
}

// redirect is an answer with a Location and nothing else.
type redirect struct{ location field }

// size implements [answer].
func (r redirect) size() int { return len(r.location.values[0]) }

// moduleDownload answers 204 with the archive's URL in a header, which every
// client of either kind follows.
func (h *handler) moduleDownload(ctx context.Context, caller access.Caller, request Request, goGetter bool) (response, error) {
	found, err := h.Reader.ModuleVersion(ctx, caller, request.Module, request.Version)
	archive, err := made(h.kept, request, found, err, func(m registry.ModuleVersion) (moduleArchive, error) {
		return moduleArchive{request.Module.ArchiveKey(m.Version, m.Archive), goGetterQuery(m.Archive)}, nil
	})
	if err != nil {
		return response{}, orMissing(err, "module %s has no version %s", request.Module, request.Version)
	}
	signed, err := presign(ctx, h.Presigner, archive.key)
	if err != nil {
		return response{}, err
	}
	if goGetter {
		signed += archive.query
	}
	return response{
		status: http.StatusNoContent,
		cache:  noStore,
		header: [2]field{{"X-Terraform-Get", []string{signed}}, {"Vary", varyVersion}},
	}, nil
}

// moduleArchive is what is the same in all answers with an archive's URL.
type moduleArchive struct{ key, query string }

// size implements [answer].
func (m moduleArchive) size() int { return len(m.key) + len(m.query) }

// versionHeader is sent by Terraform, and under the same name by OpenTofu.
const versionHeader = "X-Terraform-Version"

// usesGoGetter says whether a client downloads modules with go-getter, as both CLIs do.
// Other clients may fetch the URL as it is: it must then have nothing that is not signed,
// since S3 refuses that.
func usesGoGetter(h http.Header) bool { return h.Get(versionHeader) != "" }

// goGetterQuery is added to the URL of an archive for go-getter. It takes archive and
// checksum off the query before it asks the bucket, so neither can be part of what is signed.
func goGetterQuery(archive registry.ModuleArchive) string {
	return "&archive=" + archive.Format + "&checksum=sha256:" + archive.SHA256
}
