// Package oldertest keeps what older versions of Larder have written, for tests that
// read it with the present code: every release reads what older ones wrote.
//
// Each folder of testdata is named after the day on which it was written, and has one
// folder for each door: node, the data folder of a single node, and aws, the bucket and
// the table of a deployment. A folder stays as it is. One that a newer version writes
// stands beside it, and CONTRIBUTING.md says how it is made.
//
// What a registry goes through before it is kept is in history.go. It may grow, for
// the questions and the right answers are kept with each folder.
package oldertest

import (
	"encoding/json"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// variable names the day of a folder that is to be written, such as 2026-11-22.
const variable = "LARDER_WRITE_OLDER"

// A Folder is what one version wrote by one door.
type Folder string

// root is the folder of all.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "testdata")
}

// Each runs a test with what each version wrote by a door.
func Each(t *testing.T, door string, test func(*testing.T, Folder)) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(root(), "*", door))
	if err != nil || len(folders) == 0 {
		t.Fatalf("nothing was kept of %s: %v", door, err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(filepath.Dir(folder)), func(t *testing.T) { test(t, Folder(folder)) })
	}
}

// Files are those that lie below a folder of the bucket, by their keys, of all doors
// and versions.
func Files(t *testing.T, below string) iter.Seq2[string, []byte] {
	t.Helper()
	return func(yield func(string, []byte) bool) {
		found := false
		if err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
			_, rest, ok := strings.Cut(filepath.ToSlash(path), "/"+below)
			if err != nil || !ok || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			found = true
			if err == nil && !yield(below+rest, data) {
				return fs.SkipAll
			}
			return err
		}); err != nil || !found {
			t.Errorf("files below %s: %v", below, err)
		}
	}
}

// New is an empty folder for what the present version writes by a door. The test is
// skipped unless somebody has asked for one.
func New(t *testing.T, door string) Folder {
	t.Helper()
	day := os.Getenv(variable)
	if day == "" {
		t.Skip("it writes a new folder of the series where " + variable + " is the day")
	}
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	folder := filepath.Join(root(), day, door)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatalf("what was written once is not changed: %v", err)
	}
	return Folder(folder)
}

// Path is the path of a file of the folder.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// Read reads a JSON document of the folder.
func (f Folder) Read(t *testing.T, name string, value any) {
	t.Helper()
	data, err := os.ReadFile(f.Path(name))
	if err == nil {
		err = json.Unmarshal(data, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a JSON document of the folder.
func (f Folder) Write(t *testing.T, name string, value any) {
	t.Helper()
	file, err := os.Create(f.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
}
