// Package archive states what a provider zip, a module archive or a zip of a provider's
// documentation may hold, and computes the h1 hashes of the first two.
//
// The clients check little when they unpack an archive: they have no limits, turn symbolic
// links into empty files, and on a file system that ignores case let one file overwrite
// another. So an archive is checked before it is published. It is accepted if it keeps
// these rules:
//
//   - It is what its name says, a zip or a gzip-compressed tar, from its first
//     byte on, and complete: every checksum in it is verified. After the end of
//     a tar only zero bytes follow, at most [MaxPadding] of them.
//   - It holds at least one file.
//   - It expands to at most [MaxProviderExpanded] or [MaxModuleExpanded] bytes
//     of file content, and beyond the first [RatioFree] bytes to at most
//     [MaxRatio] times its own size. The headers and padding of a tar come to
//     at most [MaxTarOverhead] bytes more.
//   - It holds at most [MaxFiles] files, and [MaxEntries] files and folders,
//     counting the folders that are only named in the path of a file. All names
//     together take at most [MaxNames] bytes, and the central directory of a
//     zip at most [MaxDirectory], as the headers before its entries do.
//   - Names are relative, in UTF-8, with forward slashes: no leading "/", no
//     backslash, no empty, "." or ".." segment, at most [MaxName] bytes, and
//     [MaxSegment] in each segment. In a module archive a leading "./" is not
//     part of the name.
//   - Names are visible and valid on every system. They have no control, format or other
//     invisible characters, no unassigned or private ones, and none of <>:"|?*. No segment
//     ends in a dot or a space, is a device to Windows (NUL, com1.txt) or has the form of
//     its short names (MODULE~1.TF).
//   - No two names, of files or folders, are equal, or differ only in case or in how
//     Unicode writes them. No file is also a folder.
//   - Everything is a regular file or a folder: no symbolic or hard links, no
//     devices, no pipes, no sparse files. A pax global header, which git puts
//     into its tarballs, is not an entry, and must not change what entries are.
//   - No entry has a second name, in a pax header beside a GNU long name or in a
//     zip's Unicode path field. In a zip the header before an entry's content has the same
//     name, compression, sizes and checksum as the directory. Else a scanner could see
//     other files than the clients.
//   - Entries of a zip are stored or deflated, not encrypted, and share no
//     bytes with one another.
//   - A provider zip holds, at its top level, a non-empty file named
//     terraform-provider-TYPE, followed by nothing, "_" or ".": the clients run
//     the first such file in the order of names. It is executable, unless it is for
//     Windows: the clients unpack it with its mode in the zip. If it is an ELF, Mach-O or
//     PE file, it is built for the package's platform.
//   - A module archive holds a file that Terraform or OpenTofu reads as configuration,
//     in any folder: .tf, .tofu, .tf.json or .tofu.json. An archive with a file named
//     terraform-provider-… at the top level must have configuration there, too: else it
//     is a provider package.
//   - A zip of documentation holds a page: a file that ends in .md or .markdown, below docs/
//     or website/docs/. These lie at the top level, or in one folder around everything. For
//     the rest, the limits of modules hold.
//   - [ParseManifest] accepts the [ManifestName] at the top level of a provider zip, if
//     there is one.
//
// State files and values of variables in a module archive are accepted, with a warning.
//
// A module archive whose only top-level entry is a folder that itself directly
// holds a .tf, .tofu, .tf.json or .tofu.json file is wrapped: its module is the
// folder, and [Unwrap] makes an archive of the folder's content. No client does
// this by itself for a module that comes from a registry.
//
// The h1 hash is that of golang.org/x/mod/sumdb/dirhash, which the clients
// write into their lock files. For a provider zip it is over all entries, including
// folders; for a module over its files alone, so that it is the same for a zip and a
// tar.gz of one tree, wrapped or not.
//
// Content is streamed. Only the names and a checksum per file are kept in memory, both
// bounded by the limits above.
package archive

import (
	"fmt"
	"slices"
)

// The limits. Sizes are in bytes.
const (
	// MaxProviderExpanded is how large the files of a provider zip may be together.
	MaxProviderExpanded = 8 << 30
	// MaxModuleExpanded is how large the files of a module archive may be together.
	MaxModuleExpanded = 256 << 20
	// MaxRatio is how many times larger than the archive its files may be, not
	// counting the first RatioFree bytes.
	MaxRatio = 200
	// RatioFree is how much an archive may expand to whatever its own size.
	RatioFree = 10 << 20
	// MaxFiles is how many files an archive may hold.
	MaxFiles = 20_000
	// MaxEntries is how many files and folders an archive may hold, counting
	// the folders that have no entry of their own.
	MaxEntries = 2 * MaxFiles
	// MaxName is how long the full name of a file or folder may be. A path on macOS
	// may have twice as much, and the clients put their own folders in front of it.
	MaxName = 512
	// MaxSegment is how long a segment of a name may be, as on common file systems.
	MaxSegment = 255
	// MaxNames is how long all names of an archive may be together.
	MaxNames = 4 << 20
	// MaxDirectory is how large the central directory of a zip may be, and the
	// headers before its entries together.
	MaxDirectory = 8 << 20
	// MaxTarOverhead is how much the headers and padding of a tar may add to
	// the content of its files.
	MaxTarOverhead = 128 << 20
	// MaxPadding is how many zero bytes may follow the end of a tar.
	MaxPadding = 1 << 20
	// MaxManifest is how large a terraform-registry-manifest.json may be.
	MaxManifest = 64 << 10
	// MaxViolations is how many violations of one archive are reported.
	MaxViolations = 100
)

// rules are the rules that differ between kinds of archives. Tests make them
// small.
type rules struct {
	expanded  int64
	ratioFree int64
	ratio     int64
	files     int
	entries   int
	names     int
	directory int64
	overhead  int64
	padding   int64
	dotSlash  bool // a leading "./" is not part of a name
}

func providerRules() rules {
	r := moduleRules()
	r.expanded = MaxProviderExpanded
	r.dotSlash = false // the h1 hash covers names as they are written
	return r
}

func moduleRules() rules {
	return rules{
		expanded:  MaxModuleExpanded,
		ratioFree: RatioFree,
		ratio:     MaxRatio,
		files:     MaxFiles,
		entries:   MaxEntries,
		names:     MaxNames,
		directory: MaxDirectory,
		overhead:  MaxTarOverhead,
		padding:   MaxPadding,
		dotSlash:  true,
	}
}

// A Format is the file format of an archive.
type Format int

// The formats of module archives. Provider packages are always Zip.
const (
	Zip Format = iota
	TarGz
)

// String returns "zip" or "tar.gz".
func (f Format) String() string {
	switch f {
	case Zip:
		return "zip"
	case TarGz:
		return "tar.gz"
	default:
		return fmt.Sprintf("Format(%d)", int(f))
	}
}

// Ext returns the file name extension of the format, ".zip" or ".tar.gz".
func (f Format) Ext() string { return "." + f.String() }

// Violations are the reasons, each a full sentence, why an archive is not accepted: all of
// them, up to [MaxViolations]. Any other error of this package means that the archive
// could not be read; the archive may be good.
type Violations []string

// Error returns the first violation and how many more there are.
func (v Violations) Error() string {
	switch len(v) {
	case 0:
		return "no violations"
	case 1:
		return v[0]
	default:
		return fmt.Sprintf("%s (and %d more)", v[0], len(v)-1)
	}
}

// add adds a violation, once, as long as there is room.
func (v *Violations) add(sentence string) {
	if len(*v) < MaxViolations && !slices.Contains(*v, sentence) {
		*v = append(*v, sentence)
	}
}
