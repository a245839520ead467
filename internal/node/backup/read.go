package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/larder-registry/larder/internal/contextio"
	"github.com/larder-registry/larder/internal/progress"
)

// A visitor gets every file of a backup, in the order in which they were written: files
// of the data folder first. It reads the body to its end, or not at all. Only at the end
// is it known whether the file is the right one.
type visitor func(path string, size int64, body io.Reader) error

// Verify reads a backup in a folder, and compares every file with the manifest, and all
// files with the records. Errors say what is wrong and where.
func Verify(ctx context.Context, name string, p *progress.Progress) (Summary, error) {
	return readFolder(ctx, name, p, drain)
}

// VerifyStream is Verify of a tar stream.
func VerifyStream(ctx context.Context, r io.Reader, p *progress.Progress) (Summary, error) {
	return readStream(ctx, r, p, drain)
}

func drain(_ string, _ int64, body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

// readFolder reads a backup in a folder.
func readFolder(ctx context.Context, name string, p *progress.Progress, visit visitor) (_ Summary, err error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return Summary{}, err
	}
	defer root.Close() //nolint:errcheck // read only
	m, err := readManifest(root)
	if errors.Is(err, fs.ErrNotExist) {
		return Summary{}, fmt.Errorf("%s has no %s: it is not a backup, or an unfinished one; a copy of registry/ by  aws s3 sync  is restored with --plain", name, manifestName)
	}
	if err != nil {
		return Summary{}, err
	}
	var total int64
	for _, e := range m.Files {
		total += e.Size
	}
	r := &reading{ctx: ctx, visit: visit, check: newCheck(), bar: p.Begin("the backup", total)}
	defer func() { r.bar.End(err) }()
	var wrong []string
	for _, e := range m.Files {
		got, err := r.file(root, e)
		switch {
		case ctx.Err() != nil:
			return Summary{}, ctx.Err()
		case errors.As(err, new(*visitError)):
			return Summary{}, err
		case err != nil:
			wrong = append(wrong, err.Error())
		case got != e:
			wrong = append(wrong, difference(e, got))
		}
	}
	return r.end(m, wrong)
}

// reading is a backup that is being read.
type reading struct {
	ctx   context.Context
	visit visitor
	check *check
	bar   *progress.Bar
}

// visitError is an error of a visitor, not of the backup.
type visitError struct{ error }

func (e *visitError) Unwrap() error { return e.error }

func difference(want, got entry) string {
	if want.Size != got.Size {
		return fmt.Sprintf("%s: it has %d bytes, and was written with %d", want.Path, got.Size, want.Size)
	}
	return fmt.Sprintf("%s: it has sha256 %s, and was written with %s", want.Path, got.SHA256, want.SHA256)
}

// file reads a file of a folder.
func (r *reading) file(root *os.Root, e entry) (entry, error) {
	if _, _, err := parsePath(e.Path); err != nil {
		return entry{}, err
	}
	file, size, err := openFile(root, e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, fmt.Errorf("%s: it is missing", e.Path)
	}
	if err != nil {
		return entry{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	if size != e.Size {
		return entry{Path: e.Path, Size: size}, nil
	}
	return r.read(e.Path, e.Size, file)
}

// openFile opens a regular file, and nothing else: a reader of a pipe could wait for ever.
func openFile(root *os.Root, name string) (_ *os.File, size int64, err error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, 0, cmp.Or(err, errNotRegular(name))
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular(name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

func errNotRegular(name string) error { return fmt.Errorf("%s: it is not a regular file", name) }

// read hands a file to the visitor.
func (r *reading) read(path string, size int64, body io.Reader) (entry, error) {
	hash := sha256.New()
	read := &errorKeeper{Reader: io.TeeReader(contextio.Reader(r.ctx, body), io.MultiWriter(hash, r.bar))}
	err := r.deliver(path, size, read)
	switch {
	case read.err != nil:
		return entry{}, fmt.Errorf("%s: %w", path, read.err)
	case err != nil:
		return entry{}, &visitError{fmt.Errorf("%s: %w", path, err)}
	}
	e := entry{path, size, hex.EncodeToString(hash.Sum(nil))}
	return e, r.check.file(e)
}

// deliver hands a file to the visitor, and a record to the check, too.
func (r *reading) deliver(path string, size int64, body io.Reader) error {
	if !isRecord(path) || size > maxDocument {
		return r.visit(path, size, body)
	}
	document, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	r.check.record(path, document)
	return r.visit(path, size, bytes.NewReader(document))
}

// end compares what was read with the manifest and the records.
func (r *reading) end(m manifest, wrong []string) (Summary, error) {
	summary, err := r.check.end()
	if len(wrong) > 0 { // what the records lack follows from it
		err = problems(wrong)
	}
	if err != nil {
		return Summary{}, fmt.Errorf("the backup is damaged:\n  %w", err)
	}
	summary.Time, summary.Added = m.Time, summary.Bytes
	return summary, nil
}

// errorKeeper keeps the error of the reader that it reads.
type errorKeeper struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (f *errorKeeper) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
