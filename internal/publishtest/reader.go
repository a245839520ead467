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

// Provider implements [store.Reader]: the documentation is one page with the hash of the archive.
func (r Reader) Provider(ctx context.Context, archive io.ReaderAt, size int64) (contents.Provider, []byte, error) {
	module, err := r.Module(ctx, archive, size, "")
	if err != nil {
		return contents.Provider{}, nil, err
	}
	texts := []byte(module.Root.Readme)
	return contents.Provider{Pages: []contents.Page{{Category: contents.Overview, Slug: "index", Path: "docs/index.md", Length: int64(len(texts))}}}, texts, nil
}

// Module implements [store.Reader].
func (Reader) Module(_ context.Context, archive io.ReaderAt, size int64, _ string) (contents.Module, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(archive, 0, size)); err != nil {
		return contents.Module{}, err
	}
	return contents.Module{Root: contents.Part{Readme: "An archive.\n\n" + hex.EncodeToString(hash.Sum(nil))}}, nil
}
