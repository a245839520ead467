package locals3

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/shell"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3err"
)

// openStorage opens the storage in the data folder. Its folder becomes the working
// directory of the process.
func openStorage(dir *datadir.Dir) (backend.Backend, error) {
	objects, err := dir.Folder(datadir.S3)
	if err != nil {
		return nil, err
	}
	versions, err := dir.Folder(datadir.S3Versions)
	if err != nil {
		return nil, err
	}
	if err := checkAttributes(objects, attributeRoom); err != nil {
		return nil, err
	}
	if err := checkKept(objects); err != nil {
		return nil, err
	}
	opts := posix.PosixOpts{VersioningDir: versions, CopyObjectThreshold: blob.MaxCopy}
	opts.SetNewDirPerm(0o700)
	opts.SetNewFilePerm(0o600)
	storage, err := newQuietly(objects, attributes{}, opts)
	if err == nil {
		err = recoverUploads() // relative to the working directory that is now set
	}
	if err != nil {
		return nil, fmt.Errorf("open the bucket's folder: %w", err)
	}
	return storage, nil
}

// newQuietly is posix.New without its output.
func newQuietly(root string, kept meta.MetadataStorer, opts posix.PosixOpts) (*posix.Posix, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	stdout := os.Stdout
	os.Stdout = null
	defer func() { os.Stdout = stdout }()
	return posix.New(root, kept, opts)
}

// attributeRoom is how many bytes of extended attributes a file must have room for: an
// upload needs the most, with the tags of its outcome and the URL of its source.
const attributeRoom = 1800

// checkAttributes makes sure that the file system keeps extended attributes of room bytes.
// So an object and its metadata appear in one step. The other way of the storage, a folder
// of metadata beside the objects, mixes up the versions of an object that was deleted and
// uploaded again.
func checkAttributes(folder string, room int) error {
	const probe = "larder-probe"
	var kept meta.XattrMeta
	if err := kept.StoreAttribute(nil, folder, "", probe, []byte("1")); err != nil {
		return fmt.Errorf("%s is on a file system without extended attributes, which the bucket needs: set LARDER_DATA to a folder on a local disk (%w)", folder, err)
	}
	err := kept.StoreAttribute(nil, folder, "", probe, make([]byte, room))
	if err != nil && !diskIsFull(folder) { // a full disk can still be read
		_ = kept.DeleteAttribute(folder, "", probe) // if this fails, a small attribute stays
		return fmt.Errorf("%s is on a file system that has no room for %d bytes of a file's extended attributes, which the bucket needs: "+
			"set LARDER_DATA to a folder on another one; ext4 has room for nearly a block, so one made with  mkfs.ext4 -b 4096  does (%w)", folder, room, err)
	}
	if err := kept.DeleteAttribute(folder, "", probe); err != nil {
		return fmt.Errorf("remove an extended attribute of %s: %w", folder, err)
	}
	return nil
}

// bucketOwner is the attribute of the bucket's folder that names its owner. Every object has
// the attribute objectTag, and versionTag with the ID of its version.
const (
	bucketOwner = "acl"
	objectTag   = "etag"
	versionTag  = "version-id"
)

// checkKept refuses a copy of a data folder that was made without extended attributes. It
// looks at the bucket's folder and the first record.
func checkKept(folder string) error {
	bucket := filepath.Join(folder, Bucket)
	record := firstFile(filepath.Join(bucket, registry.RecordsPrefix))
	if record == "" {
		return nil
	}
	lost := ""
	var kept meta.XattrMeta
	if _, err := kept.RetrieveAttribute(nil, bucket, "", bucketOwner); errors.Is(err, meta.ErrNoSuchKey) {
		lost = bucket
	} else if _, err := kept.RetrieveAttribute(nil, record, "", objectTag); errors.Is(err, meta.ErrNoSuchKey) {
		lost = record
	}
	if lost == "" {
		return nil
	}
	return fmt.Errorf("%s has lost its extended attributes, as by a copy with  cp -r  or  tar : copy the data folder again, with  cp -a ,  rsync -aX  or  tar --xattrs . "+
		"If there is no other, restore what was published from this one:  larder backup restore --plain %s --data  and a new folder", lost, shell.Quote(bucket))
}

// firstFile returns the path of the first file below a folder, or "".
func firstFile(folder string) (found string) {
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // whoever needs the file reports the error
		if err == nil && d.Type().IsRegular() {
			found = path
			return fs.SkipAll
		}
		return err
	})
	return found
}

// attributes are the extended attributes of files, in which the storage keeps the metadata
// of objects.
type attributes struct{ meta.XattrMeta }

// errNoRoom says that an object is at fault, where the storage would report a full disk.
var errNoRoom = s3err.APIError{Code: "MetadataTooLarge", HTTPStatusCode: http.StatusBadRequest,
	Description: "The tags and metadata of the object are larger than a file's extended attributes can be on the file system of the data folder."}

// StoreAttribute implements meta.MetadataStorer.
func (a attributes) StoreAttribute(f *os.File, bucket, object, attribute string, value []byte) error {
	err := a.XattrMeta.StoreAttribute(f, bucket, object, attribute, value)
	full := errors.Is(err, s3err.GetAPIError(s3err.ErrNoSpaceLeftOnDevice))
	if errors.Is(err, syscall.E2BIG) || full && !diskIsFull(".") { // the buckets are in "."
		return errNoRoom
	}
	return err
}

// diskIsFull says that a folder has no room for files.
func diskIsFull(folder string) bool {
	var disk syscall.Statfs_t
	return syscall.Statfs(folder, &disk) == nil && disk.Bavail == 0
}
