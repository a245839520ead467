package publishtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/larder-registry/larder/pkg/contents"
)

// Reader reads documentation in this process.
type Reader struct{}

// Module implements [store.Reader].
func (Reader) Module(_ context.Context, archive io.ReaderAt, size int64, _ string) (contents.Module, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(archive, 0, size)); err != nil {
		return contents.Module{}, err
	}
	return contents.Module{Root: contents.Part{Readme: "An archive.\n\n" + hex.EncodeToString(hash.Sum(nil))}}, nil
}
