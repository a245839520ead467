package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

// zipFile is a file in a zip, with the name under which it was admitted.
type zipFile struct {
	*zip.File
	name string
}

// checkZip lists the zip and reads every file in it, and returns the files.
func (in *inspection) checkZip() []zipFile {
	zr := in.openZip()
	if zr == nil {
		return nil
	}
	files := in.listZip(zr)
	if in.exceeded || !in.disjoint(files) {
		return files
	}
	for _, f := range files {
		in.readZipFile(f)
	}
	return files
}

// openZip reads the central directory. The standard library compares only the lowest 16
// bits of the number of entries, and reads as many as it finds. So the number is checked
// first, and there is a budget for what is read.
func (in *inspection) openZip() *zip.Reader {
	if !in.hasMagic(Zip, "PK\x03\x04", "PK\x05\x06") {
		return nil
	}
	if n := in.src.zipEntries(); n > uint64(in.rules.entries) {
		in.violate("The zip says that it holds %d entries; at most %d files and folders are accepted.", n, in.rules.entries)
		return nil
	}
	const searchForEnd = 256 << 10 // what is read beside the directory itself
	in.src.budget = in.rules.directory + searchForEnd
	zr, err := zip.NewReader(in.src, in.src.size)
	in.src.budget = math.MaxInt64
	if errors.Is(err, errBudget) {
		in.violate("The central directory of the zip takes more than %s.", bytesText(in.rules.directory))
		return nil
	}
	if err != nil {
		in.violate("The zip has no readable central directory at its end: it is truncated or damaged.")
		return nil
	}
	// It takes two thirds of the time of the standard library's. Most of the time to
	// publish a large package is spent there.
	zr.RegisterDecompressor(zip.Deflate, flate.NewReader)
	return zr
}

// zipEntries returns how many entries the zip says it has, or 0 if it does not say. It is
// checked before anything is allocated for that many. APPNOTE.TXT 4.3.14 to 4.3.16.
func (s *source) zipEntries() uint64 {
	const (
		endLen, locatorLen, end64Len = 22, 20, 56
		longestComment               = math.MaxUint16
	)
	tail := make([]byte, min(s.size, endLen+longestComment))
	start := s.size - int64(len(tail))
	n, _ := s.ReadAt(tail, start) // a failure stays in s.err
	end := bytes.LastIndex(tail[:max(0, n-endLen+4)], []byte("PK\x05\x06"))
	if end < 0 {
		return 0
	}
	entries := uint64(binary.LittleEndian.Uint16(tail[end+10:]))

	var locator [locatorLen]byte
	_, _ = s.ReadAt(locator[:], start+int64(end)-locatorLen) // what is not there is zeros
	if !bytes.HasPrefix(locator[:], []byte("PK\x06\x07")) {
		return entries
	}
	var end64 [end64Len]byte
	_, _ = s.ReadAt(end64[:], int64(binary.LittleEndian.Uint64(locator[8:]))) // likewise
	entries64 := binary.LittleEndian.Uint64(end64[32:])
	if entries == math.MaxUint16 && bytes.HasPrefix(end64[:], []byte("PK\x06\x06")) {
		return entries64 // the other number says no more than that it is here
	}
	return max(entries, entries64)
}

// listZip checks every entry by its header in the central directory.
func (in *inspection) listZip(zr *zip.Reader) []zipFile {
	var files []zipFile
	for _, f := range zr.File {
		if problem := zipProblem(f); problem != "" {
			in.violate("%s %s", quote(f.Name), problem)
			continue
		}
		if strings.HasSuffix(f.Name, "/") {
			if name, ok := in.admit(f.Name, folder); ok {
				in.readFolder(f)
				in.folders = append(in.folders, name)
			}
			continue
		}
		in.expand(f.UncompressedSize64)
		if name, ok := in.admit(f.Name, file); ok {
			files = append(files, zipFile{f, name})
		}
	}
	return files
}

// zipProblem says what is wrong with an entry other than its name, or "".
func zipProblem(f *zip.File) string {
	const encrypted = 1<<0 | 1<<6 | 1<<13 // APPNOTE.TXT 4.4.4
	const deflatedNothing = 5             // bytes at most: Java's tools deflate folders
	isFolder := strings.HasSuffix(f.Name, "/")
	switch mode := f.Mode().Type(); {
	case hasAnotherName(f.Name, f.Extra):
		return "has another name in a Unicode path field (0x7075); which of them counts is not the same everywhere."
	case f.Flags&encrypted != 0:
		return "is encrypted; nobody could install it."
	case mode&^fs.ModeDir != 0:
		return fmt.Sprintf("is %s; only regular files and folders are accepted.", modeText(mode))
	case mode.IsDir() && !isFolder:
		return `is marked as a folder, but its name does not end in "/".`
	case isFolder && (f.UncompressedSize64 > 0 || f.CompressedSize64 > deflatedNothing):
		return "is a folder, but has content."
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("is compressed by method %d; only stored and deflated entries are accepted.", f.Method)
	default:
		return ""
	}
}

func modeText(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	default: // the last of the kinds that a zip can state
		return "a socket"
	}
}

// disjoint reports whether each file has compressed bytes of its own, inside the archive,
// after headers that are not too large. In some bombs files share their bytes.
func (in *inspection) disjoint(files []zipFile) bool {
	type span struct {
		zipFile
		start, end uint64
	}
	var spans []span
	inside := true
	for _, f := range files {
		offset, err := in.locate(f.File)
		start, length := uint64(offset), f.CompressedSize64
		if err != nil || start > uint64(in.src.size) || length > uint64(in.src.size)-start {
			in.violate("The content of %s does not lie within the archive: it is truncated or damaged.", quote(f.name))
			inside = false
			continue
		}
		if length > 0 {
			spans = append(spans, span{f, start, start + length})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.start < a.end {
			in.violate("%s and %s share the same bytes of the archive.", quote(a.name), quote(b.name))
			return false
		}
	}
	return inside && !in.exceeded
}

// readFolder checks that a folder has a header before its (empty) content: the clients
// hash a zip by reading all of its entries, and fail without this header.
func (in *inspection) readFolder(f *zip.File) {
	if _, err := in.locate(f); err != nil {
		in.damaged(f.Name, err)
	}
}

func (in *inspection) readZipFile(f zipFile) {
	rc, err := f.Open()
	if err == nil {
		err = in.read(f.name, rc)
		rc.Close()
	}
	switch {
	case errors.Is(err, zip.ErrChecksum):
		in.violate("The content of %s does not match its checksum: the archive is damaged.", quote(f.name))
	case err != nil:
		in.damaged(f.name, err)
	}
}
