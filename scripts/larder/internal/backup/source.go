package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
	"github.com/larder-registry/larder/scripts/larder/internal/locals3"
	"github.com/larder-registry/larder/scripts/larder/internal/socket"
)

// source is a data folder that is read: beside the server that serves from it, or
// alone.
type source struct {
	data    string
	bucket  publish.Bucket
	objects locals3.Connection // to the same bucket, for what the registry itself does not ask it
	access  func(ctx context.Context) (io.ReadCloser, int64, error)
	close   func() error
}

// openSource opens a data folder.
func openSource(ctx context.Context, data string, logger *slog.Logger) (*source, error) {
	if _, err := os.Stat(filepath.Join(data, datadir.S3)); err != nil {
		return nil, fmt.Errorf("%s is no data folder that a registry was served from: name it with --data, or LARDER_DATA (%w)", data, err)
	}
	dir, err := datadir.Open(data)
	if errors.Is(err, datadir.ErrInUse) {
		return besideServer(data)
	}
	if err != nil {
		return nil, err
	}
	s, err := alone(ctx, dir, logger)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return s, nil
}

// besideServer reads the data folder of a server that runs.
func besideServer(data string) (*source, error) {
	connection, err := locals3.Connect(data)
	if err != nil {
		return nil, err
	}
	bucket, err := newBucket(connection)
	if err != nil {
		return nil, err
	}
	return &source{
		data: data, bucket: bucket, objects: connection,
		access: func(ctx context.Context) (io.ReadCloser, int64, error) {
			return socket.Fetch(ctx, filepath.Join(data, datadir.Socket), datadir.Access)
		},
		close: func() error { return nil },
	}, nil
}

// alone reads a data folder that nobody serves from, and keeps others from it.
func alone(ctx context.Context, dir *datadir.Dir, logger *slog.Logger) (*source, error) {
	server, err := locals3.StartInside(ctx, locals3.Options{Dir: dir, Logger: logger})
	if err != nil {
		return nil, err
	}
	bucket, err := newBucket(server.Connection())
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &source{
		data: dir.Path(""), bucket: bucket, objects: server.Connection(),
		access: func(ctx context.Context) (io.ReadCloser, int64, error) { return copyAccess(ctx, dir) },
		close:  func() error { return errors.Join(server.Close(), dir.Close()) },
	}, nil
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
	return file, info.Size(), errors.Join(err, os.Remove(copied))
}

// newBucket is the bucket as the registry sees it.
func newBucket(c locals3.Connection) (*s3blob.Bucket, error) {
	return s3blob.New(s3blob.Config{
		Bucket: locals3.Bucket, Region: locals3.Region, Endpoint: c.Endpoint, PathStyle: true,
		Credentials: s3blob.StaticCredentials(c.Key.AccessKeyID, c.Key.SecretAccessKey),
		URLLifetime: time.Minute, // there are none
		Transport:   c.HTTPClient.Transport,
	})
}
