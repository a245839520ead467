package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// larderPublish runs `larder publish` with what the env file gave, and returns all that it wrote.
func (r *registry) larderPublish(args ...string) (out string, err error) {
	argv := append([]string{larder, "publish"}, args...)
	out, err = command{env: r.vars, argv: argv}.run()
	if err != nil {
		return err.Error(), err
	}
	return out, nil
}

// mustPublish is larderPublish, which must succeed.
func (r *registry) mustPublish(t testing.TB, args ...string) string {
	t.Helper()
	out, err := r.larderPublish(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkSays wants all of the words in what a command wrote.
func checkSays(t testing.TB, out string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(out, word) {
			t.Errorf("it does not say %q:\n%s", word, out)
		}
	}
}

// checkNothingIn wants the inbox to have no upload under a prefix.
func (r *registry) checkNothingIn(t testing.TB, prefix string) {
	t.Helper()
	found, err := r.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &r.bucket, Prefix: &prefix})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range found.Contents {
		t.Errorf("uploaded: %s", *object.Key)
	}
}

// namesInTarGz is the names in an archive.
func namesInTarGz(t testing.TB, archive []byte) []string {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

// writeTree writes files into a folder, with the folders that they lie in.
func writeTree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, content)
	}
}

// A module's folder is packed and published, always as the same bytes, without what .terraformignore excludes.
func TestLarderPublishModuleFolder(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/network")); err != nil {
		t.Fatal(err)
	}
	writeTree(t, dir, map[string]string{".terraformignore": "*.secret\nexamples/\n", "a.secret": "hush", ".git/config": "[core]"})
	args := []string{"--module", "cli/network/aws", "--version", "1.2.3", dir}

	checkSays(t, r.mustPublish(t, args...), "published", dir)
	if got := r.moduleVersions(t, "cli/network/aws"); !slices.Equal(got, []string{"1.2.3"}) {
		t.Fatalf("listed: %v", got)
	}
	served := namesInTarGz(t, r.moduleArchive(t, "cli/network/aws/1.2.3"))
	if !slices.Contains(served, "modules/subnets/main.tf") || slices.ContainsFunc(served, func(name string) bool {
		return strings.HasSuffix(name, ".secret") || strings.HasPrefix(name, ".git/") || strings.HasPrefix(name, "examples/")
	}) {
		t.Errorf("served: %v", served)
	}
	// Other bytes would be a conflict.
	checkSays(t, r.mustPublish(t, args...), "published")

	t.Run("changed", func(t *testing.T) {
		writeFile(t, filepath.Join(dir, "more.tf"), "# more\n")
		out, err := r.larderPublish(args...)
		if err == nil {
			t.Fatalf("it was content:\n%s", out)
		}
		checkSays(t, out, "rejected", "is published already with other bytes", "of 1 file: 1 rejected")
	})
}

// publishedFile is a file in the document of `larder publish --json`.
type publishedFile struct {
	File      string   `json:"file"`
	Key       string   `json:"key"`
	VersionID string   `json:"version_id"`
	Status    string   `json:"status"`
	Reasons   []string `json:"reasons"`
	Warnings  []string `json:"warnings"`
}

// publishedFiles reads the one JSON document that `larder publish --json` writes.
func publishedFiles(t testing.TB, out string) []publishedFile {
	t.Helper()
	var document struct {
		Files []publishedFile `json:"files"`
	}
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("something follows the document:\n%s", out)
	}
	return document.Files
}

// An archive is uploaded as it is. An archive whose format does not fit its name is refused before the upload.
func TestLarderPublishModuleArchive(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	archive := saveAs(t, "label-v1.tgz", tinyModule(t, "archive"))
	const key = "modules/cli/label/null/1.0.0.tgz"
	publish := command{env: r.vars, argv: []string{larder, "publish", "--json", "--module", "cli/label/null", "--version", "1.0.0", archive}}
	out := publish.must(t)
	want := publishedFile{File: archive, Key: key, VersionID: r.latest(t, key).version, Status: published}
	if got := publishedFiles(t, out); !reflect.DeepEqual(got, []publishedFile{want}) {
		t.Errorf("%s\nwant %+v", out, want)
	}
	other := saveAs(t, "label-v1.tgz", tinyModule(t, "other"))
	publish.argv[len(publish.argv)-1] = other
	out, err := publish.run()
	if err == nil {
		t.Error("it was content with other bytes")
	}
	got := publishedFiles(t, out)
	if len(got) != 1 || len(got[0].Reasons) != 1 || !strings.Contains(got[0].Reasons[0], "is published already with other bytes") {
		t.Fatalf("no reason why:\n%s", out)
	}
	want = publishedFile{File: other, Key: key, VersionID: r.latest(t, key).version, Status: rejected, Reasons: got[0].Reasons}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("%s\nwant %+v", out, want)
	}

	out, err = r.larderPublish("--module", "cli/other/null", "--version", "1.0.0", saveAs(t, "other.zip", tinyModule(t, "no zip")))
	if err == nil {
		t.Fatalf("it was content:\n%s", out)
	}
	checkSays(t, out, "it looks like gzip")
	r.checkNothingIn(t, "modules/cli/other/")
}

// If one file breaks the rules, no file is uploaded, and every violation is printed.
func TestLarderPublishBadFiles(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	dist := t.TempDir()
	for name, body := range map[string][]byte{
		"terraform-provider-widget_1.0.0_linux_amd64.zip":  providerZip(t, "widget", "1.0.0", "fine"),
		"terraform-provider-widget_1.0.0_darwin_arm64.zip": zipOf(t, executable("bin/terraform-provider-widget"), entry{name: "../up"}),
		"terraform-provider-widget_v1.0.0_linux_arm64.zip": providerZip(t, "widget", "1.0.0", "named badly"),
		"terraform-provider-widget_1.0.0_manifest.json":    []byte(`{"version": 2}`),
	} {
		writeFile(t, filepath.Join(dist, name), string(body))
	}
	out, err := r.larderPublish(append(filesIn(t, dist), "--to", "cli-bad/widget")...)
	if err == nil {
		t.Fatalf("it was content:\n%s", out)
	}
	checkSays(t, out, `"../up" has a ".." segment`, "lies in a folder", "leading v", "not a registry manifest", "nothing was uploaded: 3 files cannot")
	r.checkNothingIn(t, "providers/cli-bad/")

	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.tf"), "")
	if err := os.Symlink("main.tf", filepath.Join(dir, "link.tf")); err != nil {
		t.Fatal(err)
	}
	if out, err = r.larderPublish("--module", "cli-bad/network/aws", "--version", "1.0.0", dir); err == nil {
		t.Fatalf("it was content:\n%s", out)
	}
	checkSays(t, out, `"link.tf" is a symbolic link to "main.tf"; only regular files and folders are accepted.`)
	r.checkNothingIn(t, "modules/cli-bad/")
}

// A dist folder is published as GoReleaser leaves it. Without the author's key, the author's signature is pending.
func TestLarderPublishDist(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthor(t)
	release := newRelease(t, ada, "cli-dist")
	dist := t.TempDir()
	for key, body := range release.packages {
		writeFile(t, filepath.Join(dist, path.Base(key)), string(body))
	}
	writeTree(t, dist, map[string]string{
		path.Base(release.sumsKey): string(release.sums),
		path.Base(release.sigKey):  string(release.sig),
		"artifacts.json":           "[]",
		"CHANGELOG.md":             "# Changes",
		"widget_linux_amd64_v1/terraform-provider-widget_v1.0.0": "binary",
	})
	args := append(filesIn(t, dist), "--to", "cli-dist/widget")

	out, err := r.larderPublish(args...)
	if err == nil {
		t.Errorf("it was content without the author's key:\n%s", out)
	}
	checkSays(t, out, "skipped: "+filepath.Join(dist, "artifacts.json"), "it is a folder", "is not under keys/cli-dist/ yet", "of 4 files: the author's signature was not taken")
	if got := strings.Count(out, pending); got != 2 {
		t.Errorf("%d files are pending, want SHA256SUMS and its signature:\n%s", got, out)
	}
	r.publish(t, "keys/cli-dist/ada.asc", ada.publicKey(t))
	if out = r.mustPublish(t, dist, "--to", "cli-dist/widget", "--author-key", saveAs(t, "ada.asc", ada.publicKey(t))); strings.Contains(out, pending) || strings.Count(out, published) != 4 {
		t.Errorf("with the author's key:\n%s", out)
	}
	checkWhole(t, r, "cli-dist/widget", "1.0.0", release.packages)

	t.Run("conflict", func(t *testing.T) {
		name := slices.Sorted(maps.Keys(release.packages))[0]
		other := saveAs(t, path.Base(name), providerZip(t, "widget", "1.0.0", "other bytes"))
		out, err := r.larderPublish(other, "--to", "cli-dist/widget")
		if err == nil {
			t.Fatalf("it was content:\n%s", out)
		}
		checkSays(t, out, "rejected", "is published already with other bytes")
	})
	t.Run("contradiction", func(t *testing.T) {
		writeFile(t, filepath.Join(dist, path.Base(slices.Sorted(maps.Keys(release.packages))[0])), string(providerZip(t, "widget", "1.0.0", "other bytes")))
		out, err := r.larderPublish(dist, "--to", "cli-other/widget")
		if err == nil {
			t.Fatalf("it was content:\n%s", out)
		}
		checkSays(t, out, "with another sha256", "nothing was uploaded: 1 file cannot")
		r.checkNothingIn(t, "providers/cli-other/")
	})
}

// A large package goes up in parts. With --no-wait the command does not wait.
func TestLarderPublishInParts(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	archive := largePackage(t, "cliparts", 40<<20)
	file := saveAs(t, "terraform-provider-cliparts_1.0.0_linux_amd64.zip", archive)
	out := r.mustPublish(t, file, "--to", "cli/cliparts", "--no-wait")
	checkSays(t, out, "uploaded", "s3://"+r.bucket+"/providers/cli/cliparts/")
	key := "providers/cli/cliparts/" + filepath.Base(file)
	r.expect(t, r.latest(t, key), published)
	checkWhole(t, r, "cli/cliparts", "1.0.0", map[string][]byte{key: archive})
}

// filesIn is what `dir/*` gives.
func filesIn(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	return files
}
