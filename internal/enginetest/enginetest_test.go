package enginetest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// verdict is a test that says how it was ended.
type verdict struct {
	testing.TB
	skipped, failed bool
}

func (*verdict) Helper()        {}
func (v *verdict) Skip(...any)  { v.skipped = true; runtime.Goexit() }
func (v *verdict) Fatal(...any) { v.failed = true; runtime.Goexit() }

func TestNeed(t *testing.T) {
	e := Engine{Folder: t.TempDir(), Pom: []byte("wanted")}
	for _, c := range []struct {
		pom, ci string
		want    verdict
	}{
		{"", "", verdict{skipped: true}},
		{"", "true", verdict{failed: true}},
		{"older", "", verdict{skipped: true}},
		{"older", "true", verdict{failed: true}},
		{"wanted", "", verdict{}},
		{"wanted", "true", verdict{}},
	} {
		t.Setenv("CI", c.ci)
		if c.pom != "" {
			if err := os.WriteFile(filepath.Join(e.Folder, "pom.xml"), []byte(c.pom), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, done := &verdict{}, make(chan struct{})
		go func() {
			defer close(done)
			e.Need(got)
		}()
		if <-done; *got != c.want {
			t.Errorf("with %q and CI=%q: %+v, want %+v", c.pom, c.ci, *got, c.want)
		}
	}
}

// An engine is looked for in the repository, wherever in it a test runs.
func TestFolder(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Folder("engine"), filepath.Join(root, ".cache", "engine"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
