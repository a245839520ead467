package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestOpenCreatesPrivateFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "data")
	d := open(t, path)
	if got := mode(t, path); got != 0o700 {
		t.Errorf("data folder has mode %o, want 700", got)
	}
	sub, err := d.Folder(S3)
	if err != nil {
		t.Fatal(err)
	}
	if got := mode(t, sub); got != 0o700 {
		t.Errorf("folder inside has mode %o, want 700", got)
	}
}

func TestOpenRefusesRelativePath(t *testing.T) {
	if _, err := Open("data"); err == nil {
		t.Error("a relative path was accepted")
	}
}

func TestOneServerPerFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first := open(t, path)
	_, err := Open(path)
	if !errors.Is(err, ErrInUse) {
		t.Fatalf("second Open: %v, want ErrInUse", err)
	}
	for _, want := range []string{path, fmt.Sprintf("process %d", os.Getpid()), "LARDER_DATA"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

func TestWriteFileReplaces(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	for _, content := range []string{"first, which is longer", "second"} {
		if err := d.WriteFile(Env, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(d.Path(Env))
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v, want %q", got, err, content)
		}
	}
	if got := mode(t, d.Path(Env)); got != 0o600 {
		t.Errorf("file has mode %o, want 600", got)
	}
	assertNoLeftovers(t, d)
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	// A folder that is not empty cannot be replaced by a file.
	if _, err := d.Folder(Env + "/occupied"); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteFile(Env, []byte("x")); err == nil {
		t.Fatal("a folder was replaced by a file")
	}
	assertNoLeftovers(t, d)
}

func TestOpenRemovesHalfWrittenFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(path, tempPrefix+CA+"-123")
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	assertNoLeftovers(t, open(t, path))
}

func assertNoLeftovers(t *testing.T, d *Dir) {
	t.Helper()
	left, err := filepath.Glob(d.Path(tempPrefix + "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("leftovers: %v %v", left, err)
	}
}

func TestLoadOrCreate(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	failure := errors.New("no entropy")
	if _, err := d.LoadOrCreate(CA, func() ([]byte, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Fatalf("got %v, want the creator's error", err)
	}
	made := 0
	create := func() ([]byte, error) {
		made++
		return fmt.Appendf(nil, "made %d", made), nil
	}
	for range 2 {
		got, err := d.LoadOrCreate(CA, create)
		if err != nil || string(got) != "made 1" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got := mode(t, d.Path(CA)); got != 0o600 {
		t.Errorf("file has mode %o, want 600", got)
	}
}

func TestRemove(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	if err := d.WriteFile(Env, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Remove(Env); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(d.Path(Env)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestSupersede(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	write := func(name, data string) {
		t.Helper()
		if err := d.WriteFile(name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, want string) {
		t.Helper()
		if data, err := os.ReadFile(d.Path(name)); err != nil || string(data) != want {
			t.Errorf("%s has %q, %v, want %q", name, data, err, want)
		}
	}
	write("key", "first")
	if err := d.Supersede("key", "next", "kept-1"); err == nil {
		t.Error("replaced by nothing")
	}
	check("key", "first")
	write("next", "second")
	if err := d.Supersede("key", "next", "kept-1"); err != nil { // which the failed try has made
		t.Fatal(err)
	}
	check("key", "second")
	check("kept-1", "first")
	if _, err := os.Stat(d.Path("next")); !os.IsNotExist(err) {
		t.Errorf("the next file is still there: %v", err)
	}
	write("next", "third")
	if err := d.Supersede("missing", "next", "kept-2"); err == nil {
		t.Error("replaced what is not there")
	}
	check("next", "third")
}
