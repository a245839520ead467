package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/larder-registry/larder/pkg/blob"
)

// scratchFolder is the folder of scratch files.
type scratchFolder string

// content is the bytes of an upload, or of what was made of it. They do not change while it
// is open.
type content struct {
	*io.SectionReader
	io.Closer
	sha256 string // lower-case hex
	source string // of an upload, as [blob.Object] has it
}

// hold makes an unlinked temporary file with what fill writes to it. It is gone when the
// process ends, in any way.
func (f scratchFolder) hold(fill func(io.Writer) error) (*content, error) {
	file, err := os.CreateTemp(string(f), "upload-*")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, closing(file, fmt.Errorf("scratch space: %w", err))
	}
	hash := sha256.New()
	filled := fill(io.MultiWriter(file, hash))
	size, err := file.Seek(0, io.SeekCurrent)
	if err := cmp.Or(filled, err); err != nil {
		return nil, closing(file, err)
	}
	return newContent(file, size, hash), nil
}

// newContent returns the first size bytes of a file, of which hash is the SHA-256.
func newContent(file blob.File, size int64, hash hash.Hash) *content {
	return &content{SectionReader: io.NewSectionReader(file, 0, size), Closer: file, sha256: hex.EncodeToString(hash.Sum(nil))}
}

func closing(f io.Closer, err error) error {
	f.Close() //nolint:errcheck // the error that matters is the other one
	return err
}

// fetchBuffer is the size of the buffer for an upload, in bytes.
const fetchBuffer = 512 << 10

// fetch hashes an upload of at most so many bytes. It copies the upload to scratch, unless the
// bucket has a file of it.
func (f scratchFolder) fetch(ctx context.Context, bucket blob.Bucket, o blob.Object, limit int64) (*content, error) {
	body, described, err := bucket.Open(ctx, o.Key, o.Version)
	if err != nil {
		return nil, ignoreDeleted(err)
	}
	if err := blob.CheckSize(described.Size, limit); err != nil {
		return nil, closing(body, err)
	}
	read := func(w io.Writer) error { return readWhole(w, body, described) }
	var fetched *content
	if file, ok := body.(blob.File); ok {
		hash := sha256.New()
		if err := read(hash); err != nil {
			return nil, closing(file, err)
		}
		fetched = newContent(file, described.Size, hash)
	} else {
		defer body.Close() //nolint:errcheck // read only
		if fetched, err = f.hold(read); err != nil {
			return nil, err
		}
	}
	fetched.source = described.Source
	return fetched, nil
}

// readWhole copies a body, which must be as long as the object.
func readWhole(w io.Writer, body io.Reader, o blob.Object) error {
	n, err := io.CopyBuffer(w, io.LimitReader(body, o.Size+1), make([]byte, min(o.Size+1, fetchBuffer)))
	if err == nil && n != o.Size {
		err = fmt.Errorf("read %d of %d bytes of %s", n, o.Size, o.Key)
	}
	return err
}
