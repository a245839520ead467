package functions_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	functions     = []string{"discovery", "versions", "download", "catalog", "fetch", "publish", "login"}
	readFunctions = functions[:5]
)

// maxSize is the largest that a function which reads may be, in bytes: some hundredths more
// than it is. Lambda loads it in every cold start.
var maxSize = map[string]int{
	"discovery": 7_400_000,
	"versions":  7_600_000,
	"download":  7_700_000,
	"catalog":   9_700_000,
	"fetch":     11_000_000,
}

// TestBuild builds and zips the functions as they are deployed, twice, from two folders.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	first, second := t.TempDir(), t.TempDir()
	elsewhere := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "functions", "internal", "pkg", "scripts"} {
		if out, err := exec.Command("cp", "-R", filepath.Join(root, part), elsewhere).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for source, folder := range map[string]string{root: first, elsewhere: second} {
		if err := build(source, folder, "GOOS=linux", "GOARCH=arm64"); err != nil {
			t.Fatal(err)
		}
		if out, err := pack(source, folder); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, function := range functions {
		binary := read(t, filepath.Join(first, function, "bootstrap"))
		zipped := read(t, filepath.Join(first, function+".zip"))
		if !bytes.Equal(binary, read(t, filepath.Join(second, function, "bootstrap"))) || !bytes.Equal(zipped, read(t, filepath.Join(second, function+".zip"))) {
			t.Errorf("%s: two builds of the same source differ", function)
		}
		checkZip(t, function, zipped, binary)
		t.Logf("%-9s  %5.1f MB, zipped %4.1f MB", function, float64(len(binary))/1e6, float64(len(zipped))/1e6)
		if slices.Contains(readFunctions, function) && len(binary) > maxSize[function] {
			t.Errorf("%s has %d bytes, and may have %d", function, len(binary), maxSize[function])
		}
	}
}

// pack zips functions that are built.
func pack(source, folder string) (string, error) {
	command := exec.Command("go", "run", "./functions/internal/pack", folder)
	command.Dir = source
	out, err := command.CombinedOutput()
	return string(out), err
}

// checkZip checks that a zip has a function's binary and nothing else, for Lambda to start.
func checkZip(t *testing.T, function string, zipped, binary []byte) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.File) != 1 || archive.File[0].Name != "bootstrap" || archive.File[0].Mode() != 0o755 {
		t.Errorf("%s: the zip holds %+v", function, archive.File)
	}
	file, err := archive.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(file); err != nil || !bytes.Equal(content, binary) {
		t.Errorf("%s: the zip does not hold what was built (%v)", function, err)
	}
}

// TestPackNothing checks that a folder in which nothing was built is not taken for one without functions.
func TestPackNothing(t *testing.T) {
	folder := t.TempDir()
	out, err := pack(root, folder)
	if want := "pack: no function is built in " + folder + ": scripts/build-functions does that\nexit status 1\n"; err == nil || out != want {
		t.Errorf("it says %q (%v), want %q", out, err, want)
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

// TestDependencies checks which packages each function does not link. So it is small, starts
// quickly and needs few permissions.
func TestDependencies(t *testing.T) {
	const (
		sdk     = "github.com/aws/aws-sdk-go-v2"
		outside = "github.com/larder-registry/larder/pkg/upstream" // what connects to others than AWS
		openPGP = "github.com/ProtonMail/go-crypto"
	)
	identities := []string{"github.com/coreos/go-oidc", "github.com/go-jose/go-jose", "golang.org/x/oauth2", sdk + "/service/ssm"}
	never := []string{
		sdk + "/service/dynamodb", sdk + "/config", sdk + "/service/sso", sdk + "/service/ssooidc", sdk + "/service/sts",
		"go.etcd.io/bbolt", "github.com/versity/versitygw", "github.com/spf13/cobra", "github.com/gin-gonic/gin", "testing",
	}
	for function, without := range map[string][]string{
		"discovery": {sdk, "github.com/aws/smithy-go", outside},
		"versions":  {sdk + "/service/s3", sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", openPGP, outside},
		"catalog":   {sdk + "/service/s3", sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", openPGP, outside},
		"download":  {sdk + "/service/s3", sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", outside},
		"publish":   {outside},
		"fetch":     {sdk + "/service/kms", sdk + "/service/sns"},
		"login":     {sdk + "/service/s3", sdk + "/service/kms", sdk + "/service/sqs", sdk + "/service/sns", openPGP, outside},
	} {
		switch function {
		case "login":
		case "catalog": // the library for assistants has a type of oauth2 in its own
			without = append(without, slices.DeleteFunc(slices.Clone(identities), func(name string) bool { return name == "golang.org/x/oauth2" })...)
		default:
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
