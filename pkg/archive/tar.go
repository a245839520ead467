package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// errTooLong is the error of a tarStream that is longer than it may be.
var errTooLong = errors.New("archive: the tar stream is too long")

// A tarStream is the tar inside of a tar.gz. It is bounded as a whole, since headers and
// skipped entries also cost time.
type tarStream struct {
	gz   *gzip.Reader
	left int64
}

func newTarStream(src *source, rules rules) (*tarStream, error) {
	gz, err := gzip.NewReader(bufio.NewReaderSize(src.reader(), 32<<10))
	if err != nil {
		return nil, err
	}
	return &tarStream{gz, rules.expanded + rules.overhead}, nil
}

func (s *tarStream) Read(p []byte) (int, error) {
	n, err := s.gz.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// checkTarGz reads the archive from its first byte to its last.
func (in *inspection) checkTarGz() {
	if !in.hasMagic(TarGz, "\x1f\x8b") {
		return
	}
	stream, err := newTarStream(in.src, in.rules)
	if err != nil {
		in.brokenTar("", err)
		return
	}
	tr := tar.NewReader(stream)
	for last := ""; !in.exceeded; {
		h, err := tr.Next()
		if err == io.EOF {
			in.checkPadding(stream, last)
			return
		}
		if err != nil {
			in.brokenTar(last, err)
			return
		}
		if err := in.readTarEntry(h, tr); err != nil {
			in.brokenTar(h.Name, err)
			return
		}
		last = h.Name
	}
}

func (in *inspection) readTarEntry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		if key := redefinesEntries(h); key != "" {
			in.violate("The archive has a pax global header that says %s for the entries after it: some programs believe it, and the clients do not.", quote(key))
		}
		return nil
	}
	if problem := tarProblem(h); problem != "" {
		in.violate("%s %s", quote(h.Name), problem)
		return nil
	}
	if h.Typeflag == tar.TypeDir {
		in.admit(h.Name, folder)
		return nil
	}
	in.expand(uint64(h.Size))
	name, ok := in.admit(h.Name, file)
	if in.exceeded || !ok {
		return nil
	}
	return in.read(name, r)
}

// redefinesEntries returns the key of a pax global header that would change the files after
// it, or "". The standard library, and so the clients, ignore these keys; GNU tar and
// Python, and so scanners, do not.
func redefinesEntries(global *tar.Header) string {
	for _, key := range slices.Sorted(maps.Keys(global.PAXRecords)) {
		if key == "path" || key == "linkpath" || key == "size" || strings.HasPrefix(key, "GNU.sparse.") {
			return key
		}
	}
	return ""
}

// tarProblem says what is wrong with an entry other than its name, or "".
func tarProblem(h *tar.Header) string {
	const accepted = "only regular files and folders are accepted."
	if path, ok := h.PAXRecords["path"]; ok && path != h.Name { // then it also has a GNU long name
		return fmt.Sprintf("has another name, %s, in a header of another kind; which of them counts is not the same everywhere.", quote(path))
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "is a sparse file; " + accepted
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
		return ""
	case tar.TypeSymlink:
		return fmt.Sprintf("is a symbolic link to %s; %s", quote(h.Linkname), accepted)
	case tar.TypeLink:
		return fmt.Sprintf("is a hard link to %s; %s", quote(h.Linkname), accepted)
	case tar.TypeChar, tar.TypeBlock:
		return "is a device; " + accepted
	case tar.TypeFifo:
		return "is a named pipe; " + accepted
	case tar.TypeGNUSparse:
		return "is a sparse file; " + accepted
	default:
		return fmt.Sprintf("is of the unknown tar type %q; %s", h.Typeflag, accepted)
	}
}

// brokenTar notes that the archive could not be read on in or after the entry
// last, or "" when there has been none.
func (in *inspection) brokenTar(last string, err error) {
	where := "at its beginning"
	if last != "" {
		where = "in or after " + quote(last)
	}
	switch truncated := errors.Is(err, io.ErrUnexpectedEOF); {
	case errors.Is(err, errTooLong):
		in.exceed("The tar takes more than %s, headers and padding included.", bytesText(in.rules.expanded+in.rules.overhead))
	case truncated && last == "":
		in.violate("The archive ends before its first entry: it is truncated, or not a tar.gz.")
	case truncated:
		in.violate("The archive is truncated: it ends %s.", where)
	case errors.Is(err, gzip.ErrChecksum):
		in.violate("The archive does not match its gzip checksum: it is damaged.")
	case errors.Is(err, gzip.ErrHeader):
		in.violate("The archive has data in or around its gzip stream that is not gzip: it is damaged.")
	case errors.Is(err, tar.ErrHeader) && last == "":
		in.violate("The file is gzip, but what it compresses is not a tar archive.")
	default:
		in.violate("The archive is damaged %s.", where)
	}
}

// checkPadding reads from the end of the tar to the end of the gzip stream, where the
// checksum is. Other data there is refused: nobody would ever see it, for instance the
// second of two concatenated tars.
func (in *inspection) checkPadding(stream *tarStream, last string) {
	for total := int64(0); ; {
		n, err := stream.Read(in.buf)
		if len(bytes.TrimLeft(in.buf[:n], "\x00")) > 0 {
			in.violate("The archive has data after the end of its tar.")
			return
		}
		if total += int64(n); total > in.rules.padding {
			in.violate("The archive has more than %s of padding after the end of its tar.", bytesText(in.rules.padding))
			return
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			in.brokenTar(last, err)
			return
		}
	}
}
