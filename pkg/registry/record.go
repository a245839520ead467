package registry

import (
	"fmt"
	"time"
)

// Kind says what a record changes.
type Kind string

// The kinds of records.
const (
	KindModule   Kind = "module"   // a module version's archive was accepted
	KindPackage  Kind = "package"  // a provider version's package for one platform was accepted
	KindManifest Kind = "manifest" // a provider version's registry manifest was accepted
	KindDocs     Kind = "docs"     // a provider version's documentation was accepted
	KindRelease  Kind = "release"  // a provider version's SHA256SUMS was signed and is now the one that is served
	KindStanding Kind = "standing" // a version was deprecated, withdrawn or restored
)

// Record is one entry in the log of a version. Exactly the field that its kind
// names is set.
type Record struct {
	Kind    Kind      `json:"kind"`
	Version Version   `json:"version"` // as published, with its build metadata
	Time    time.Time `json:"time"`
	Upload  string    `json:"upload,omitempty"` // the inbox key that brought it
	By      string    `json:"by,omitempty"`     // who uploaded that, if S3 said so

	Module   *ModuleArchive `json:"module,omitempty"`
	Package  *Package       `json:"package,omitempty"`
	Manifest *Manifest      `json:"manifest,omitempty"`
	Docs     *Docs          `json:"docs,omitempty"`
	Release  *Release       `json:"release,omitempty"`
	Standing *Standing      `json:"standing,omitempty"`
}

// ModuleArchive is the archive of one module version.
type ModuleArchive struct {
	Format       string `json:"format"`           // "zip" or "tar.gz"
	SHA256       string `json:"sha256"`           // of the archive as it is served, lower-case hex
	H1           string `json:"h1"`               // of the files in it, "h1:…"
	Size         int64  `json:"size"`             // of the archive as it is served, in bytes
	UploadSHA256 string `json:"upload_sha256"`    // of the archive as it was uploaded, which may have been unwrapped
	Source       string `json:"source,omitempty"` // as its publisher says; see [CheckSource]
}

// Package is a provider's package for one platform.
type Package struct {
	Platform  Platform `json:"platform"`
	SHA256    string   `json:"sha256"` // lower-case hex
	H1        string   `json:"h1"`     // "h1:…", as the clients compute it from the zip
	Size      int64    `json:"size"`   // in bytes
	Protocols []string `json:"protocols,omitempty"`
	Source    string   `json:"source,omitempty"` // of the version, as the package's publisher says; see [CheckSource]

	// Sequence is the number of the record that accepted the package. It is
	// part of states and not of records.
	Sequence int `json:"sequence,omitempty"`
}

// Manifest is what a release's registry manifest says.
type Manifest struct {
	SHA256    string   `json:"sha256"` // of the file, lower-case hex
	Protocols []string `json:"protocols"`
}

// Docs is the zip with the documentation of a provider version.
type Docs struct {
	SHA256 string `json:"sha256"` // lower-case hex
	Size   int64  `json:"size"`   // in bytes
}

// Release is a version's signed SHA256SUMS. The registry's own covers every
// package accepted before it; the author's covers those accepted later, too,
// since they are accepted only if it lists them.
type Release struct {
	Author    bool         `json:"author,omitempty"` // signed by the author, not by the registry
	SHA256    string       `json:"sha256"`           // of SHA256SUMS, lower-case hex
	Signature string       `json:"signature"`        // sha256 of the detached signature, lower-case hex
	Keys      []SigningKey `json:"keys"`             // never empty

	// Sequence is the number of the record. It is part of states and not of
	// records.
	Sequence int `json:"sequence,omitempty"`
}

// SigningKey is a public key, as the provider registry protocol shows it.
type SigningKey struct {
	KeyID      string `json:"key_id"` // 16 upper-case hex digits
	ASCIIArmor string `json:"ascii_armor"`
}

func unknownRecord(address fmt.Stringer, sequence int, kind Kind) error {
	return fmt.Errorf("record %d of %s is of a kind that this larder does not know (%q): a newer one wrote it, so upgrade this one", sequence, address, kind)
}

// Now is the time as records and outcomes have it: seconds are enough.
func Now() time.Time { return time.Now().UTC().Truncate(time.Second) }
