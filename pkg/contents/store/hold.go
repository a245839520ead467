package store

import (
	"fmt"
	"io"
	"os"

	"github.com/larder-registry/larder/pkg/blob"
)

// holdBuffer is the size of the buffer for an archive, in bytes.
const holdBuffer = 512 << 10

// Held is an archive that can be read at any place, for as long as it is not closed.
type Held interface {
	io.ReaderAt
	io.Closer
}

// Hold returns a body of size bytes so that it can be read at any place: itself, if the bucket
// has it as a file, and else a copy. The copy is an unlinked file, which is gone when the process
// ends, in any way. The body stays open.
func (s *Store) Hold(body io.Reader, size int64) (Held, error) {
	if file, ok := body.(blob.File); ok {
		return unclosed{file}, nil
	}
	file, err := os.CreateTemp(s.config.Scratch, "contents-*")
	if err != nil {
		return nil, fmt.Errorf("scratch space: %w", err)
	}
	err = os.Remove(file.Name())
	if err == nil {
		err = copyWhole(file, body, size)
	}
	if err != nil {
		file.Close() //nolint:errcheck // the error that matters is the other one
		return nil, err
	}
	return file, nil
}

// unclosed is a file that its opener closes.
type unclosed struct{ io.ReaderAt }

func (unclosed) Close() error { return nil }

func copyWhole(to io.Writer, from io.Reader, size int64) error {
	n, err := io.CopyBuffer(to, io.LimitReader(from, size), make([]byte, min(size+1, holdBuffer)))
	if err == nil && n != size {
		err = fmt.Errorf("it ends after %d of %d bytes", n, size)
	}
	return err
}
