package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// A File is a file in an archive, as [Walk] finds it.
type File struct {
	Name    string    // relative, with forward slashes
	Size    int64     // of the content in bytes, as the archive says
	Content io.Reader // has at most Size bytes; it ends with the call that it was given to
}

// Walk calls visit for each file of a module archive or a zip of documentation, in the
// order in which they lie there. Content that visit does not read costs nothing in a zip.
// An error of visit ends the walk and is returned, but for [fs.SkipAll], which only ends it.
//
// [CheckModule] or [CheckDocs] should have accepted the archive. If they have not, or if
// rules have come since then, the walk still keeps the limits of this package; it passes
// over what is no regular file or has a name that breaks a rule.
//
// The error is [Violations] if the archive cannot be read to its end. Any other error comes
// from r, visit or ctx.
func Walk(ctx context.Context, r io.ReaderAt, size int64, format Format, visit func(File) error) error {
	return walk(inspect(ctx, r, size, moduleRules()), format, visit)
}

func walk(in *inspection, format Format, visit func(File) error) error {
	var err error
	switch format {
	case Zip:
		err = in.walkZip(visit)
	case TarGz:
		err = in.walkTarGz(visit)
	default:
		return fmt.Errorf("archive: %v is not a format of module archives", format)
	}
	if in.src.err != nil { // the original error, which a decoder may hide
		return fmt.Errorf("reading the archive: %w", in.src.err)
	}
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return err
	}
	if err == nil && len(in.violations) > 0 {
		return in.violations
	}
	return nil
}

// walkZip returns the error of visit.
func (in *inspection) walkZip(visit func(File) error) error {
	zr := in.openZip()
	if zr == nil {
		return nil
	}
	for _, f := range zr.File {
		name := strings.TrimPrefix(f.Name, "./")
		if zipProblem(f) != "" || strings.HasSuffix(name, "/") || nameProblem(name) != "" {
			continue
		}
		if in.expand(f.UncompressedSize64); in.exceeded {
			return nil
		}
		content := &lazyReader{open: f.Open}
		err := visit(File{Name: name, Size: int64(f.UncompressedSize64), Content: content})
		content.close()
		if content.err != nil {
			in.damaged(name, content.err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A lazyReader opens its content when the first byte is asked for.
type lazyReader struct {
	open    func() (io.ReadCloser, error)
	content io.ReadCloser
	err     error // of the content, but for its end
}

func (l *lazyReader) Read(p []byte) (int, error) {
	if l.content == nil && l.err == nil {
		l.content, l.err = l.open()
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.content.Read(p)
	if err != nil && err != io.EOF {
		l.err = err
	}
	return n, err
}

func (l *lazyReader) close() {
	if l.content != nil {
		l.content.Close() //nolint:errcheck // read only
	}
}

// walkTarGz returns the error of visit.
func (in *inspection) walkTarGz(visit func(File) error) error {
	if !in.hasMagic(TarGz, "\x1f\x8b") {
		return nil
	}
	stream, err := newTarStream(in.src, in.rules)
	if err != nil {
		in.brokenTar("", err)
		return nil
	}
	tr := tar.NewReader(stream)
	for last := ""; ; {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			in.brokenTar(last, err)
			return nil
		}
		last = h.Name
		name := strings.TrimPrefix(h.Name, "./")
		if h.Typeflag != tar.TypeReg || tarProblem(h) != "" || nameProblem(name) != "" {
			continue
		}
		content := &lazyReader{content: io.NopCloser(tr)}
		err = visit(File{Name: name, Size: h.Size, Content: content})
		if content.err != nil {
			in.brokenTar(last, content.err)
			return nil
		}
		if err != nil {
			return err
		}
	}
}
