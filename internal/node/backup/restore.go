package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// unfinished is the end of the name of a data folder that is being restored.
const unfinished = ".part"

// RestoreOptions are those of a restoration.
type RestoreOptions struct {
	Data     string // the absolute path of the data folder that is to be made: missing, or empty
	Progress *progress.Progress
	Logger   *slog.Logger
}

// Restore makes a data folder of the backup in a folder. There is no data folder until
// all of it is there and was verified.
func Restore(ctx context.Context, o RestoreOptions, name string) (Summary, error) {
	return restore(ctx, o, func(visit visitor) (Summary, error) { return readFolder(ctx, name, o.Progress, visit) })
}

// RestoreStream is Restore of a tar stream.
func RestoreStream(ctx context.Context, o RestoreOptions, r io.Reader) (Summary, error) {
	return restore(ctx, o, func(visit visitor) (Summary, error) { return readStream(ctx, r, o.Progress, visit) })
}

// RestorePlain makes a data folder of objects alone: of a folder that has registry/,
// copied by `aws s3 sync` from any bucket. Its records say what must be there.
func RestorePlain(ctx context.Context, o RestoreOptions, name string) (Summary, error) {
	return restore(ctx, o, func(visit visitor) (Summary, error) { return readPlain(ctx, name, o.Progress, visit) })
}

func restore(ctx context.Context, o RestoreOptions, read func(visitor) (Summary, error)) (_ Summary, err error) {
	if err := checkEmpty(o.Data); err != nil {
		return Summary{}, err
	}
	r, err := beginRestoration(o)
	if err != nil {
		return Summary{}, err
	}
	defer func() {
		if err != nil { // the unfinished folder takes room
			err = errors.Join(err, r.close(), os.RemoveAll(r.dir.Path("")))
		}
	}()
	summary, err := read(func(path string, size int64, body io.Reader) error { return r.add(ctx, path, size, body) })
	if err != nil {
		return Summary{}, err
	}
	if err := r.rebuild(ctx); err != nil {
		return Summary{}, err
	}
	return summary, r.finish(o.Data)
}

// checkEmpty refuses a folder that is not empty.
func checkEmpty(data string) error {
	entries, err := os.ReadDir(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look into the data folder: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty, and nothing is overwritten: name another folder with --data, or move this one away while no server runs", data)
	case isMountPoint(data):
		return fmt.Errorf("a file system is mounted at %s, and a folder cannot be put in its place: name a new folder in it with --data", data)
	}
	return nil
}

// isMountPoint says whether a folder and its parent are on different file systems.
func isMountPoint(path string) bool {
	var own, parents syscall.Stat_t
	return syscall.Stat(path, &own) == nil && syscall.Stat(filepath.Dir(path), &parents) == nil && own.Dev != parents.Dev
}

// restoration is a data folder that is being made.
type restoration struct {
	RestoreOptions
	dir    *datadir.Dir
	server *locals3.Server // nil until there are access keys
	bucket *s3blob.Bucket
	upload upload // the head of the next one
	closed bool
}

// beginRestoration makes a folder beside the future data folder, in place of an
// unfinished one.
func beginRestoration(o RestoreOptions) (*restoration, error) {
	path := o.Data + unfinished
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 &&
		!slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == datadir.Lock }) {
		return nil, fmt.Errorf("the data folder is made in %s, and that holds files which no restoration has left there: move it away", path)
	}
	dir, err := datadir.Open(path) // so nobody else restores to it
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if own := e.Name() == datadir.Lock; !own {
			err = errors.Join(err, os.RemoveAll(dir.Path(e.Name())))
		}
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &restoration{RestoreOptions: o, dir: dir}, nil
}

// add adds a file of the backup.
func (r *restoration) add(ctx context.Context, path string, size int64, body io.Reader) error {
	kind, name, err := parsePath(path)
	if err != nil {
		return err
	}
	if kind == dataFile {
		return r.addFile(name, body)
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	switch kind {
	case uploadHead:
		r.upload = upload{}
		return json.NewDecoder(io.LimitReader(body, maxDocument)).Decode(&r.upload)
	case uploadBody:
		return r.addUpload(ctx, size, body)
	default:
		return r.bucket.Stream(ctx, name, body, size)
	}
}

// addFile writes a file of the data folder.
func (r *restoration) addFile(name string, body io.Reader) error {
	if !datadir.IsKept(name) {
		return errors.New("a backup does not have this file of a data folder: every start makes it anew")
	}
	if r.server != nil {
		return errors.New("the files of the data folder come before all others")
	}
	file, err := os.OpenFile(r.dir.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, body)
	return errors.Join(err, file.Close())
}

// open starts the bucket, with the access keys of the backup, or new ones.
func (r *restoration) open(ctx context.Context) (err error) {
	if r.server != nil {
		return nil
	}
	if r.server, err = locals3.StartInside(ctx, locals3.Options{Dir: r.dir, Logger: r.Logger}); err != nil {
		return err
	}
	r.bucket, err = r.server.Connection().Bucket()
	return err
}

// addUpload puts an upload into the inbox, in the name of its uploader.
func (r *restoration) addUpload(ctx context.Context, size int64, body io.Reader) error {
	if !isUpload(r.upload.Key) {
		return fmt.Errorf("%q is not the key of an upload", r.upload.Key)
	}
	tags := url.Values{}
	for name, value := range r.upload.Tags {
		tags.Set(name, value)
	}
	_, err := r.server.Connection().Client().PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(locals3.Bucket), Key: &r.upload.Key, Body: body, ContentLength: &size,
		ContentType: aws.String(r.upload.ContentType), Metadata: r.upload.Metadata, Tagging: aws.String(tags.Encode()),
	}, s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware), func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})
	return err
}

// isUpload says whether a key is one of the inbox, spelled as in the bucket's listings:
// no other spelling leads below registry/.
func isUpload(key string) bool {
	return path.Clean(key) == key && slices.ContainsFunc(inbox.Folders, func(folder string) bool { return strings.HasPrefix(key, folder) })
}

func (r *restoration) close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	var err error
	if r.server != nil {
		err = r.server.Close()
	}
	return errors.Join(err, r.dir.Close())
}

// finish puts the data folder in its place.
func (r *restoration) finish(data string) error {
	flush()
	if err := r.close(); err != nil {
		return err
	}
	if err := os.Remove(data); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty
		return err
	}
	if err := os.Rename(r.dir.Path(""), data); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(data))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}
