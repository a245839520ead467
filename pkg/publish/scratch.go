package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// scratchFolder is the folder of scratch files.
type scratchFolder string

// scratch is an unlinked temporary file: it is gone when the process ends, in any way.
type scratch struct {
	*os.File
	size   int64
	sha256 string // lower-case hex
	source string // of an upload, as [blob.Object] has it
}

// hold makes a scratch file with what fill writes to it.
func (f scratchFolder) hold(fill func(io.Writer) error) (*scratch, error) {
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
	_, rewound := file.Seek(0, io.SeekStart)
	if err := cmp.Or(filled, err, rewound); err != nil {
		return nil, closing(file, err)
	}
	return &scratch{File: file, size: size, sha256: hex.EncodeToString(hash.Sum(nil))}, nil
}

func closing(f io.Closer, err error) error {
	f.Close() //nolint:errcheck // the error that matters is the other one
	return err
}

// fetchBuffer is the size of the buffer for an upload, in bytes.
const fetchBuffer = 512 << 10

// fetch copies an upload to scratch.
func (f scratchFolder) fetch(ctx context.Context, bucket blob.Bucket, o blob.Object) (*scratch, error) {
	body, described, err := bucket.Open(ctx, o.Key, o.Version)
	if err != nil {
		return nil, ignoreDeleted(err)
	}
	defer body.Close() //nolint:errcheck // read only
	if err := blob.CheckSize(described.Size, inbox.MaxUpload); err != nil {
		return nil, err
	}
	file, err := f.hold(func(w io.Writer) error {
		n, err := io.CopyBuffer(w, io.LimitReader(body, described.Size+1), make([]byte, min(described.Size+1, fetchBuffer)))
		if err == nil && n != described.Size {
			err = fmt.Errorf("read %d of %d bytes of %s", n, described.Size, o.Key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	file.source = described.Source
	return file, nil
}
