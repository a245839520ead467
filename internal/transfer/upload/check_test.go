package upload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/publish"
)

func TestCheckTellsEveryViolation(t *testing.T) {
	dir := t.TempDir()
	paths := []string{}
	for name, content := range map[string]string{
		"terraform-provider-widget_1.0.0_manifest.json":   `{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`,
		"terraform-provider-widget_1.0.0_SHA256SUMS":      "no\nlines",
		"terraform-provider-widget_1.0.0_linux_amd64.zip": "",
		"terraform-provider-widget_1.0.0.zip":             "",
		"README.md":                                       "",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, file)
	}
	paths = append(paths, dir, filepath.Join(dir, "terraform-provider-widget_1.0.0_darwin_arm64.zip"), os.DevNull)
	all, err := Release("acme/widget", paths)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	good, reports, err := Check(t.Context(), all, new(publish.Checker))
	WriteProblems(&out, reports)
	if good != nil || errorText(err) != "nothing was uploaded: 5 files cannot be published, for the reasons above" {
		t.Errorf("%v, %v", good, err)
	}
	for _, want := range []string{
		"The file is empty (0 bytes).", "has no platform", "no such file", "it is not a regular file",
		"skipped: " + filepath.Join(dir, "README.md") + "\n    in the folder of provider acme/widget",
		"skipped: " + dir + "\n    it is a folder",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if got := strings.Count(out.String(), "SHA256SUMS\n    "); got != 1 || strings.Contains(out.String(), "manifest.json") {
		t.Errorf("it says\n%s", out.String())
	}
}

func TestCheckReturnsWhatIsToBeUploaded(t *testing.T) {
	manifest := []byte(`{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`)
	first := filepath.Join(t.TempDir(), "terraform-provider-widget_1.0.0_manifest.json")
	second := filepath.Join(t.TempDir(), "terraform-provider-widget_1.0.0_manifest.json")
	for _, file := range []string{first, second} {
		if err := os.WriteFile(file, manifest, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(paths ...string) ([]File, string, error) {
		all, err := Release("acme/widget", paths)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		good, reports, err := Check(t.Context(), all, new(publish.Checker))
		WriteProblems(&out, reports)
		return good, out.String(), err
	}
	want := []File{{Name: first, Path: first, Key: "providers/acme/widget/terraform-provider-widget_1.0.0_manifest.json"}}
	if good, out, err := check(first, filepath.Dir(first)); err != nil || !slices.Equal(good, want) || !strings.Contains(out, "skipped") {
		t.Errorf("%v, %v\n%s", good, err, out)
	}
	if good, out, err := check(first, second); err == nil || good != nil || !strings.Contains(out, "the same name as "+first) {
		t.Errorf("two of one name: %v, %v\n%s", good, err, out)
	}
	if good, _, err := check(filepath.Dir(first)); !slices.Equal(good, want) || err != nil {
		t.Errorf("a folder alone: %v, %v", good, err)
	}
	if good, _, err := check(t.TempDir(), t.TempDir()); good != nil || !strings.Contains(errorText(err), "publishes none of these files") {
		t.Errorf("folders: %v, %v", good, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if good, _, err := Check(cancelled, want, new(publish.Checker)); good != nil || !strings.Contains(errorText(err), "interrupted") {
		t.Errorf("interrupted: %v, %v", good, err)
	}
}

// A folder is taken for what is a release's in it, or it is said what is missing.
func TestReleaseInAFolder(t *testing.T) {
	for _, test := range []struct{ names, want, err string }{
		{"terraform-provider-widget_1.0.0_linux_amd64.zip terraform-provider-widget_1.0.0_SHA256SUMS artifacts.json CHANGELOG.md terraform-provider-widget_x/f", "terraform-provider-widget_1.0.0_SHA256SUMS terraform-provider-widget_1.0.0_linux_amd64.zip", ""},
		{"terraform-provider-widget_1.0.0_linux_amd64.zip terraform-provider-widget_1.0.0_docs.zip", "terraform-provider-widget_1.0.0_docs.zip terraform-provider-widget_1.0.0_linux_amd64.zip", ""},
		{"terraform-provider-widget_1.0.0_linux_amd64.zip terraform-provider-gadget.zip", "terraform-provider-gadget.zip terraform-provider-widget_1.0.0_linux_amd64.zip", ""},
		{"terraform-provider-gadget_1.0.0_linux_amd64.zip terraform-provider-other.zip", "", "the folder DIR has no file of the provider acme/widget, but has terraform-provider-gadget_1.0.0_linux_amd64.zip: --to names another type"},
		{"main.go widget.zip", "", "the folder DIR has no file of a provider's release: a package is named terraform-provider-widget_<version>_<os>_<arch>.zip"},
		{"", "", "the folder DIR has no file of a provider's release: a package is named terraform-provider-widget_<version>_<os>_<arch>.zip"},
	} {
		dir := t.TempDir()
		for _, name := range strings.Fields(test.names) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		files, err := Release("acme/widget", []string{dir})
		var got []string
		for _, f := range files {
			if f.Path != filepath.Join(dir, filepath.Base(f.Path)) || f.Name != f.Path {
				t.Errorf("%+v", f)
			}
			got = append(got, filepath.Base(f.Path))
		}
		if strings.Join(got, " ") != test.want || errorText(err) != strings.Replace(test.err, "DIR", dir, 1) {
			t.Errorf("%s: %q, %v", test.names, got, err)
		}
	}
}

// What files have to say to one another is told as what is wrong with each, and keeps
// all of them from being uploaded.
func TestCheckTogether(t *testing.T) {
	dir := t.TempDir()
	sums := filepath.Join(dir, "terraform-provider-widget_1.0.0_SHA256SUMS")
	manifest := filepath.Join(dir, "terraform-provider-widget_1.0.0_manifest.json")
	const body = `{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`
	for _, test := range []struct{ listed, err, want string }{
		{"0", "nothing was uploaded: 1 file cannot be published, for the reasons above", "rejected: " + manifest + "\n    the author's SHA256SUMS lists terraform-provider-widget_1.0.0_manifest.json with another sha256 (" + strings.Repeat("0", 64) + "; this file: %x)\n"},
		{"", "", ""},
	} {
		hash := sha256.Sum256([]byte(body))
		listed := hex.EncodeToString(hash[:])
		if test.listed != "" {
			listed, test.want = strings.Repeat("0", 64), fmt.Sprintf(test.want, hash)
		}
		for file, content := range map[string]string{sums: listed + "  " + filepath.Base(manifest) + "\n", manifest: body} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files, err := Release("acme/widget", []string{manifest, sums})
		if err != nil {
			t.Fatal(err)
		}
		good, reports, err := Check(t.Context(), files, new(publish.Checker))
		var out strings.Builder
		WriteProblems(&out, reports)
		want := test.want + "warning: " + sums + "\n    terraform-provider-widget_1.0.0_SHA256SUMS.sig is not among the files: without the author's signature, the registry serves a SHA256SUMS and a signature of its own.\n"
		if out.String() != want || errorText(err) != test.err || len(good) != map[bool]int{true: 2}[err == nil] {
			t.Errorf("%v, %v\n%s\nwant\n%s", good, err, out.String(), want)
		}
		statuses := []string{"not-uploaded", "not-uploaded"}
		if err != nil {
			statuses[0] = "rejected"
		}
		if reports[0].Status != statuses[0] || reports[1].Status != statuses[1] || reports[1].Key != "providers/acme/widget/"+filepath.Base(sums) {
			t.Errorf("%+v", reports)
		}
	}
}

func TestAuthorKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "author.asc")
	if _, err := AuthorKeys(file); err == nil {
		t.Error("a file that is not there is read")
	}
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := AuthorKeys(file); !strings.HasPrefix(errorText(err), file+": ") {
		t.Errorf("%v", err)
	}
}

func TestModule(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "any.tgz")
	for _, file := range []string{archive, filepath.Join(dir, "main.tf")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{archive: "modules/acme/vpc/aws/1.0.0.tgz", dir: "modules/acme/vpc/aws/1.0.0.tar.gz"} {
		file, cleanUp, err := Module(t.Context(), "Acme/vpc/aws", "1.0.0", path)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name != path || file.Key != want {
			t.Errorf("%+v", file)
		}
		if _, err := os.Stat(file.Path); err != nil {
			t.Error(err)
		}
		cleanUp()
		if _, err := os.Stat(file.Path); (err == nil) != (file.Path == path) {
			t.Errorf("after the clean-up: %v", err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	if _, _, err := Module(t.Context(), "acme/vpc/aws", "1.0.0", filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that is not there is packed")
	}
	if err := os.WriteFile(filepath.Join(dir, ".terraformignore"), []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Module(t.Context(), "acme/vpc/aws", "1.0.0", dir); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
