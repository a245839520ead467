package backup

import (
	"archive/tar"
	"io"
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
	return s.tar.Flush() // which fails where bytes are missing
}

// finish implements target.
func (s *stream) finish(m manifest) error { return writeManifest(s, m) }
