package e2e

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// A large file, which the AWS CLI uploads in parts, is served as it was.
func TestUploadInParts(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	archive := largePackage(t, "large", 100<<20)
	const key = "providers/parts/large/1.0.0/terraform-provider-large_1.0.0_linux_amd64.zip"
	r.expect(t, r.copyIn(t, saveAs(t, path.Base(key), archive), key), published)
	checkWhole(t, r, "parts/large", "1.0.0", map[string][]byte{key: archive})
}

// A module's whole history, which the AWS CLI uploads over several connections at once, is published.
func TestSyncOfManyVersions(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const count = 60
	dist := t.TempDir()
	for n := range count {
		version := fmt.Sprintf("1.%d.0", n)
		if err := os.WriteFile(filepath.Join(dist, version+".tar.gz"), tinyModule(t, version), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.aws(t, "s3", "sync", "--only-show-errors", dist, "s3://"+r.bucket+"/modules/history/label/null/")
	eventually(t, func() error {
		if listed := r.moduleVersions(t, "history/label/null"); len(listed) != count {
			return fmt.Errorf("%d versions are listed, want %d", len(listed), count)
		}
		return nil
	})
}
