package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// A path with a line break would be a line of its own in the file that shells source.
func TestOpenRefusesLineBreaks(t *testing.T) {
	for _, name := range []string{"a\nb", "a\rb"} {
		path := filepath.Join(t.TempDir(), name)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "line break") {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%q was made", name)
		}
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

// What is there already is not written anew: on a full disk that would fail. A
// mode that its owner gave it stays, too.
func TestWriteFileKeepsWhatIsThere(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	same := func(data string) bool {
		t.Helper()
		before, err1 := os.Stat(d.Path(Bundle))
		err2 := d.WriteFile(Bundle, []byte(data))
		after, err3 := os.Stat(d.Path(Bundle))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		return os.SameFile(before, after) && after.ModTime().Equal(before.ModTime())
	}
	if err := errors.Join(d.WriteFile(Bundle, []byte("certificates")), os.Chmod(d.Path(Bundle), 0o644)); err != nil {
		t.Fatal(err)
	}
	if !same("certificates") || mode(t, d.Path(Bundle)) != 0o644 {
		t.Error("the same was written anew")
	}
	for _, other := range []string{"certificate", "certificates!", ""} {
		if same(other) {
			t.Errorf("%q was not written", other)
		}
	}
}

// Where there is no room, the error says of what, and what to do.
func TestFullDisk(t *testing.T) {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := Hint(&os.PathError{Op: "write", Path: "/data/env", Err: full})
		if !errors.Is(err, full) || !strings.Contains(err.Error(), "/data/env") || !strings.Contains(err.Error(), "make room") {
			t.Errorf("%v", err)
		}
	}
	if err := Hint(os.ErrPermission); err != os.ErrPermission {
		t.Errorf("%v", err)
	}
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /dev/full")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := note(f, []byte("1")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a file that takes nothing: %v", err)
	}
}

// The process that holds the folder is noted without the room for that being given
// up first, and nothing of a longer note stays.
func TestNote(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "note"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, data := range []string{"123456\n", "7\n", ""} {
		if err := note(f, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(f.Name()); err != nil || string(got) != data {
			t.Errorf("%q, %v, want %q", got, err, data)
		}
	}
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
	bucket := filepath.Dir(LastRun)
	if err := os.MkdirAll(filepath.Join(path, bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, half := range []string{tempPrefix + CA + "-123", ".new-123", bucket + "/" + tempPrefix + "last-run-123"} { // the second one is a signing key
		if err := os.WriteFile(filepath.Join(path, half), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	assertNoLeftovers(t, open(t, path))
}

func assertNoLeftovers(t *testing.T, d *Dir) {
	t.Helper()
	for _, folder := range []string{"", filepath.Dir(LastRun)} {
		left, err := filepath.Glob(d.Path(filepath.Join(folder, ".*")))
		if err != nil || len(left) != 0 {
			t.Errorf("leftovers: %v %v", left, err)
		}
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

// What cannot be read, kept or removed is an error: a key that is not kept would be
// another one at the next start.
func TestFolderThatFails(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	if err := os.MkdirAll(filepath.Join(d.Path("folder"), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	made := func() ([]byte, error) { return []byte("made"), nil }
	if _, err := d.LoadOrCreate("folder", made); !errors.Is(err, syscall.EISDIR) || !strings.HasPrefix(err.Error(), "read from the data folder: ") {
		t.Errorf("load a folder: %v", err)
	}
	if err := d.Remove("folder"); err == nil || !strings.HasPrefix(err.Error(), "remove from the data folder: ") {
		t.Errorf("remove a folder: %v", err)
	}
	if err := os.RemoveAll(d.Path("")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.LoadOrCreate("new", made); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "write "+d.Path("new")+": ") {
		t.Errorf("keep what was made: %v", err)
	}
	if err := d.Supersede("a", "b", "c"); err == nil || !strings.HasPrefix(err.Error(), "keep the old a: ") {
		t.Errorf("supersede: %v", err)
	}
}
