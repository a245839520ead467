package upload

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	good, err := Check(t.Context(), all, &out)
	if good != nil || errorText(err) != "nothing was uploaded: 5 files cannot be published, for the reasons above" {
		t.Errorf("%v, %v", good, err)
	}
	for _, want := range []string{
		"The file is empty (0 bytes).", "has no platform", "no such file", "it is no regular file",
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
		good, err := Check(t.Context(), all, &out)
		return good, out.String(), err
	}
	want := []File{{Name: first, Path: first, Key: "providers/acme/widget/terraform-provider-widget_1.0.0_manifest.json"}}
	if good, out, err := check(first, filepath.Dir(first)); err != nil || !slices.Equal(good, want) || !strings.Contains(out, "skipped") {
		t.Errorf("%v, %v\n%s", good, err, out)
	}
	if good, out, err := check(first, second); err == nil || good != nil || !strings.Contains(out, "the same name as "+first) {
		t.Errorf("two of one name: %v, %v\n%s", good, err, out)
	}
	if good, _, err := check(filepath.Dir(first)); good != nil || !strings.Contains(errorText(err), "none of this") {
		t.Errorf("a folder alone: %v, %v", good, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if good, err := Check(cancelled, want, new(strings.Builder)); good != nil || !strings.Contains(errorText(err), "interrupted") {
		t.Errorf("interrupted: %v, %v", good, err)
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
