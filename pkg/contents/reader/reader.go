// Package reader reads what archives say of themselves, and executes nothing.
package reader

import (
	"context"
	"io"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

func ReadModule(ctx context.Context, file io.ReaderAt, size int64, format archive.Format) contents.Module {
	return contents.Module{}
}
func ReadReadmes(ctx context.Context, file io.ReaderAt, size int64, format archive.Format) contents.Module {
	return contents.Module{}
}
func ReadProvider(ctx context.Context, file io.ReaderAt, size int64, texts io.Writer) (contents.Provider, error) {
	return contents.Provider{}, nil
}
