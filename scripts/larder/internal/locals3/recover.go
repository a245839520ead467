package locals3

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
)

// removeOrphans removes sidecar metadata of objects that do not exist. A
// process that is killed while it creates an object leaves such, and a
// conditional creation takes it for the object.
//
// An attribute of the object a/b is the file <sidecar>/<bucket>/a/b/meta/<name>.
// Those of earlier versions lie in <sidecar> under their file's absolute path,
// which may begin like the bucket's name; they stay.
func removeOrphans(sidecar, objects, versions string) error {
	return filepath.WalkDir(filepath.Join(sidecar, Bucket), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case path == filepath.Join(sidecar, versions):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		object, err := filepath.Rel(sidecar, filepath.Dir(filepath.Dir(path)))
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(objects, object)); errors.Is(err, fs.ErrNotExist) {
			return os.Remove(path)
		}
		return nil
	})
}

// recoverUploads puts right what a killed process leaves of uploads: files
// that were being written are removed, and multipart uploads that were being
// completed can be completed, or aborted, again. It expects the folder of the
// buckets as working directory, as the storage does.
func recoverUploads(metadata meta.MetadataStorer) error {
	entries, err := os.ReadDir(filepath.Join(Bucket, posix.MetaTmpDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			if err := os.Remove(filepath.Join(Bucket, posix.MetaTmpDir, entry.Name())); err != nil {
				return err
			}
		}
	}
	// While upload ID is being completed, its folder is <ID>.<token>.inprogress.
	claimed, err := filepath.Glob(filepath.Join(Bucket, posix.MetaTmpMultipartDir, "*", "*.inprogress"))
	if err != nil {
		return err
	}
	for _, path := range claimed {
		id, _, _ := strings.Cut(filepath.Base(path), ".")
		if err := release(metadata, path, filepath.Join(filepath.Dir(path), id)); err != nil {
			return err
		}
	}
	return nil
}

// release renames a multipart upload's folder along with its metadata.
func release(metadata meta.MetadataStorer, from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	inBucket := func(path string) string { return strings.TrimPrefix(path, Bucket+string(filepath.Separator)) }
	return metadata.RenameObject(Bucket, inBucket(from), inBucket(to))
}
