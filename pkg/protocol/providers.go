package protocol

import (
	"context"
	"fmt"
	"net/http"

	"github.com/larder-registry/larder/pkg/registry"
)

type providerVersionsDocument struct {
	Versions []providerVersion `json:"versions"`
}

// providerVersion has no null for an empty list, which clients read otherwise.
type providerVersion struct {
	Version   string     `json:"version"`
	Protocols []string   `json:"protocols"`
	Platforms []platform `json:"platforms"`
}

// platform is a [registry.Platform] in two fields, as this protocol has it.
type platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

func (h *handler) providerVersions(ctx context.Context, caller registry.Caller, request Request) (response, error) {
	listing, err := h.Reader.ProviderVersions(ctx, caller, request.Provider)
	if err != nil {
		return response{}, orMissing(err, "there is no provider %s", request.Provider)
	}
	return response{status: http.StatusOK, cache: revalidate, body: encode(newProviderVersionsDocument(listing))}, nil
}

// newProviderVersionsDocument keeps the platforms of all versions in one array:
// large providers have thousands.
func newProviderVersionsDocument(listing registry.Listing) providerVersionsDocument {
	count := 0
	for _, listed := range listing {
		count += len(listed.Platforms)
	}
	platforms := make([]platform, 0, count)
	versions := make([]providerVersion, len(listing))
	for i, listed := range listing {
		first := len(platforms)
		for _, p := range listed.Platforms {
			platforms = append(platforms, platform(p))
		}
		versions[i] = providerVersion{listed.Version.String(), notNull(listed.Protocols), platforms[first:]}
	}
	return providerVersionsDocument{versions}
}

// packageDocument is all that a client needs to download a package and to
// trust it.
type packageDocument struct {
	Protocols           []string    `json:"protocols"`
	OS                  string      `json:"os"`
	Arch                string      `json:"arch"`
	Filename            string      `json:"filename"`
	DownloadURL         string      `json:"download_url"`
	SHASumsURL          string      `json:"shasums_url"`
	SHASumsSignatureURL string      `json:"shasums_signature_url"`
	SHASum              string      `json:"shasum"`
	SigningKeys         signingKeys `json:"signing_keys"`
}

type signingKeys struct {
	GPGPublicKeys []gpgPublicKey `json:"gpg_public_keys"`
}

// gpgPublicKey has empty fields for what only the public registry vouches for.
// Terraform refuses a trust signature that is neither empty nor HashiCorp's.
type gpgPublicKey struct {
	KeyID          string `json:"key_id"`
	ASCIIArmor     string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
	Source         string `json:"source"`
	SourceURL      string `json:"source_url"`
}

func (h *handler) providerDownload(ctx context.Context, caller registry.Caller, request Request) (response, error) {
	missing := func(err error) error {
		return orMissing(err, "provider %s has no version %s for %s", request.Provider, request.Version, request.Platform)
	}
	p, err := h.Reader.ProviderVersion(ctx, caller, request.Provider, request.Version)
	if err != nil {
		return response{}, missing(err)
	}
	pkg, ok := p.Package(request.Platform)
	if !ok { // in the same words: a version of which nothing is served yet is not there
		return response{}, missing(registry.ErrNotFound)
	}
	document, err := h.packageDocument(ctx, request.Provider, p, pkg)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, cache: noStore, body: encode(document)}, nil
}

func (h *handler) packageDocument(ctx context.Context, a registry.ProviderAddress, p registry.ProviderVersion, pkg registry.Package) (packageDocument, error) {
	document := packageDocument{
		Protocols:   notNull(p.Protocols(pkg)),
		OS:          pkg.Platform.OS,
		Arch:        pkg.Platform.Arch,
		Filename:    a.PackageFilename(p.Version, pkg.Platform),
		SHASum:      pkg.SHA256,
		SigningKeys: signingKeys{make([]gpgPublicKey, len(p.Release.Keys))},
	}
	for i, key := range p.Release.Keys {
		document.SigningKeys.GPGPublicKeys[i] = gpgPublicKey{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor}
	}
	for _, object := range []struct {
		url *string
		key string
	}{
		{&document.DownloadURL, a.PackageKey(p.Version, pkg)},
		{&document.SHASumsURL, a.SHA256SUMSKey(p.Version, *p.Release)},
		{&document.SHASumsSignatureURL, a.SignatureKey(p.Version, *p.Release)},
	} {
		signed, err := h.Presigner.PresignGet(ctx, object.key)
		if err != nil {
			return packageDocument{}, fmt.Errorf("presign %s: %w", object.key, err)
		}
		*object.url = signed
	}
	return document, nil
}

// notNull is a list that is written as [] when it is empty.
func notNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
