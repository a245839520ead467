package archive

import (
	"context"
	"errors"
	"io"
	"math"
)

// errBudget is what a source returns once its budget is spent.
var errBudget = errors.New("archive: read budget exceeded")

// A source is the archive file. It keeps the error of its reader, which decoders may hide,
// so that a failing disk or a cancelled context does not count as a damaged archive.
type source struct {
	ctx    context.Context // an io.ReaderAt cannot get one in another way
	r      io.ReaderAt
	size   int64
	budget int64 // how many bytes may still be read
	last   int64 // where the last read began
	err    error // the first error that is not the archive's fault
	short  bool  // r ends before size
}

func newSource(ctx context.Context, r io.ReaderAt, size int64) *source {
	return &source{ctx: ctx, r: r, size: size, budget: math.MaxInt64}
}

// ReadAt implements io.ReaderAt. Offsets come from the archive and may be anything: an
// offset outside of the file is io.EOF, and not an error of r.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	s.last = off
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return 0, s.err
	}
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	if s.budget -= int64(len(p)); s.budget < 0 {
		return 0, errBudget
	}
	inside := p[:min(int64(len(p)), s.size-off)]
	n, err := s.r.ReadAt(inside, off)
	switch {
	case n == len(p):
		return n, nil
	case n == len(inside):
		return n, io.EOF
	case err == io.EOF:
		s.short = true
		return n, io.EOF
	default:
		s.err = err
		return n, err
	}
}

// head returns the first n bytes of the file, or as many as there are.
func (s *source) head(n int) []byte {
	p := make([]byte, n)
	n, _ = s.ReadAt(p, 0) // a failure stays in s.err
	return p[:n]
}

// reader returns a reader over the whole file.
func (s *source) reader() io.Reader { return io.NewSectionReader(s, 0, s.size) }
