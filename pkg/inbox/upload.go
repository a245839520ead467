package inbox

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// Limits of uploads.
const (
	// MaxUpload is the largest upload, in bytes: the most that a bucket copies.
	MaxUpload = blob.MaxCopy

	// MaxMirrorDocument is the largest mirror document of a version, in bytes.
	MaxMirrorDocument = 1 << 20

	// MaxDocs is the largest zip of a provider's documentation, in bytes. That of the
	// largest public provider has some 10 MB.
	MaxDocs = 64 << 20

	// maxFilename is the longest file name in a release, in bytes. SHA256SUMS and
	// file systems allow 255, and the name of the outcome is longer by ".json".
	maxFilename = 250
)

// The folders of the inbox.
const (
	KeysFolder      = "keys/"
	mirrorFolder    = "mirror/"
	modulesFolder   = "modules/"
	ProvidersFolder = "providers/"
)

// Folders are the folders of the inbox, in the order of their keys. So authors' keys are
// found before what they sign.
var Folders = []string{KeysFolder, mirrorFolder, modulesFolder, ProvidersFolder}

// Kind is what an upload is.
type Kind int

// The kinds of uploads.
const (
	ModuleArchive Kind = iota
	ProviderPackage
	SHA256SUMS // by an author, of the packages of a version
	Signature  // of an author's SHA256SUMS
	Manifest   // of a provider version, with its protocols
	Docs       // of a provider version: a zip of Markdown pages
	AuthorKeys
	MirrorDocument
)

// Upload is what the key of an upload says.
type Upload struct {
	Kind      Kind
	Module    registry.ModuleAddress   // of a module archive
	Format    archive.Format           // of a module archive
	Provider  registry.ProviderAddress // of a package, a release file or a mirror's document
	Platform  registry.Platform        // of a package
	Version   registry.Version         // of all but keys
	Namespace string                   // of keys
}

// String names the upload as its publisher would.
func (u Upload) String() string {
	switch u.Kind {
	case ModuleArchive:
		return fmt.Sprintf("module %s %s", u.Module, u.Version)
	case ProviderPackage:
		return fmt.Sprintf("provider %s %s for %s", u.Provider, u.Version, u.Platform)
	case SHA256SUMS:
		return fmt.Sprintf("SHA256SUMS of provider %s %s", u.Provider, u.Version)
	case Signature:
		return fmt.Sprintf("signature of provider %s %s", u.Provider, u.Version)
	case Manifest:
		return fmt.Sprintf("manifest of provider %s %s", u.Provider, u.Version)
	case Docs:
		return fmt.Sprintf("documentation of provider %s %s", u.Provider, u.Version)
	case MirrorDocument:
		return fmt.Sprintf("mirror document of provider %s %s", u.Provider, u.Version)
	case AuthorKeys:
		return "signing keys of " + u.Namespace
	default:
		return ""
	}
}

// Executable is what a provider's package must contain. A mirrored package is not checked
// for its platform: the mirror serves what its origin serves.
func (u Upload) Executable() archive.Provider {
	if u.Provider.Mirrored() {
		return archive.Provider{Type: u.Provider.Type}
	}
	return archive.Provider{Type: u.Provider.Type, OS: u.Platform.OS, Arch: u.Platform.Arch}
}

// Folders are where the files of a provider's release may lie.
func (u Upload) Folders() []string {
	flat := ProvidersFolder + u.Provider.String()
	return []string{flat, flat + "/" + u.Version.String()}
}

// MaxSize is the largest upload of its kind, in bytes.
func (u Upload) MaxSize() int64 {
	switch u.Kind {
	case SHA256SUMS:
		return shasums.MaxSize
	case Signature:
		return signing.MaxSignature
	case Manifest:
		return archive.MaxManifest
	case Docs:
		return MaxDocs
	case AuthorKeys:
		return signing.MaxKeyFile
	case MirrorDocument:
		return MaxMirrorDocument
	case ModuleArchive, ProviderPackage:
		return MaxUpload
	default:
		return 0
	}
}
