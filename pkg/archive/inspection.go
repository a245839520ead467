package archive

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"
)

// An inspection is the check of one archive. Its methods note violations and go on where
// they can; the verdict comes at the end.
type inspection struct {
	src         *source
	rules       rules
	violations  Violations
	tree        tree
	admitted    int       // files whose names are fine
	files       []content // files that have been read
	folders     []string
	headers     int64 // bytes of the headers before the entries of a zip
	expanded    int64 // bytes of the files' content, as the headers say
	exceeded    bool  // whether a limit is exceeded: then nothing more is expanded
	buf         []byte
	hashBuffers []byte // for large files; made when the first one comes
}

// content is the name and the checksum of a file.
type content struct {
	name string
	sum  [sha256.Size]byte
}

func inspect(ctx context.Context, r io.ReaderAt, size int64, rules rules) *inspection {
	return &inspection{src: newSource(ctx, r, size), rules: rules, buf: make([]byte, 64<<10)}
}

// verdict returns nil, Violations, or why the archive could not be read.
func (in *inspection) verdict() error {
	if in.src.err != nil {
		return fmt.Errorf("reading the archive: %w", in.src.err)
	}
	if in.src.short {
		in.violate("The file ends before the size that is stated for it: it is truncated.")
	}
	if len(in.violations) == 0 && len(in.files) == 0 {
		in.violate("The archive holds no file.")
	}
	if len(in.violations) > 0 {
		return in.violations
	}
	return nil
}

func (in *inspection) violate(format string, args ...any) {
	in.violations.add(fmt.Sprintf(format, args...))
}

// exceed notes a violation after which the archive is expanded no further.
func (in *inspection) exceed(format string, args ...any) {
	in.violate(format, args...)
	in.exceeded = true
}

// admit checks the name of a file or folder and returns it without "./" in front and "/"
// behind. It returns false if the name breaks a rule, or is that of the root.
func (in *inspection) admit(raw string, k kind) (string, bool) {
	name := raw
	if k == folder {
		name = strings.TrimSuffix(name, "/")
	}
	if in.rules.dotSlash {
		if k == folder && name == "." {
			return "", false
		}
		name = strings.TrimPrefix(name, "./")
	}
	if problem := nameProblem(name); problem != "" {
		in.violate("%s %s", quote(raw), problem)
		return "", false
	}
	if clash := in.tree.add(name, k); clash != "" {
		in.violate("%s", clash)
		return "", false
	}
	if k == file {
		in.admitted++
	}
	if in.admitted > in.rules.files {
		in.exceed("The archive holds more than %d files.", in.rules.files)
	}
	if len(in.tree.nodes) > in.rules.entries {
		in.exceed("The archive holds more than %d files and folders.", in.rules.entries)
	}
	if in.tree.bytes > in.rules.names {
		in.exceed("The names in the archive take more than %s together.", bytesText(int64(in.rules.names)))
	}
	return name, true
}

// expand counts a file of the given size towards the limits, before the file
// is read: a bomb is refused unopened.
func (in *inspection) expand(size uint64) {
	if limit := in.rules.expanded; size > uint64(limit-in.expanded) {
		in.exceed("The files in the archive take more than %s together.", bytesText(limit))
		return
	}
	in.expanded += int64(size)
	// A size beyond the limit makes no difference, and could overflow.
	if in.expanded > in.rules.ratioFree+in.rules.ratio*min(in.src.size, in.rules.expanded) {
		in.exceed("The archive expands to more than %d times its size, beyond the first %s.",
			in.rules.ratio, bytesText(in.rules.ratioFree))
	}
}

// read reads a file to its end and keeps its checksum.
func (in *inspection) read(name string, r io.Reader) error {
	h := sha256.New()
	n, err := io.CopyBuffer(h, io.LimitReader(r, smallFile), in.buf)
	if n == smallFile {
		err = in.hashConcurrently(h, r)
	}
	if err != nil {
		return err
	}
	in.files = append(in.files, content{name, [sha256.Size]byte(h.Sum(nil))})
	return nil
}

// smallFile is how much of a file is read, in bytes, before another goroutine computes its
// checksum.
const smallFile = 1 << 20

// hashConcurrently reads r and hashes it in another goroutine, which ends before it
// returns: so a large file is expanded on one processor and hashed on another.
func (in *inspection) hashConcurrently(h hash.Hash, r io.Reader) (err error) {
	const buffers = 8
	if in.hashBuffers == nil {
		in.hashBuffers = make([]byte, buffers*len(in.buf))
	}
	filled, free := make(chan []byte, buffers), make(chan []byte, buffers)
	for buf := range slices.Chunk(in.hashBuffers, len(in.buf)) {
		free <- buf
	}
	var hashing sync.WaitGroup
	hashing.Go(func() {
		for buf := range filled {
			h.Write(buf)
			free <- buf[:cap(buf)]
		}
	})
	for err == nil {
		buf := <-free
		var read int
		read, err = r.Read(buf)
		filled <- buf[:read]
	}
	close(filled)
	hashing.Wait()
	if err == io.EOF {
		return nil
	}
	return err
}

// h1 returns the hash of the files, with prefix cut from their names, and of the folders,
// which are to dirhash.HashZip empty files whose names end in a slash. (dirhash itself
// opens files in the order of their names, which a tar cannot do.)
func (in *inspection) h1(prefix string, folders []string) string {
	entries := make([]content, 0, len(in.files)+len(folders))
	for _, f := range in.files {
		entries = append(entries, content{name: strings.TrimPrefix(f.name, prefix), sum: f.sum})
	}
	for _, name := range folders {
		entries = append(entries, content{name: name + "/", sum: sha256.Sum256(nil)})
	}
	slices.SortFunc(entries, func(a, b content) int { return strings.Compare(a.name, b.name) })
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%x  %s\n", e.sum, e.name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// signatures are the first bytes of files that people upload under a wrong name.
var signatures = []struct {
	offset      int
	magic, kind string
}{
	{0, "PK\x03\x04", "a zip archive"},
	{0, "PK\x05\x06", "a zip archive"},
	{0, "\x1f\x8b", "gzip, as in a tar.gz"},
	{0, "BZh", "bzip2"},
	{0, "\xfd7zXZ\x00", "xz"},
	{0, "\x28\xb5\x2f\xfd", "zstd"},
	{0, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
	{257, "ustar", "a tar without compression"},
	{0, "\x7fELF", "an executable"},
	{0, "MZ", "an executable"},
	{0, "\xcf\xfa\xed\xfe", "an executable"},
}

// hasMagic reports whether the file begins with one of the magic numbers of a format. Some
// clients, such as OpenTofu, choose the format by these bytes alone.
func (in *inspection) hasMagic(format Format, magic ...string) bool {
	if in.src.size <= 0 {
		in.violate("The file is empty (0 bytes).")
		return false
	}
	head := string(in.src.head(512))
	for _, m := range magic {
		if strings.HasPrefix(head, m) {
			return true
		}
	}
	for _, s := range signatures {
		if len(head) > s.offset && strings.HasPrefix(head[s.offset:], s.magic) {
			in.violate("The file is not a %s archive: it looks like %s.", format, s.kind)
			return false
		}
	}
	in.violate("The file is not a %s archive: it does not begin as one.", format)
	return false
}

// damaged notes that a file could not be read to its end.
func (in *inspection) damaged(name string, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		in.violate("The content of %s is cut short: the archive is truncated or damaged.", quote(name))
		return
	}
	in.violate("The content of %s is damaged.", quote(name))
}

// bytesText writes a number of bytes in the largest unit of which it is a multiple.
func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
