package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/registry"
)

// ParseKey reads the key of an upload. What lies where packages belong but
// breaks their rules is rejected, anything else that is no upload is ignored:
// the error is a [*Verdict].
func ParseKey(key string) (Upload, error) {
	parts := strings.Split(key, "/")
	switch {
	case strings.HasPrefix(key, modulesFolder):
		return parseModuleKey(parts[1:])
	case strings.HasPrefix(key, ProvidersFolder):
		return parseProviderKey(parts[1:])
	case strings.HasPrefix(key, mirrorFolder):
		return parseMirrorKey(parts[1:])
	case strings.HasPrefix(key, KeysFolder):
		return parseKeysKey(parts[1:])
	default:
		return Upload{}, Ignore("uploads go under %s, %s, %s or %s%s", modulesFolder, ProvidersFolder, mirrorFolder, KeysFolder, meantFolder(parts))
	}
}

// meantFolder says where an upload may have been meant to go that is nothing here.
func meantFolder(parts []string) string {
	for _, folder := range Folders {
		name := strings.TrimSuffix(folder, "/")
		if first := strings.ToLower(parts[0]); len(parts) > 1 && strings.TrimSuffix(first, "s") == strings.TrimSuffix(name, "s") {
			return fmt.Sprintf("; this is under %s/: upload it to %s", parts[0], folder)
		}
	}
	switch {
	case parts[0] == "" && len(parts) > 1:
		return "; this key begins with a slash: leave it out"
	case strings.HasPrefix(parts[len(parts)-1], "terraform-provider-"):
		return "; a provider's files go to providers/<namespace>/<type>/"
	default:
		return ""
	}
}

// ModuleKey is the key under which a module's archive is uploaded, whose format
// the ending of its file name says.
func ModuleKey(a registry.ModuleAddress, v registry.Version, filename string) string {
	ext := path.Ext(filename)
	if at := archiveExtension(filename); at >= 0 {
		ext = archiveExtensions[at]
	}
	return modulesFolder + a.String() + "/" + v.String() + ext
}

// archiveExtensions are the endings of archives. Other files are stray. The first three can
// be published.
var archiveExtensions = []string{
	".zip", ".tar.gz", ".tgz",
	".tar", ".gz", ".bz2", ".xz", ".zst", ".lz", ".lzma", ".tbz2", ".txz", ".tzst", ".7z", ".rar", ".jar",
}

// archiveExtension is the position of a file name's ending, in any case, among
// the archiveExtensions, or -1.
func archiveExtension(name string) int {
	return slices.IndexFunc(archiveExtensions, func(ext string) bool { return strings.HasSuffix(strings.ToLower(name), ext) })
}

func parseModuleKey(parts []string) (Upload, error) {
	name := parts[len(parts)-1]
	at := archiveExtension(name)
	if at < 0 {
		return Upload{}, Ignore("it is not an archive: modules are .zip, .tar.gz or .tgz files")
	}
	version, supported := strings.CutSuffix(name, archiveExtensions[at])
	if at > 2 || !supported {
		return Upload{}, Reject("a module archive ends in .zip, .tar.gz or .tgz, in lower case; this is %q", name)
	}
	if len(parts) != 4 {
		return Upload{}, Reject("a module archive goes to modules/<namespace>/<name>/<system>/<version>%s", archiveExtensions[at])
	}
	u := Upload{Kind: ModuleArchive, Format: archive.TarGz}
	if at == 0 {
		u.Format = archive.Zip
	}
	var problems Problems
	var err error
	u.Module, err = registry.ParseModuleAddress(parts[0], parts[1], parts[2])
	problems.Add(err)
	u.Version, err = registry.ParseVersion(version)
	problems.Add(err)
	return u, problems.Verdict()
}

func parseProviderKey(parts []string) (Upload, error) {
	name := parts[len(parts)-1]
	isZip := strings.EqualFold(path.Ext(name), ".zip")
	if len(parts) != 3 && len(parts) != 4 {
		return Upload{}, misplaced(isZip, "a provider package goes to providers/<namespace>/<type>/ or providers/<namespace>/<type>/<version>/")
	}
	address, err := registry.ParseProviderAddress(parts[0], parts[1])
	if err != nil {
		return Upload{}, misplaced(isZip, "%v", err)
	}
	if !isZip && archiveExtension(name) >= 0 {
		return Upload{}, Ignore("a provider package is a .zip file, and this is %q: zip its executable, or of documentation its folder docs", name)
	}
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+address.Type+"_")
	if !ok {
		return Upload{}, misplaced(isZip, "in the folder of provider %s a package is named terraform-provider-%s_<version>_<os>_<arch>.zip; this is %q", address, address.Type, name)
	}
	u, err := parseProviderFile(name, rest)
	if err != nil {
		return Upload{}, misplaced(isZip, "%v", err)
	}
	u.Provider = address
	if len(parts) == 4 && parts[2] != u.Version.String() {
		return Upload{}, misplaced(isZip, "the file is of version %s, but lies in the folder of %q", u.Version, parts[2])
	}
	return u, nil
}

// parseMirrorKey reads the key of a file as `terraform providers mirror` lays it
// out.
func parseMirrorKey(parts []string) (Upload, error) {
	name := parts[len(parts)-1]
	isZip := strings.EqualFold(path.Ext(name), ".zip")
	if len(parts) != 4 {
		return Upload{}, misplaced(isZip, "a mirrored package goes to mirror/<hostname>/<namespace>/<type>/, as terraform providers mirror lays it out")
	}
	address, err := registry.ParseMirroredAddress(parts[0], parts[1], parts[2])
	if err != nil {
		return Upload{}, misplaced(isZip, "%v", err)
	}
	if version, ok := strings.CutSuffix(name, ".json"); ok {
		return parseMirrorDocument(address, version)
	}
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+address.Type+"_")
	if !ok {
		return Upload{}, misplaced(isZip, "in the folder of provider %s a package is named terraform-provider-%s_<version>_<os>_<arch>.zip; this is %q", address, address.Type, name)
	}
	u, err := parseProviderFile(name, rest)
	if err == nil && u.Kind != ProviderPackage {
		err = errors.New("a mirror serves packages alone: their hashes stand in for SHA256SUMS and signature, and it has no documentation")
	}
	if err != nil {
		return Upload{}, misplaced(isZip, "%v", err)
	}
	u.Provider = address
	return u, nil
}

func parseMirrorDocument(address registry.ProviderAddress, version string) (Upload, error) {
	v, err := registry.ParseVersion(version)
	if err != nil {
		return Upload{}, Ignore("it is not the document of a version; a mirror's index follows from its packages")
	}
	return Upload{Kind: MirrorDocument, Provider: address, Version: v}, nil
}

// parseProviderFile reads the name of a release's file, of which rest is what
// follows terraform-provider-<type>_.
func parseProviderFile(name, rest string) (Upload, error) {
	if len(name) > maxFilename {
		return Upload{}, fmt.Errorf("the file's name has %d characters, %d are allowed: choose a shorter version or platform", len(name), maxFilename)
	}
	version, what, _ := strings.Cut(rest, "_")
	var u Upload
	var err error
	switch lower := strings.ToLower(what); {
	case what == "SHA256SUMS":
		u.Kind = SHA256SUMS
	case what == "SHA256SUMS.sig":
		u.Kind = Signature
	case what == "manifest.json":
		u.Kind = Manifest
	case what == "docs.zip":
		u.Kind = Docs
	case strings.HasPrefix(lower, "docs."):
		return Upload{}, fmt.Errorf("the documentation of a version is named terraform-provider-<type>_<version>_docs.zip, in lower case; this is %q", name)
	case strings.HasPrefix(lower, "sha256sum"), strings.HasPrefix(lower, "checksums"):
		return Upload{}, fmt.Errorf("the checksums of a release are named terraform-provider-<type>_<version>_SHA256SUMS, and their binary signature (gpg --detach-sign) the same with .sig; this is %q", name)
	default:
		u.Kind = ProviderPackage
		if u.Platform, err = parsePackagePlatform(what); err != nil {
			return Upload{}, err
		}
	}
	u.Version, err = registry.ParseVersion(version)
	return u, err
}

func parsePackagePlatform(name string) (registry.Platform, error) {
	platform, ok := strings.CutSuffix(name, ".zip")
	os, arch, two := strings.Cut(platform, "_")
	if !ok || !two {
		return registry.Platform{}, errors.New("a package is named terraform-provider-<type>_<version>_<os>_<arch>.zip; this name has no platform, such as linux_amd64, in it")
	}
	parsed, err := registry.ParsePlatform(os, arch)
	if err != nil {
		err = fmt.Errorf("%w%s", err, meantPlatform(os, arch))
	}
	return parsed, err
}

// The names that other tools have for systems and architectures.
var (
	otherSystems       = map[string]string{"macos": "darwin", "osx": "darwin", "mac": "darwin", "win": "windows", "win32": "windows", "win64": "windows"}
	otherArchitectures = map[string]string{
		"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "64bit": "amd64", "aarch64": "arm64", "armv8": "arm64",
		"i386": "386", "i686": "386", "x86": "386", "32bit": "386", "armv6": "arm", "armv7": "arm", "armhf": "arm",
	}
)

// meantPlatform says which platform may have been meant by what is none.
func meantPlatform(os, arch string) string {
	os, arch = strings.ToLower(os), strings.ToLower(arch)
	os, arch = cmp.Or(otherSystems[os], os), cmp.Or(otherArchitectures[arch], arch)
	if _, err := registry.ParsePlatform(os, arch); err != nil {
		return ""
	}
	return ": write " + os + "_" + arch
}

// misplaced rejects a zip, which can only have been meant as a package, and
// ignores any other file.
func misplaced(isZip bool, format string, args ...any) error {
	if isZip {
		return Reject(format, args...)
	}
	return Ignore(format, args...)
}

func parseKeysKey(parts []string) (Upload, error) {
	if name := parts[len(parts)-1]; !strings.EqualFold(path.Ext(name), ".asc") {
		return Upload{}, Ignore("an author's public key is armored, in an .asc file (gpg --armor --export), and this is %q", name)
	}
	if len(parts) != 2 {
		return Upload{}, Reject("an author's public keys go to keys/<namespace>/<any name>.asc")
	}
	// A namespace follows the rules of provider namespaces; the type is there
	// only to make an address of it.
	if _, err := registry.ParseProviderAddress(parts[0], "type"); err != nil {
		return Upload{}, Reject("%q is not a provider namespace: %v", parts[0], err)
	}
	return Upload{Kind: AuthorKeys, Namespace: parts[0]}, nil
}
