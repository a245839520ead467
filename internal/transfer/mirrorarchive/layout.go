package mirrorarchive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// indexName is the name of the document that lists a provider's versions.
const indexName = "index.json"

// Release is a version of a provider with some of its packages.
type Release struct {
	Address  registry.ProviderAddress // with its hostname
	Version  registry.Version
	Packages []Package
}

// Package is a provider's package for one platform.
type Package struct {
	Platform registry.Platform
	SHA256   string // lower-case hex
	H1       string // "h1:…"
	Size     int64  // in bytes
	Path     string // of its file, for [Write]
	Offset   int64  // in the archive that [Open] has read, in bytes
}

// Filename returns the name of a package in its provider's folder.
func (r Release) Filename(p Package) string { return r.Address.PackageFilename(r.Version, p.Platform) }

// DocumentName returns the name of the version's document in its provider's folder.
func (r Release) DocumentName() string { return r.Version.String() + ".json" }

// Document returns the version's document, as `terraform providers mirror` writes it, but with
// both hashes of each package, h1: and zh:.
func (r Release) Document() []byte {
	type archive struct {
		Hashes [2]string `json:"hashes"`
		URL    string    `json:"url"`
	}
	document := struct {
		Archives map[string]archive `json:"archives"`
	}{make(map[string]archive, len(r.Packages))}
	for _, p := range r.Packages {
		document.Archives[p.Platform.String()] = archive{[2]string{p.H1, "zh:" + p.SHA256}, r.Filename(p)}
	}
	return encode(document)
}

// index returns the document that lists the versions of a provider's releases.
func index(releases []Release) []byte {
	document := struct {
		Versions map[string]struct{} `json:"versions"`
	}{make(map[string]struct{}, len(releases))}
	for _, r := range releases {
		document.Versions[r.Version.String()] = struct{}{}
	}
	return encode(document)
}

// encode writes a document with sorted keys: the same bytes for the same content.
func encode(document any) []byte {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic(err) // never: maps, strings and numbers can always be encoded
	}
	return append(data, '\n')
}

// file is one file of a mirror: a document in memory, or a package.
type file struct {
	entry
	data []byte
	path string
}

// layout returns the files of a mirror that has the releases, always in the same order. It
// sorts the releases.
func layout(releases []Release) []file {
	slices.SortFunc(releases, compareReleases)
	var files []file
	for len(releases) > 0 {
		a := releases[0].Address
		n := slices.IndexFunc(releases, func(r Release) bool { return r.Address != a })
		if n < 0 {
			n = len(releases)
		}
		files = append(files, document(a, indexName, index(releases[:n])))
		for _, r := range releases[:n] {
			files = append(files, document(a, r.DocumentName(), r.Document()))
			slices.SortFunc(r.Packages, func(p, q Package) int { return strings.Compare(p.Platform.String(), q.Platform.String()) })
			for _, p := range r.Packages {
				files = append(files, file{entry: entry{a.String() + "/" + r.Filename(p), p.SHA256, p.Size}, path: p.Path})
			}
		}
		releases = releases[n:]
	}
	return files
}

func compareReleases(r, s Release) int {
	return cmp.Or(
		strings.Compare(r.Address.String(), s.Address.String()),
		r.Version.Compare(s.Version),
		strings.Compare(r.Version.String(), s.Version.String()),
	)
}

func document(a registry.ProviderAddress, name string, data []byte) file {
	sum := sha256.Sum256(data)
	return file{entry: entry{a.String() + "/" + name, hex.EncodeToString(sum[:]), int64(len(data))}, data: data}
}

// packageName is the parts of the name of a package, with its folder.
type packageName struct {
	address  registry.ProviderAddress
	version  registry.Version
	platform registry.Platform
}

// parseName reads the name of a file of a mirror, with its folder. The file is a package or a
// document. Names that [layout] does not give are an error.
func parseName(name string) (p packageName, isPackage bool, err error) {
	bad := fmt.Errorf("%.300q is not the name of a file of a mirror, such as registry.terraform.io/hashicorp/time/index.json", name)
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return p, false, bad
	}
	p.address, err = registry.ParseMirroredAddress(parts[0], parts[1], parts[2])
	if err != nil || p.address.Hostname != parts[0] {
		return p, false, bad
	}
	if text, ok := strings.CutSuffix(parts[3], ".json"); ok {
		if _, err := registry.ParseVersion(text); err != nil && parts[3] != indexName {
			return p, false, bad
		}
		return p, false, nil
	}
	rest, _ := strings.CutPrefix(parts[3], "terraform-provider-"+p.address.Type+"_")
	version, platform, _ := strings.Cut(strings.TrimSuffix(rest, ".zip"), "_")
	if p.version, err = registry.ParseVersion(version); err != nil {
		return p, false, bad
	}
	if p.platform.UnmarshalText([]byte(platform)) != nil || p.address.PackageFilename(p.version, p.platform) != parts[3] {
		return p, false, bad
	}
	return p, true, nil
}
