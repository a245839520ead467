package locals3

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/versity/versitygw/backend/posix"
)

// recoverUploads repairs the uploads of a killed process: it removes unfinished files, and
// lets multipart uploads that were being completed be completed, or aborted, again. The
// working directory must be the folder of the buckets, as for the storage.
func recoverUploads() error {
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
		if err := os.Rename(path, filepath.Join(filepath.Dir(path), id)); err != nil {
			return err
		}
	}
	return nil
}
