package functions_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	functions     = []string{"discovery", "versions", "download", "fetch", "publish", "login"}
	readFunctions = functions[:4]
)

// maxZipped is the largest that a function which reads may be as it is
// uploaded, in bytes.
const maxZipped = 5 << 20

// TestBuild builds the functions as they are deployed, twice, from two folders.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	first, second := t.TempDir(), t.TempDir()
	elsewhere := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "functions", "pkg"} {
		if out, err := exec.Command("cp", "-R", filepath.Join(root, part), elsewhere).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for source, folder := range map[string]string{root: first, elsewhere: second} {
		if err := build(source, folder, "GOOS=linux", "GOARCH=arm64"); err != nil {
			t.Fatal(err)
		}
	}
	for _, function := range functions {
		binary := read(t, filepath.Join(first, function, "bootstrap"))
		if !bytes.Equal(binary, read(t, filepath.Join(second, function, "bootstrap"))) {
			t.Errorf("%s: two builds of the same source differ", function)
		}
		size := zipped(t, binary)
		t.Logf("%-9s  %5.1f MB, zipped %4.1f MB", function, float64(len(binary))/1e6, float64(size)/1e6)
		if slices.Contains(readFunctions, function) && size >= maxZipped {
			t.Errorf("%s has %d bytes zipped, and may have %d", function, size, maxZipped)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// zipped is the size of a zip with a function in it.
func zipped(t *testing.T, binary []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
	file, err := w.Create("bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(binary); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// TestDependencies holds what each function does without, which keeps it small
// and quick to start, and its permissions few.
func TestDependencies(t *testing.T) {
	const (
		sdk     = "github.com/aws/aws-sdk-go-v2"
		outside = "github.com/larder-registry/larder/pkg/upstream" // what connects to others than AWS
		openPGP = "github.com/ProtonMail/go-crypto"
	)
	identities := []string{"github.com/coreos/go-oidc", "github.com/go-jose/go-jose", "golang.org/x/oauth2", sdk + "/service/ssm"}
	never := []string{
		sdk + "/config", sdk + "/service/sso", sdk + "/service/ssooidc", sdk + "/service/sts",
		"go.etcd.io/bbolt", "github.com/versity/versitygw", "github.com/spf13/cobra", "github.com/gin-gonic/gin", "testing",
	}
	for function, without := range map[string][]string{
		"discovery": {sdk, "github.com/aws/smithy-go", outside},
		"versions":  {sdk + "/service/s3", sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", openPGP, outside},
		"download":  {sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", outside},
		"publish":   {outside},
		"fetch":     {sdk + "/service/kms", sdk + "/service/sns"},
		"login":     {sdk + "/service/s3", sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", openPGP, outside},
	} {
		if function != "login" {
			without = append(without, identities...)
		}
		command := exec.Command("go", "list", "-deps", "-tags", "lambda.norpc", "./functions/"+function)
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		linked := strings.Fields(string(out))
		if !slices.Contains(linked, "github.com/larder-registry/larder/pkg/registry") {
			t.Fatalf("%s: these are no dependencies: %q", function, linked)
		}
		for _, unwanted := range append(without, never...) {
			if slices.ContainsFunc(linked, func(l string) bool { return l == unwanted || strings.HasPrefix(l, unwanted+"/") }) {
				t.Errorf("%s links %s", function, unwanted)
			}
		}
	}
}
