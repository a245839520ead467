package publish

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

// The folders of the inbox.
const (
	keysFolder      = "keys/"
	mirrorFolder    = "mirror/"
	modulesFolder   = "modules/"
	providersFolder = "providers/"
)

// InboxFolders are where uploads lie, in the order in which they are looked through: so
// authors' keys come before what they sign.
var InboxFolders = []string{keysFolder, mirrorFolder, modulesFolder, providersFolder}

// kind is what an upload is.
type kind int

const (
	moduleArchive kind = iota
	providerPackage
	releaseSHA256SUMS
	releaseSignature
	releaseManifest
	authorKeys
	mirrorDocument
)

// upload is what the key of an upload says.
type upload struct {
	kind      kind
	module    registry.ModuleAddress   // of a module archive
	format    archive.Format           // of a module archive
	provider  registry.ProviderAddress // of a package, a release file or a mirror's document
	platform  registry.Platform        // of a package
	version   registry.Version         // of all but keys
	namespace string                   // of keys
}

// String names the upload as its publisher would.
func (u upload) String() string {
	switch u.kind {
	case moduleArchive:
		return fmt.Sprintf("module %s %s", u.module, u.version)
	case providerPackage:
		return fmt.Sprintf("provider %s %s for %s", u.provider, u.version, u.platform)
	case releaseSHA256SUMS:
		return fmt.Sprintf("SHA256SUMS of provider %s %s", u.provider, u.version)
	case releaseSignature:
		return fmt.Sprintf("signature of provider %s %s", u.provider, u.version)
	case releaseManifest:
		return fmt.Sprintf("manifest of provider %s %s", u.provider, u.version)
	case mirrorDocument:
		return fmt.Sprintf("mirror document of provider %s %s", u.provider, u.version)
	default:
		return "signing keys of " + u.namespace
	}
}

// executable is what a provider's package has to hold. Whether one of another registry
// runs is up to that registry: the mirror has it as it is there.
func (u upload) executable() archive.Provider {
	if u.provider.Mirrored() {
		return archive.Provider{Type: u.provider.Type}
	}
	return archive.Provider{Type: u.provider.Type, OS: u.platform.OS, Arch: u.platform.Arch}
}

// folders are where the files of a provider's release may lie.
func (u upload) folders() []string {
	flat := providersFolder + u.provider.String()
	return []string{flat, flat + "/" + u.version.String()}
}

// parseKey reads the key of an upload. What lies where packages belong but
// breaks their rules is rejected, anything else that is no upload is ignored:
// the error is a [verdict].
func parseKey(key string) (upload, error) {
	parts := strings.Split(key, "/")
	switch {
	case strings.HasPrefix(key, modulesFolder):
		return parseModuleKey(parts[1:])
	case strings.HasPrefix(key, providersFolder):
		return parseProviderKey(parts[1:])
	case strings.HasPrefix(key, mirrorFolder):
		return parseMirrorKey(parts[1:])
	case strings.HasPrefix(key, keysFolder):
		return parseKeysKey(parts[1:])
	default:
		return upload{}, ignore("uploads go under %s, %s, %s or %s%s", modulesFolder, providersFolder, mirrorFolder, keysFolder, meantFolder(parts))
	}
}

// meantFolder says where an upload may have been meant to go that is nothing here.
func meantFolder(parts []string) string {
	for _, folder := range InboxFolders {
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

// archiveExtensions are the endings by which an archive is told from a stray
// file. Of these the first three can be published.
var archiveExtensions = []string{
	".zip", ".tar.gz", ".tgz",
	".tar", ".gz", ".bz2", ".xz", ".zst", ".lz", ".lzma", ".tbz2", ".txz", ".tzst", ".7z", ".rar", ".jar",
}

// archiveExtension is the position of a file name's ending, in any case, among
// the archiveExtensions, or -1.
func archiveExtension(name string) int {
	return slices.IndexFunc(archiveExtensions, func(ext string) bool { return strings.HasSuffix(strings.ToLower(name), ext) })
}

func parseModuleKey(parts []string) (upload, error) {
	name := parts[len(parts)-1]
	at := archiveExtension(name)
	if at < 0 {
		return upload{}, ignore("it is not an archive: modules are .zip, .tar.gz or .tgz files")
	}
	version, supported := strings.CutSuffix(name, archiveExtensions[at])
	if at > 2 || !supported {
		return upload{}, reject("a module archive ends in .zip, .tar.gz or .tgz, in lower case; this is %q", name)
	}
	if len(parts) != 4 {
		return upload{}, reject("a module archive goes to modules/<namespace>/<name>/<system>/<version>%s", archiveExtensions[at])
	}
	u := upload{kind: moduleArchive, format: archive.TarGz}
	if at == 0 {
		u.format = archive.Zip
	}
	var problems problems
	var err error
	u.module, err = registry.ParseModuleAddress(parts[0], parts[1], parts[2])
	problems.add(err)
	u.version, err = registry.ParseVersion(version)
	problems.add(err)
	return u, problems.verdict()
}

func parseProviderKey(parts []string) (upload, error) {
	name := parts[len(parts)-1]
	isZip := strings.EqualFold(path.Ext(name), ".zip")
	if len(parts) != 3 && len(parts) != 4 {
		return upload{}, misplaced(isZip, "a provider package goes to providers/<namespace>/<type>/ or providers/<namespace>/<type>/<version>/")
	}
	address, err := registry.ParseProviderAddress(parts[0], parts[1])
	if err != nil {
		return upload{}, misplaced(isZip, "%v", err)
	}
	if !isZip && archiveExtension(name) >= 0 {
		return upload{}, ignore("a provider package is a .zip file, and this is %q: zip its executable", name)
	}
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+address.Type+"_")
	if !ok {
		return upload{}, misplaced(isZip, "in the folder of provider %s a package is named terraform-provider-%s_<version>_<os>_<arch>.zip; this is %q", address, address.Type, name)
	}
	u, err := parseProviderFile(name, rest)
	if err != nil {
		return upload{}, misplaced(isZip, "%v", err)
	}
	u.provider = address
	if len(parts) == 4 && parts[2] != u.version.String() {
		return upload{}, misplaced(isZip, "the file is of version %s, but lies in the folder of %q", u.version, parts[2])
	}
	return u, nil
}

// parseMirrorKey reads the key of a file as `terraform providers mirror` lays it
// out.
func parseMirrorKey(parts []string) (upload, error) {
	name := parts[len(parts)-1]
	isZip := strings.EqualFold(path.Ext(name), ".zip")
	if len(parts) != 4 {
		return upload{}, misplaced(isZip, "a mirrored package goes to mirror/<hostname>/<namespace>/<type>/, as terraform providers mirror lays it out")
	}
	address, err := registry.ParseMirroredAddress(parts[0], parts[1], parts[2])
	if err != nil {
		return upload{}, misplaced(isZip, "%v", err)
	}
	if version, ok := strings.CutSuffix(name, ".json"); ok {
		return parseMirrorDocument(address, version)
	}
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+address.Type+"_")
	if !ok {
		return upload{}, misplaced(isZip, "in the folder of provider %s a package is named terraform-provider-%s_<version>_<os>_<arch>.zip; this is %q", address, address.Type, name)
	}
	u, err := parseProviderFile(name, rest)
	if err == nil && u.kind != providerPackage {
		err = errors.New("a mirror serves packages alone: their hashes stand in for SHA256SUMS and signature")
	}
	if err != nil {
		return upload{}, misplaced(isZip, "%v", err)
	}
	u.provider = address
	return u, nil
}

func parseMirrorDocument(address registry.ProviderAddress, version string) (upload, error) {
	v, err := registry.ParseVersion(version)
	if err != nil {
		return upload{}, ignore("it is not the document of a version; a mirror's index follows from its packages")
	}
	return upload{kind: mirrorDocument, provider: address, version: v}, nil
}

// parseProviderFile reads the name of a release's file, of which rest is what
// follows terraform-provider-<type>_.
func parseProviderFile(name, rest string) (upload, error) {
	if len(name) > maxFilename {
		return upload{}, fmt.Errorf("the file's name has %d characters, %d are allowed: choose a shorter version or platform", len(name), maxFilename)
	}
	version, what, _ := strings.Cut(rest, "_")
	var u upload
	var err error
	switch lower := strings.ToLower(what); {
	case what == "SHA256SUMS":
		u.kind = releaseSHA256SUMS
	case what == "SHA256SUMS.sig":
		u.kind = releaseSignature
	case what == "manifest.json":
		u.kind = releaseManifest
	case strings.HasPrefix(lower, "sha256sum"), strings.HasPrefix(lower, "checksums"):
		return upload{}, fmt.Errorf("the checksums of a release are named terraform-provider-<type>_<version>_SHA256SUMS, and their binary signature (gpg --detach-sign) the same with .sig; this is %q", name)
	default:
		u.kind = providerPackage
		if u.platform, err = parsePackagePlatform(what); err != nil {
			return upload{}, err
		}
	}
	u.version, err = registry.ParseVersion(version)
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
		return reject(format, args...)
	}
	return ignore(format, args...)
}

func parseKeysKey(parts []string) (upload, error) {
	if name := parts[len(parts)-1]; !strings.EqualFold(path.Ext(name), ".asc") {
		return upload{}, ignore("an author's public key is armored, in an .asc file (gpg --armor --export), and this is %q", name)
	}
	if len(parts) != 2 {
		return upload{}, reject("an author's public keys go to keys/<namespace>/<any name>.asc")
	}
	// A namespace follows the rules of provider namespaces; the type is there
	// only to make an address of it.
	if _, err := registry.ParseProviderAddress(parts[0], "type"); err != nil {
		return upload{}, reject("%q is not a provider namespace: %v", parts[0], err)
	}
	return upload{kind: authorKeys, namespace: parts[0]}, nil
}
