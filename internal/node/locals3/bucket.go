package locals3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/versity/versitygw/backend/meta"
)

// DirectBucket is the bucket as the registry sees it in the endpoint's own process. All
// requests go to the endpoint, but the bytes of a current version are read from its file.
type DirectBucket struct {
	*s3blob.Bucket
	folder string // with the files of the objects
	files  *openFiles
}

var (
	_ blob.Bucket = (*DirectBucket)(nil)
	_ blob.File   = (*directFile)(nil)
)

// Bucket returns the bucket as the registry sees it, with every right.
func (s *Server) Bucket() (*DirectBucket, error) {
	bucket, err := s.Connection().Bucket()
	if err != nil {
		return nil, err
	}
	return &DirectBucket{bucket, filepath.Join(s.opts.Dir.Path(datadir.S3), Bucket), &s.files}, nil
}

// Open implements [blob.Bucket]. The endpoint describes the version. If the file of the key
// holds this version, the body is a [blob.File]. An older version lies elsewhere, and the
// endpoint sends it, as it sends everything that is not as expected.
func (b *DirectBucket) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	described, err := b.HeadVersion(ctx, key, version)
	if err == nil {
		if file, err := b.openFile(ctx, described); err == nil {
			return file, described, nil
		}
	}
	return b.Bucket.Open(ctx, key, version)
}

var errOtherFile = errors.New("the file does not hold the object version")

// openFile opens the file of an object version.
func (b *DirectBucket) openFile(ctx context.Context, o blob.Object) (*directFile, error) {
	if o.Version == "" || path.Clean(o.Key) != o.Key {
		return nil, errOtherFile
	}
	root, err := os.OpenRoot(b.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if named, err := root.Lstat(o.Key); err != nil || !named.Mode().IsRegular() {
		return nil, cmp.Or(err, errOtherFile) // a root would follow a link that stays in it
	}
	file, err := root.OpenFile(o.Key, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, cmp.Or(file.Close(), err)
	}
	b.files.add(info) // before the check: after it, no deletion empties the file
	opened := &directFile{ctx, file, info, b.files}
	if err := opened.check(o); err != nil {
		return nil, cmp.Or(opened.Close(), err)
	}
	return opened, nil
}

// directFile is the open file of an object version.
type directFile struct {
	ctx   context.Context // it bounds the reading, as it does for all bodies of a bucket
	file  *os.File
	info  os.FileInfo
	files *openFiles
}

// check makes sure that the file holds an object version.
func (f *directFile) check(o blob.Object) error {
	version, err := (meta.XattrMeta{}).RetrieveAttribute(f.file, "", "", versionTag)
	if err != nil {
		return fmt.Errorf("read the version of the file: %w", err)
	}
	if string(version) != o.Version || f.info.Size() != o.Size || isMarker(f.file) {
		return errOtherFile
	}
	return nil
}

// Read implements io.Reader.
func (f *directFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.file.Read(p)
}

// ReadAt implements io.ReaderAt.
func (f *directFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, off)
}

// Close implements io.Closer.
func (f *directFile) Close() error {
	err := f.file.Close()
	if !errors.Is(err, os.ErrClosed) {
		f.files.remove(f.info)
	}
	return err
}
