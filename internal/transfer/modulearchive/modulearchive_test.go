package modulearchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/archive"
)

// folder is a new folder with the given files in it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Pack(t.Context(), dir, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func headers(t *testing.T, packed []byte) (all []*tar.Header) {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
}

func TestPackLeavesOutWhatIsIgnored(t *testing.T) {
	for _, test := range []struct {
		name, ignore string
		want         []string
	}{
		{"nothing said", "", []string{".terraform/modules/a/main.tf", ".terraformignore", "a/b.tf", "a/c.md", "a.tf"}},
		{"a folder", "/a/", []string{".terraform/modules/a/main.tf", ".terraformignore", "a.tf"}},
		{"a folder at any depth", "a/", []string{".terraformignore", "a.tf"}},
		{"but for one file", "a/\n!a/b.tf", []string{".terraformignore", "a/b.tf", "a.tf"}},
		{"the file itself", ".terraformignore\n.terraform/", []string{"a/b.tf", "a/c.md", "a.tf"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, map[string]string{
				"a.tf": "", "a/b.tf": "x", "a/c.md": "y", ".git/HEAD": "z",
				".terraform/terraform.tfstate": "{}", ".terraform/modules/a/main.tf": "", ".terraformignore": test.ignore,
			})
			var got []string
			for _, h := range headers(t, pack(t, dir)) {
				got = append(got, h.Name)
			}
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("packed %v, want %v", got, test.want)
			}
		})
	}
}

// The same files give the same bytes, wherever and whenever; other files do not.
func TestPackIsDeterministic(t *testing.T) {
	files := map[string]string{"main.tf": "# main", "z/a.tf": "", "run.sh": "#!/bin/sh", "sub/" + strings.Repeat("long", 40) + ".tf": "ü"}
	first, second := folder(t, files), folder(t, files)
	for _, dir := range []string{first, second} {
		if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(second, "main.tf"), time.Time{}, time.Unix(1e9, 5)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(second, "main.tf"), 0o644); err != nil {
		t.Fatal(err)
	}
	packed := pack(t, first)
	if !bytes.Equal(packed, pack(t, first)) || !bytes.Equal(packed, pack(t, second)) {
		t.Error("the same files were packed to other bytes")
	}
	for _, h := range headers(t, packed) {
		if want := map[bool]int64{true: 0o755, false: 0o644}[h.Name == "run.sh"]; h.Mode != want || h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%+v", h)
		}
	}
	if err := os.WriteFile(filepath.Join(second, "main.tf"), []byte("# MAIN"), 0o600); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(packed, pack(t, second)) {
		t.Error("other files were packed to the same bytes")
	}
	if _, err := archive.CheckModule(t.Context(), bytes.NewReader(packed), int64(len(packed)), archive.TarGz); err != nil {
		t.Errorf("what is packed is refused: %v", err)
	}
}

// What is no file is packed as what it is, for the registry's own rules to refuse; unless it is excluded.
func TestPackKeepsLinksForTheRulesToRefuse(t *testing.T) {
	dir := folder(t, map[string]string{"main.tf": "", "a/b.tf": ""})
	for _, err := range []error{
		os.Symlink("../outside", filepath.Join(dir, "a", "link.tf")),
		os.Symlink("a", filepath.Join(dir, "folder")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	packed := pack(t, dir)
	_, err := archive.CheckModule(t.Context(), bytes.NewReader(packed), int64(len(packed)), archive.TarGz)
	var violations archive.Violations
	if !errors.As(err, &violations) || len(violations) != 3 || !strings.Contains(violations[0], `"a/link.tf" is a symbolic link to "../outside"`) {
		t.Errorf("%q", violations)
	}
	if err := os.WriteFile(filepath.Join(dir, ".terraformignore"), []byte("link.tf\nfolder\npipe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	packed = pack(t, dir)
	if _, err := archive.CheckModule(t.Context(), bytes.NewReader(packed), int64(len(packed)), archive.TarGz); err != nil {
		t.Errorf("what is excluded is refused: %v", err)
	}
}

func TestPackGivesUp(t *testing.T) {
	many := folder(t, nil)
	for n := range archive.MaxFiles + 1 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprint(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	large := folder(t, map[string]string{"large": ""})
	if err := os.Truncate(filepath.Join(large, "large"), archive.MaxModuleExpanded+1); err != nil {
		t.Fatal(err)
	}
	wrong := folder(t, map[string]string{".terraformignore": "[a"})
	piped := folder(t, map[string]string{"main.tf": ""})
	if err := syscall.Mkfifo(filepath.Join(piped, ".terraformignore"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		piped: ".terraformignore is not a regular file",
		many:  "more than 20000 files or 256 MiB", large: "exclude in .terraformignore", wrong: "line 1",
		filepath.Join(wrong, "missing"): "missing",
	} {
		if err := Pack(t.Context(), dir, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Pack(cancelled, folder(t, map[string]string{"main.tf": ""}), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := Pack(t.Context(), folder(t, map[string]string{"main.tf": ""}), fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("nowhere to write: %v", err)
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
