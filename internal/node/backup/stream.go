package backup

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/larder-registry/larder/internal/progress"
)

// stream is a backup that is written as a tar.
type stream struct{ tar *tar.Writer }

func newStream(w io.Writer) *stream { return &stream{tar.NewWriter(w)} }

// has implements target.
func (s *stream) has(string, int64) (entry, bool) { return entry{}, false }

// write implements target.
func (s *stream) write(path string, size int64, body io.Reader) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Size: size, Mode: 0o600, Format: tar.FormatPAX}
	if err := s.tar.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.Copy(s.tar, body); err != nil {
		return err
	}
	return s.tar.Flush() // it fails if bytes are missing
}

// finish implements target.
func (s *stream) finish(m manifest) error { return writeManifest(s, m) }

// readStream reads a backup that comes as a tar stream.
func readStream(ctx context.Context, from io.Reader, p *progress.Progress, visit visitor) (_ Summary, err error) {
	r := &reading{ctx: ctx, visit: visit, check: newCheck(), bar: p.Begin("the backup", progress.Unknown)}
	defer func() { r.bar.End(err) }()
	archive := tar.NewReader(from)
	seen := map[string]entry{}
	var order []string
	last := "its beginning"
	for {
		header, err := archive.Next()
		switch {
		case err != nil && ctx.Err() != nil:
			return Summary{}, ctx.Err()
		case err != nil:
			return Summary{}, fmt.Errorf("the backup is cut off or damaged after %s: %w", last, explainEnd(err))
		case header.Typeflag != tar.TypeReg:
			continue // a folder, of a tar that was packed again
		case header.Name == manifestName:
			return r.endStream(archive, seen, order)
		}
		last = header.Name
		if _, _, err := parsePath(last); err != nil {
			return Summary{}, err
		}
		if seen[last].Path != "" {
			return Summary{}, fmt.Errorf("%s is in the backup twice", last)
		}
		seen[last], err = r.read(last, header.Size, archive)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return Summary{}, fmt.Errorf("the backup is cut off in %s: %s, its last file, is missing", last, manifestName)
		}
		if err != nil {
			return Summary{}, err
		}
		order = append(order, last)
	}
}

// explainEnd says in words that a tar ends early.
func explainEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s, its last file, is missing", manifestName)
	}
	return err
}

// endStream reads the manifest, and compares the files before it with it.
func (r *reading) endStream(archive *tar.Reader, seen map[string]entry, order []string) (Summary, error) {
	m, err := parseManifest(archive)
	if err != nil {
		return Summary{}, err
	}
	var wrong []string
	for _, e := range m.Files {
		switch got := seen[e.Path]; {
		case got.Path == "":
			wrong = append(wrong, e.Path+": it is missing")
		case got != e:
			wrong = append(wrong, difference(e, got))
		}
		delete(seen, e.Path)
	}
	for _, path := range order {
		if seen[path].Path != "" {
			wrong = append(wrong, path+": the manifest does not name it")
		}
	}
	return r.end(m, wrong)
}
