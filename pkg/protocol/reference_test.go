package protocol

import (
	"maps"
	"slices"

	"github.com/larder-registry/larder/pkg/registry"
)

// The documents as encoding/json writes them. What is written by hand must be the same.

type moduleVersionsDocument struct {
	Modules [1]moduleVersions `json:"modules"`
}

type moduleVersions struct {
	Source   string          `json:"source,omitempty"`
	Versions []moduleVersion `json:"versions"`
}

type moduleVersion struct {
	Version     string       `json:"version"`
	Deprecation *deprecation `json:"deprecation,omitempty"`
}

type deprecation struct {
	Reason string `json:"reason"`
}

func moduleVersionsReference(listing registry.Listing) []byte {
	versions := []moduleVersion{}
	for listed := range listing.Offered() {
		version := moduleVersion{Version: listed.Version.String()}
		if listed.Standing.State == registry.Deprecated {
			version.Deprecation = &deprecation{listed.Standing.Message}
		}
		versions = append(versions, version)
	}
	return encode(moduleVersionsDocument{[1]moduleVersions{{listing.Source(), versions}}})
}

type providerVersionsDocument struct {
	Versions []providerVersion `json:"versions"`
	Warnings []string          `json:"warnings,omitempty"`
}

type providerVersion struct {
	Version   string     `json:"version"`
	Protocols []string   `json:"protocols"`
	Platforms []platform `json:"platforms"`
}

type platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

func providerVersionsReference(a registry.ProviderAddress, listing registry.Listing) []byte {
	document := providerVersionsDocument{[]providerVersion{}, warnings(a, listing)}
	for listed := range listing.Offered() {
		version := providerVersion{listed.Version.String(), notNull(listed.Protocols), []platform{}}
		for _, p := range listed.Platforms {
			version.Platforms = append(version.Platforms, platform(p))
		}
		document.Versions = append(document.Versions, version)
	}
	return encode(document)
}

type mirrorVersionsDocument struct {
	Versions map[string]struct{} `json:"versions"`
}

func mirrorVersionsReference(listing registry.Listing) []byte {
	document := mirrorVersionsDocument{map[string]struct{}{}}
	for listed := range listing.Offered() {
		document.Versions[listed.Version.String()] = struct{}{}
	}
	return encode(document)
}

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

	Packages map[string]platformPackage `json:"packages"`
}

func packageReference(a registry.ProviderAddress, p registry.ProviderVersion, pkg registry.Package, presign func(key string) string) []byte {
	document := packageDocument{
		Protocols: notNull(p.Protocols(pkg)), OS: pkg.Platform.OS, Arch: pkg.Platform.Arch,
		Filename:            a.PackageFilename(p.Version, pkg.Platform),
		DownloadURL:         presign(a.PackageKey(p.Version, pkg)),
		SHASumsURL:          presign(a.SHA256SUMSKey(p.Version, *p.Release)),
		SHASumsSignatureURL: presign(a.SignatureKey(p.Version, *p.Release)),
		SHASum:              pkg.SHA256,
		SigningKeys:         signingKeys{[]gpgPublicKey{}},
		Packages:            map[string]platformPackage{},
	}
	for _, other := range served(p) {
		document.Packages[other.Platform.String()] = platformPackage{hashes(other), other.Size}
	}
	for _, key := range p.Release.Keys {
		document.SigningKeys.GPGPublicKeys = append(document.SigningKeys.GPGPublicKeys, gpgPublicKey{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor})
	}
	return encode(document)
}

func mirrorVersionReference(a registry.ProviderAddress, p registry.ProviderVersion, presign func(key string) string) []byte {
	archives := map[string]mirrorArchive{}
	for _, pkg := range served(p) {
		archives[pkg.Platform.String()] = mirrorArchive{presign(a.PackageKey(p.Version, pkg)), hashes(pkg)}
	}
	return encode(mirrorVersionDocument{archives})
}

// served is the packages that can be served, in no order.
func served(p registry.ProviderVersion) []registry.Package {
	packages := map[string]registry.Package{}
	for _, pkg := range p.Packages {
		if _, ok := p.Package(pkg.Platform); ok {
			packages[pkg.Platform.String()] = pkg
		}
	}
	return slices.Collect(maps.Values(packages))
}

type platformPackage struct {
	Hashes      []string `json:"hashes"`
	PackageSize int64    `json:"package_size"`
}

type signingKeys struct {
	GPGPublicKeys []gpgPublicKey `json:"gpg_public_keys"`
}

type gpgPublicKey struct {
	KeyID          string `json:"key_id"`
	ASCIIArmor     string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
	Source         string `json:"source"`
	SourceURL      string `json:"source_url"`
}

// notNull is a list that is written as [] when it is empty.
func notNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
