package publish_test

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// An upload's temporary files take no space once the upload is done, whatever came
// of it: they have no name by then, and are gone when they are closed.
func TestNoScratchFileStaysOpen(t *testing.T) {
	const descriptors = "/proc/self/fd"
	if _, err := os.Stat(descriptors); err != nil {
		t.Skip("it needs a system that lists open files")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files, too
	open := func() (files []string) {
		all, err := filepath.Glob(descriptors + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, descriptor := range all {
			file, _ := os.Readlink(descriptor)
			if strings.HasPrefix(filepath.Base(file), "upload-") {
				files = append(files, file)
			}
		}
		return files
	}
	w := newWorldOn(t, inMemory, onBolt)
	for key, body := range map[string][]byte{
		packageKey("1.0.0", "linux_amd64"):  widget("a"),
		packageKey("1.0.0", "linux_arm64"):  []byte("no zip"),
		"modules/acme/vpc/aws/1.0.0.zip":    zipOf(map[string]string{"x/main.tf": ""}),
		"modules/acme/vpc/aws/1.1.0.tar.gz": tarOf(map[string]string{"main.tf": ""}),
		"modules/acme/vpc/aws/1.2.0.zip":    []byte("no zip"),
	} {
		before := len(open())
		w.upload(key, body)
		if after := open(); len(after) != before {
			t.Errorf("%s: still open are %q", key, after)
		}
	}
}
