package oldertest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/versity/versitygw/backend/meta"
)

// attributesName ends the name of the document that says what Git does not keep of a
// tree, and packed that of a file which is kept compressed.
const (
	attributesName = ".attributes.json"
	packed         = ".gz"
)

// locks is the folder of the files that the S3 gateway locks while it writes.
const locks = ".vgwlocks"

// entry is what is kept of a file or folder beside the bytes.
type entry struct {
	Mode       fs.FileMode       `json:"mode"`
	Folder     bool              `json:"folder,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // the extended ones of the user
}

// Keep takes a copy of a tree into the folder, with its extended attributes, but for
// some names at its top.
func (f Folder) Keep(t *testing.T, name, from string, but ...string) {
	t.Helper()
	entries := map[string]entry{}
	if err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil || slices.Contains(but, relative) || d.Name() == locks || !d.IsDir() && !d.Type().IsRegular() {
			if err == nil && d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		e, err := entryOf(t, path, d)
		if err != nil {
			return err
		}
		to := filepath.Join(f.Path(name), relative)
		if !d.IsDir() {
			entries[filepath.ToSlash(relative)] = e
			return pack(path, to)
		}
		if len(e.Attributes) > 0 { // others come with what they hold
			entries[filepath.ToSlash(relative)] = e
		}
		return os.MkdirAll(to, 0o755)
	}); err != nil {
		t.Fatal(err)
	}
	f.writeEntries(t, name, entries)
}

// writeEntries writes an entry to each line.
func (f Folder) writeEntries(t *testing.T, name string, entries map[string]entry) {
	t.Helper()
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		line, err := json.Marshal(map[string]entry{path: entries[path]})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(string(line), "{"), "}"))
	}
	if err := compress([]byte("{\n"+strings.Join(lines, ",\n")+"\n}\n"), f.Path(name+attributesName)); err != nil {
		t.Fatal(err)
	}
}

func entryOf(t *testing.T, path string, d fs.DirEntry) (entry, error) {
	info, err := d.Info()
	if err != nil {
		return entry{}, err
	}
	e := entry{Mode: info.Mode().Perm(), Folder: d.IsDir(), Attributes: map[string]string{}}
	names, err := meta.XattrMeta{}.ListAttributes(path, "")
	if err != nil {
		return entry{}, err
	}
	for _, name := range names {
		value, err := meta.XattrMeta{}.RetrieveAttribute(nil, path, "", name)
		if err != nil {
			return entry{}, err
		}
		if !utf8.Valid(value) {
			t.Fatalf("%s: the attribute %s is no text", path, name)
		}
		e.Attributes[name] = string(value)
	}
	return e, nil
}

// LayOut makes a tree as it was when it was kept. The folder that it makes is there
// already, or not.
func (f Folder) LayOut(t *testing.T, name, to string) {
	t.Helper()
	var entries map[string]entry
	data, err := expand(f.Path(name + attributesName))
	if err == nil {
		err = json.Unmarshal(data, &entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	for relative, e := range entries {
		path := filepath.Join(to, filepath.FromSlash(relative))
		if err := layOut(filepath.Join(f.Path(name), filepath.FromSlash(relative)), path, e); err != nil {
			t.Fatal(err)
		}
		for name, value := range e.Attributes {
			if err := (meta.XattrMeta{}).StoreAttribute(nil, path, "", name, []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func layOut(from, to string, e entry) error {
	if e.Folder {
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := unpack(from, to); err != nil {
			return err
		}
	}
	return os.Chmod(to, e.Mode)
}

// isPacked says of what path a file is kept compressed: a database.
func isPacked(path string) bool { return filepath.Ext(path) == ".db" }

// pack copies a file into the folder.
func pack(from, to string) error {
	data, err := os.ReadFile(from)
	switch {
	case err != nil:
		return err
	case isPacked(from):
		return compress(data, to)
	default:
		return os.WriteFile(to, data, 0o644)
	}
}

// unpack copies a file out of the folder.
func unpack(from, to string) error {
	read := os.ReadFile
	if isPacked(from) {
		read = expand
	}
	data, err := read(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// compress writes a file under its name with another ending, from which expand reads it.
func compress(data []byte, path string) error {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if _, err := compressed.Write(data); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return os.WriteFile(path+packed, out.Bytes(), 0o644)
}

func expand(path string) ([]byte, error) {
	file, err := os.Open(path + packed)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	compressed, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(compressed)
}
