package locals3

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/versity/versitygw/backend/posix"

	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
)

func writeFile(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRemoveOrphans(t *testing.T) {
	sidecar, objects := t.TempDir(), t.TempDir()
	writeFile(t, objects, Bucket, "a", "there")
	versions := "/" + Bucket + "/data/s3/versions" // begins like the bucket's name
	kept := []string{
		writeFile(t, sidecar, Bucket, "meta", "acl"),
		writeFile(t, sidecar, Bucket, "a", "there", "meta", "etag"),
		writeFile(t, sidecar, versions, Bucket, "0a", "id", "meta", "etag"),
		writeFile(t, sidecar, "another", "gone", "meta", "etag"),
	}
	removed := writeFile(t, sidecar, Bucket, "a", "gone", "meta", "etag")
	if err := removeOrphans(sidecar, objects, versions); err != nil {
		t.Fatal(err)
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	if _, err := os.Stat(removed); err == nil {
		t.Errorf("still there: %s", removed)
	}
	if err := removeOrphans(t.TempDir(), objects, versions); err != nil {
		t.Errorf("on the first start: %v", err)
	}
}

func TestRecoverUploads(t *testing.T) {
	for _, kept := range []layout{layoutXattr, layoutSidecar} {
		t.Run(string(kept), func(t *testing.T) {
			path := t.TempDir()
			if err := os.WriteFile(filepath.Join(path, datadir.S3Layout), []byte(kept), 0o600); err != nil {
				t.Fatal(err)
			}
			first := start(t, path)
			upload := beginUpload(t, first.Client(first.Root), "large")
			first.stop(t)
			// As if killed while the upload was being completed, and another
			// was being written.
			temporary := filepath.Join(path, datadir.S3, Bucket, posix.MetaTmpDir)
			leftover := writeFile(t, temporary, "0123.456")
			folders, err := filepath.Glob(filepath.Join(temporary, "multipart", "*", upload.id))
			if err != nil || len(folders) != 1 {
				t.Fatalf("the upload's folder: %v %v", folders, err)
			}
			claim(t, path, folders[0])

			again := start(t, path)
			if _, err := os.Stat(leftover); err == nil {
				t.Error("a half-written file is still there")
			}
			root := again.Client(again.Root)
			upload.complete(t, root)
			if got := get(t, root, "large", ""); got != "part" {
				t.Errorf("completed to %q", got)
			}
			if got := again.notified(); !slices.Equal(got, []string{"large"}) {
				t.Errorf("notified of %q", got)
			}
		})
	}
}

// claim renames the folder of an upload, and its metadata, as the storage does
// before it completes it.
func claim(t *testing.T, path, folder string) {
	t.Helper()
	objects, metadata := filepath.Join(path, datadir.S3), filepath.Join(path, datadir.S3Metadata)
	rel, err := filepath.Rel(objects, folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{objects, metadata} {
		from := filepath.Join(root, rel)
		if _, err := os.Stat(from); err != nil && root == metadata {
			continue // kept in extended attributes
		}
		if err := os.Rename(from, from+".0a1b-1.inprogress"); err != nil {
			t.Fatal(err)
		}
	}
}
