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

// scratch is an unlinked temporary file: nothing of it stays, however the
// process ends.
type scratch struct {
	*os.File
	size   int64
	sha256 string // lower-case hex
	source string // of an upload, as [blob.Object] has it
}

// newScratch is a temporary file with what fill writes to it, to be read from its
// start.
func (p *Publisher) newScratch(fill func(io.Writer) error) (*scratch, error) {
	f, err := os.CreateTemp(p.scratch, "upload-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, closing(f, fmt.Errorf("scratch space: %w", err))
	}
	hash := sha256.New()
	filled := fill(io.MultiWriter(f, hash))
	size, err := f.Seek(0, io.SeekCurrent)
	_, rewound := f.Seek(0, io.SeekStart)
	if err := cmp.Or(filled, err, rewound); err != nil {
		return nil, closing(f, err)
	}
	return &scratch{File: f, size: size, sha256: hex.EncodeToString(hash.Sum(nil))}, nil
}

func closing(f io.Closer, err error) error {
	f.Close() //nolint:errcheck // the error that matters is the other one
	return err
}

// fetchBuffer is how much of an upload is read and written at once, in bytes.
const fetchBuffer = 512 << 10

// fetch reads an upload to scratch.
func (p *Publisher) fetch(ctx context.Context, o blob.Object) (*scratch, error) {
	body, described, err := p.bucket.Open(ctx, o.Key, o.Version)
	if err != nil {
		return nil, gone(err)
	}
	defer body.Close() //nolint:errcheck // read only
	if err := blob.CheckSize(described.Size, inbox.MaxUpload); err != nil {
		return nil, err
	}
	file, err := p.newScratch(func(w io.Writer) error {
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
