package mirrorarchive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/larder-registry/larder/internal/contextio"
	"github.com/larder-registry/larder/pkg/archive"
)

// Open reads an archive of size bytes to its end, and returns its releases, with the hashes of
// their packages and their places in the archive. It writes every byte of its files to done.
//
// It returns them only if the whole archive is right: every file has the name, place, size and
// SHA-256 of the manifest; a registry can take every package; every document follows from the
// packages, with both of their hashes; and there are no other files.
//
// Errors name the wrong file; those of r and ctx are wrapped.
func Open(ctx context.Context, r io.ReaderAt, size int64, done io.Writer) ([]Release, error) {
	section := io.NewSectionReader(r, 0, size)
	a := &reader{section: section, tar: tar.NewReader(section), done: done}
	m, err := a.manifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	var releases []Release
	for _, want := range m.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if releases, err = a.add(ctx, releases, want); err != nil {
			return nil, fmt.Errorf("%s: %w", want.Name, err)
		}
	}
	if err := a.end(); err != nil {
		return nil, err
	}
	return releases, m.check(releases)
}

// reader is an archive that is being read.
type reader struct {
	section *io.SectionReader
	tar     *tar.Reader // of the section
	done    io.Writer
}

func (a *reader) manifest() (manifest, error) {
	header, err := a.next(manifestName)
	if err != nil {
		return manifest{}, err
	}
	if header.Size > maxManifest {
		return manifest{}, fmt.Errorf("it has %d bytes; %d are allowed", header.Size, maxManifest)
	}
	data, err := io.ReadAll(a.tar)
	if err != nil {
		return manifest{}, broken(err)
	}
	return parseManifest(data)
}

// next goes on to the next file, which must be a regular file with the name.
func (a *reader) next(name string) (*tar.Header, error) {
	header, err := a.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the archive ends before it")
	case err != nil:
		return nil, broken(err)
	case header.Name != name:
		return nil, fmt.Errorf("in its place the archive has %.300q", header.Name)
	case header.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("it is not a regular file, but of type %q", header.Typeflag)
	}
	for record := range header.PAXRecords { // others may change the file's name or size
		if record != "path" {
			return nil, fmt.Errorf("its header has %.100q in it", record)
		}
	}
	return header, nil
}

// add reads the next file, which must be the wanted one, and adds it to the releases if it is
// a package.
func (a *reader) add(ctx context.Context, releases []Release, want entry) ([]Release, error) {
	header, err := a.next(want.Name)
	if err != nil {
		return nil, err
	}
	if header.Size != want.Size {
		return nil, fmt.Errorf("it has %d bytes, but %d in the manifest", header.Size, want.Size)
	}
	offset, err := a.section.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	content := io.NewSectionReader(a.section, offset, want.Size)
	if err := a.verify(ctx, content, want); err != nil {
		return nil, err
	}
	name, isPackage, err := parseName(want.Name)
	if err != nil || !isPackage {
		return releases, err
	}
	checked, err := archive.CheckProvider(ctx, content, want.Size, archive.Provider{Type: name.address.Type})
	if err != nil {
		return nil, err
	}
	if last := len(releases) - 1; last < 0 || releases[last].Address != name.address || releases[last].Version != name.version {
		releases = append(releases, Release{Address: name.address, Version: name.version})
	}
	last := &releases[len(releases)-1]
	last.Packages = append(last.Packages, Package{Platform: name.platform, SHA256: want.SHA256, H1: checked.H1, Size: want.Size, Offset: offset})
	return releases, nil
}

// verify compares a file with its SHA-256: the bytes at its place in the archive, which are
// uploaded later.
func (a *reader) verify(ctx context.Context, content *io.SectionReader, want entry) error {
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(hash, a.done), contextio.Reader(ctx, content))
	if err != nil {
		return err
	}
	if n != want.Size {
		return fmt.Errorf("the archive ends after %d of its %d bytes", n, want.Size)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("its SHA-256 is %s, but %s in the manifest", got, want.SHA256)
	}
	return nil
}

// end makes sure that nothing comes after the last file.
func (a *reader) end() error {
	header, err := a.tar.Next()
	if err == nil {
		return fmt.Errorf("%.300q is in the archive, but not in its manifest", header.Name)
	}
	if !errors.Is(err, io.EOF) {
		return broken(err)
	}
	at, err := a.section.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if at != a.section.Size() {
		return fmt.Errorf("the archive goes on for %d bytes after its end", a.section.Size()-at)
	}
	return nil
}

// check makes sure that the files are those of a mirror that has the releases.
func (m manifest) check(releases []Release) error {
	files := layout(slices.Clone(releases))
	for i := range max(len(files), len(m.Files)) {
		switch {
		case i >= len(files):
			return fmt.Errorf("%s: no package belongs to it", m.Files[i].Name)
		case i >= len(m.Files) || files[i].Name != m.Files[i].Name:
			return fmt.Errorf("%s: it must be in the archive at place %d, and is not", files[i].Name, i+1)
		case files[i].entry != m.Files[i]:
			return fmt.Errorf("%s: it does not match the packages: their versions, platforms or hashes are others", m.Files[i].Name)
		}
	}
	return nil
}

// broken says why a tar cannot be read.
func broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the archive ends in the middle")
	}
	return fmt.Errorf("the archive is not a tar file of larder mirror export: %w", err)
}
