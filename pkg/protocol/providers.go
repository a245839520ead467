package protocol

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

type providerVersionsDocument struct {
	Versions []providerVersion `json:"versions"`

	// Warnings are printed by both clients, whichever version they choose:
	// "Additional provider information from registry".
	Warnings []string `json:"warnings,omitempty"`
}

// providerVersion has no null for an empty list: clients read that otherwise.
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

func (h *handler) providerVersions(ctx context.Context, caller access.Caller, request Request) (response, error) {
	listing, err := decoded(h.Reader.Listing(ctx, caller, request.Provider))
	if err != nil {
		return response{}, orMissing(err, "there is no provider %s", request.Provider)
	}
	document := newProviderVersionsDocument(listing)
	document.Warnings = warnings(request.Provider, listing)
	return response{status: http.StatusOK, cache: revalidate, body: encode(document)}, nil
}

// newProviderVersionsDocument keeps the platforms of all versions in one array:
// large providers have thousands.
func newProviderVersionsDocument(listing registry.Listing) providerVersionsDocument {
	count := 0
	for _, listed := range listing {
		count += len(listed.Platforms)
	}
	platforms := make([]platform, 0, count)
	versions := make([]providerVersion, 0, len(listing))
	for listed := range listing.Offered() {
		first := len(platforms)
		for _, p := range listed.Platforms {
			platforms = append(platforms, platform(p))
		}
		versions = append(versions, providerVersion{listed.Version.String(), notNull(listed.Protocols), platforms[first:]})
	}
	return providerVersionsDocument{Versions: versions}
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

	// Packages are those of all platforms that are served, including this one.
	// OpenTofu installs nothing that contradicts them; Terraform ignores them.
	Packages map[string]platformPackage `json:"packages"`
}

// platformPackage has what lock files hold of a package, in the form of OpenTofu's
// own registry.
type platformPackage struct {
	Hashes      []string `json:"hashes"`
	PackageSize int64    `json:"package_size"`
}

type signingKeys struct {
	GPGPublicKeys []gpgPublicKey `json:"gpg_public_keys"`
}

// gpgPublicKey leaves the fields empty that only the public registry fills.
// Terraform refuses a trust signature that is neither empty nor HashiCorp's.
type gpgPublicKey struct {
	KeyID          string `json:"key_id"`
	ASCIIArmor     string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
	Source         string `json:"source"`
	SourceURL      string `json:"source_url"`
}

func (h *handler) providerDownload(ctx context.Context, caller access.Caller, request Request) (response, error) {
	missing := func(err error) error {
		return orMissing(err, "provider %s has no version %s for %s", request.Provider, request.Version, request.Platform)
	}
	p, err := decoded(h.Reader.ProviderVersion(ctx, caller, request.Provider, request.Version))
	if err != nil {
		return response{}, missing(err)
	}
	pkg, ok := p.Package(request.Platform)
	if !ok { // in the same words: a version without packages to serve is not there
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
		Packages:    make(map[string]platformPackage, len(p.Packages)),
	}
	for _, other := range p.Packages {
		if _, served := p.Package(other.Platform); served {
			document.Packages[other.Platform.String()] = platformPackage{hashes(other), other.Size}
		}
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

// hashes are both kinds of a package's hashes, as lock files have them.
func hashes(pkg registry.Package) []string { return []string{pkg.H1, "zh:" + pkg.SHA256} }

// notNull is a list that is written as [] when it is empty.
func notNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
