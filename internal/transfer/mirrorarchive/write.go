// Package mirrorarchive writes and reads a mirror as one file, to be carried to a place without
// a network: an uncompressed tar with
//
//   - first, a manifest: the name, size and SHA-256 of every other file, in their
//     order;
//   - then the files of a mirror as `terraform providers mirror` lays them out:
//     for each provider, in its folder hostname/namespace/type, index.json, and
//     for each version VERSION.json with both hashes of every package, and the
//     packages.
//
// The documents follow from the packages, and the archive from all of them: the same packages
// give the same bytes. [Open] reads only these archives. Without Larder, tar unpacks an archive
// to a folder from which the clients install, and which can be synced to any bucket.
package mirrorarchive

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/larder-registry/larder/internal/contextio"
)

// manifestName is the name of the manifest. It cannot be the path of a provider's file.
const manifestName = "larder-mirror.json"

// Write writes the archive of releases. Each release has packages with their hashes, sizes and
// files. Write also writes every byte of these files to done. It sorts the releases.
//
// Errors are those of w, ctx and the files, or say that a file has changed.
func Write(ctx context.Context, w io.Writer, releases []Release, done io.Writer) error {
	files := layout(releases)
	m := manifest{Format: format, Files: make([]entry, len(files))}
	for i, f := range files {
		m.Files[i] = f.entry
	}
	archive := tar.NewWriter(w)
	data := encode(m)
	if err := add(archive, manifestName, int64(len(data)), bytes.NewReader(data)); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.add(ctx, archive, done); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return archive.Close()
}

func (f file) add(ctx context.Context, archive *tar.Writer, done io.Writer) error {
	if f.data != nil {
		return add(archive, f.Name, f.Size, bytes.NewReader(f.data))
	}
	content, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer content.Close()
	return add(archive, f.Name, f.Size, io.TeeReader(contextio.Reader(ctx, content), done))
}

// add adds a file. Its header does not say where and when it was made.
func add(archive *tar.Writer, name string, size int64, content io.Reader) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	if n, err := io.Copy(archive, content); err != nil {
		return err
	} else if n != size {
		return fmt.Errorf("it has %d bytes, and had %d", n, size)
	}
	return nil
}
