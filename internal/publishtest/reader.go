package publishtest

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/contents/reader"
)

// Reader reads documentation as the registry does, but in the process of the test.
type Reader struct{}

// Module implements [store.Reader].
func (Reader) Module(ctx context.Context, file io.ReaderAt, size int64, format string) (contents.Module, error) {
	for _, known := range []archive.Format{archive.Zip, archive.TarGz} {
		if known.String() == format {
			return reader.ReadModule(ctx, file, size, known), ctx.Err()
		}
	}
	return contents.Module{}, fmt.Errorf("no module archive has the format %q", format)
}

// Provider implements [store.Reader].
func (Reader) Provider(ctx context.Context, file io.ReaderAt, size int64) (contents.Provider, []byte, error) {
	var texts bytes.Buffer
	provider, err := reader.ReadProvider(ctx, file, size, &texts)
	return provider, texts.Bytes(), err
}
