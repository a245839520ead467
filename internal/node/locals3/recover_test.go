package locals3

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/versity/versitygw/backend/posix"
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

func TestRecoverUploads(t *testing.T) {
	path := t.TempDir()
	first := start(t, path)
	upload := beginUpload(t, first.Client(first.Root), "large")
	first.stop(t)
	// As if killed while the upload was being completed, and another was being
	// written.
	temporary := filepath.Join(path, datadir.S3, Bucket, posix.MetaTmpDir)
	leftover := writeFile(t, temporary, "0123.456")
	folders, err := filepath.Glob(filepath.Join(temporary, "multipart", "*", upload.id))
	if err != nil || len(folders) != 1 {
		t.Fatalf("the upload's folder: %v %v", folders, err)
	}
	if err := os.Rename(folders[0], folders[0]+".0a1b-1.inprogress"); err != nil {
		t.Fatal(err)
	}

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
}
