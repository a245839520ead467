package locals3

import (
	"fmt"
	"os"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"

	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
)

// maxCopySize is the largest object, in bytes, that one request copies on AWS.
const maxCopySize = 5 << 30

// openStorage returns the file-backed storage of the data folder. The working
// directory of the process is its folder from then on.
func openStorage(dir *datadir.Dir) (backend.Backend, error) {
	objects, err := dir.Folder(datadir.S3)
	if err != nil {
		return nil, err
	}
	versions, err := dir.Folder(datadir.S3Versions)
	if err != nil {
		return nil, err
	}
	if err := checkAttributes(objects); err != nil {
		return nil, err
	}
	opts := posix.PosixOpts{VersioningDir: versions, CopyObjectThreshold: maxCopySize}
	opts.SetNewDirPerm(0o700)
	opts.SetNewFilePerm(0o600)
	storage, err := newQuietly(objects, opts)
	if err == nil {
		err = recoverUploads() // relative to the working directory that is now set
	}
	if err != nil {
		return nil, fmt.Errorf("open the bucket's folder: %w", err)
	}
	return storage, nil
}

// newQuietly is posix.New without what it prints on standard output.
func newQuietly(root string, opts posix.PosixOpts) (*posix.Posix, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	stdout := os.Stdout
	os.Stdout = null
	defer func() { os.Stdout = stdout }()
	return posix.New(root, meta.XattrMeta{}, opts)
}

// checkAttributes makes sure that the file system keeps extended attributes.
// An object and its metadata then appear in one step; the storage's other way,
// a folder of metadata beside the objects, mixes up the versions of an object
// that was deleted and uploaded again.
func checkAttributes(folder string) error {
	err := meta.XattrMeta{}.StoreAttribute(nil, folder, "", "larder-probe", []byte("1"))
	if err != nil {
		return fmt.Errorf("%s is on a file system without extended attributes, which the bucket needs: set LARDER_DATA to a folder on a local disk (%w)", folder, err)
	}
	return nil
}
