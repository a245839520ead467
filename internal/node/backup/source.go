package backup

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/socket"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
)

// source is a data folder that is read, while a server serves from it or not.
type source struct {
	data       string
	bucket     blob.Bucket
	connection locals3.Connection // to the same bucket, for requests that the registry itself does not make
	access     func(ctx context.Context) (io.ReadCloser, int64, error)
	close      func() error
}

// openSource opens a data folder.
func openSource(ctx context.Context, data string, logger *slog.Logger) (*source, error) {
	connection, dir, closeAll, err := locals3.Reach(ctx, data, logger)
	if err != nil {
		return nil, err
	}
	bucket, err := connection.Bucket()
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	s := &source{data: data, bucket: bucket, connection: connection, close: closeAll}
	s.access = func(ctx context.Context) (io.ReadCloser, int64, error) { return copyAccess(ctx, dir) }
	if dir == nil { // a server holds the folder
		s.access = func(ctx context.Context) (io.ReadCloser, int64, error) {
			return socket.Fetch(ctx, filepath.Join(data, datadir.Socket), datadir.Access)
		}
	}
	return s, nil
}

// copyAccess reads tokens and rules as they are now.
func copyAccess(ctx context.Context, dir *datadir.Dir) (io.ReadCloser, int64, error) {
	access, err := boltcatalog.OpenAccess(dir.Path(datadir.Access))
	if err != nil {
		return nil, 0, err
	}
	defer access.Close() //nolint:errcheck // read only
	folder, err := dir.Folder(datadir.Scratch)
	if err != nil {
		return nil, 0, err
	}
	copied := filepath.Join(folder, datadir.Access)
	if err := access.CopyTo(ctx, copied); err != nil {
		return nil, 0, err
	}
	file, err := os.Open(copied)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err = errors.Join(err, os.Remove(copied)); err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}
