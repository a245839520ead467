package protocol

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/larder-registry/larder/internal/jsonstring"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

func (h *handler) providerVersions(ctx context.Context, caller access.Caller, request Request) (response, error) {
	found, err := h.Reader.Listing(ctx, caller, request.Provider)
	versions, err := made(h.kept, request, found, err, func(listing registry.Listing) (*document, error) {
		return newDocument(providerVersionsBody(request.Provider, listing)), nil
	})
	if err != nil {
		return response{}, orMissing(err, "there is no provider %s", request.Provider)
	}
	return whole(versions), nil
}

// providerVersionsBody has the versions, with the protocols and platforms of each. It
// has no null for an empty list: clients read that otherwise. The warnings are printed by
// both clients, whichever version they choose: "Additional provider information from
// registry".
func providerVersionsBody(a registry.ProviderAddress, listing registry.Listing) []byte {
	size := 256
	for _, listed := range listing {
		size += 64 + len(listed.Version.String()) + 40*len(listed.Platforms)
	}
	b := make([]byte, 0, size)
	b = append(b, `{"versions":`...)
	var last registry.Listed
	var from, to int // what the last version can be installed for: most versions have the same
	b = appendList(b, listing.Offered(), func(b []byte, listed registry.Listed) []byte {
		b = append(b, `{"version":`...)
		b = jsonstring.Append(b, listed.Version.String())
		start := len(b)
		if to > 0 && same(listed.Protocols, last.Protocols) && same(listed.Platforms, last.Platforms) {
			b = append(b, b[from:to]...)
		} else {
			b = appendOffered(b, listed)
		}
		last, from, to = listed, start, len(b)
		return b
	})
	if lines := warnings(a, listing); len(lines) > 0 {
		b = append(b, `,"warnings":`...)
		b = appendStrings(b, lines)
	}
	return append(b, "}\n"...)
}

// same says whether two lists are equal. In a listing they are often one list.
func same[T comparable](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// appendOffered adds the rest of a version: its protocols, and its platforms, each of them
// in two fields.
func appendOffered(b []byte, listed registry.Listed) []byte {
	b = append(b, `,"protocols":`...)
	b = appendStrings(b, listed.Protocols)
	b = append(b, `,"platforms":`...)
	b = appendList(b, slices.Values(listed.Platforms), func(b []byte, p registry.Platform) []byte {
		b = append(b, `{"os":`...)
		b = jsonstring.Append(b, p.OS)
		b = append(b, `,"arch":`...)
		return append(jsonstring.Append(b, p.Arch), '}')
	})
	return append(b, '}')
}

// maxWarnings is how many warnings a list of versions has. The clients print all of
// them at every init.
const maxWarnings = 20

// warnings is a line for each version with a message of its publisher, the newest first.
func warnings(a registry.ProviderAddress, listing registry.Listing) []string {
	var lines []string
	more := 0
	for _, listed := range slices.Backward(listing) {
		if listed.Standing.Message == "" {
			continue
		}
		if len(lines) == maxWarnings {
			more++
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s is %s: %s", a, listed.Version, listed.Standing.State, listed.Standing.Message))
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%d older versions of %s are deprecated or withdrawn, too", more, a))
	}
	return lines
}

func (h *handler) providerDownload(ctx context.Context, caller access.Caller, request Request) (response, error) {
	found, err := h.Reader.ProviderVersion(ctx, caller, request.Provider, request.Version)
	document, err := made(h.kept, request, found, err, func(p registry.ProviderVersion) (*template, error) {
		pkg, ok := p.Package(request.Platform)
		if !ok { // in the same words: a version without packages to serve is not there
			return nil, registry.ErrNotFound
		}
		return packageTemplate(request.Provider, p, pkg), nil
	})
	if err != nil {
		return response{}, orMissing(err, "provider %s has no version %s for %s", request.Provider, request.Version, request.Platform)
	}
	return h.filled(ctx, document)
}

// filled answers with a document that has presigned URLs.
func (h *handler) filled(ctx context.Context, t *template) (response, error) {
	body, err := t.fill(ctx, h.Presigner)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, cache: noStore, body: body}, nil
}

// packageTemplate is what a client needs to download a package and to trust it. The packages
// in it are those of all platforms that are served, including this one: OpenTofu installs
// nothing that contradicts them, and Terraform ignores them.
func packageTemplate(a registry.ProviderAddress, p registry.ProviderVersion, pkg registry.Package) *template {
	var t template
	b := appendStrings([]byte(`{"protocols":`), p.Protocols(pkg))
	b = jsonstring.Append(append(b, `,"os":`...), pkg.Platform.OS)
	b = jsonstring.Append(append(b, `,"arch":`...), pkg.Platform.Arch)
	b = jsonstring.Append(append(b, `,"filename":`...), a.PackageFilename(p.Version, pkg.Platform))
	t.until(append(b, `,"download_url":`...), a.PackageKey(p.Version, pkg))
	t.until([]byte(`,"shasums_url":`), a.SHA256SUMSKey(p.Version, *p.Release))
	t.until([]byte(`,"shasums_signature_url":`), a.SignatureKey(p.Version, *p.Release))

	b = make([]byte, 0, tailSize(p))
	b = jsonstring.Append(append(b, `,"shasum":`...), pkg.SHA256)
	b = append(b, `,"signing_keys":{"gpg_public_keys":`...)
	b = appendList(b, slices.Values(p.Release.Keys), appendSigningKey)
	b = append(b, `},"packages":{`...)
	for other := range p.Served() { // this one is among them
		b = append(appendHashes(b, other), ',')
	}
	t.end(append(b[:len(b)-1], "}}\n"...))
	return &t
}

// tailSize is a little more than what comes after the URLs takes.
func tailSize(p registry.ProviderVersion) int {
	size := 192 + 192*len(p.Packages)
	for _, key := range p.Release.Keys {
		size += 128 + len(key.ASCIIArmor) + len(key.ASCIIArmor)/32 // ends of lines take two bytes
	}
	return size
}

// appendSigningKey leaves the fields empty that only the public registry fills.
// Terraform refuses a trust signature that is neither empty nor HashiCorp's.
func appendSigningKey(b []byte, key registry.SigningKey) []byte {
	b = jsonstring.Append(append(b, `{"key_id":`...), key.KeyID)
	b = jsonstring.Append(append(b, `,"ascii_armor":`...), key.ASCIIArmor)
	return append(b, `,"trust_signature":"","source":"","source_url":""}`...)
}

// appendHashes adds what lock files hold of a package, by its platform, in the form of
// OpenTofu's own registry.
func appendHashes(b []byte, pkg registry.Package) []byte {
	b = append(jsonstring.Append(b, pkg.Platform.String()), `:{"hashes":`...)
	b = append(appendStrings(b, hashes(pkg)), `,"package_size":`...)
	return append(strconv.AppendInt(b, pkg.Size, 10), '}')
}

// hashes are both kinds of a package's hashes, as lock files have them.
func hashes(pkg registry.Package) []string { return []string{pkg.H1, "zh:" + pkg.SHA256} }
