package reader

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// files are the files of an archive, by their names.
type files map[string]string

func (f files) names() []string { return slices.Sorted(maps.Keys(f)) }

// zip stores the files as they are: an archive that expands too much is refused.
func (f files) zip(t testing.TB) []byte {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, name := range f.names() {
		file, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		check(t, err)
		_, err = io.WriteString(file, f[name])
		check(t, err)
	}
	check(t, w.Close())
	return data.Bytes()
}

func (f files) tarGz(t testing.TB) []byte {
	t.Helper()
	var data bytes.Buffer
	compressed := gzip.NewWriter(&data)
	w := tar.NewWriter(compressed)
	for _, name := range f.names() {
		check(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(f[name])), Mode: 0o644}))
		_, err := io.WriteString(w, f[name])
		check(t, err)
	}
	check(t, errors.Join(w.Close(), compressed.Close()))
	return data.Bytes()
}

// read reads the files as a module.
func read(t testing.TB, f files) contents.Module {
	t.Helper()
	data := f.zip(t)
	m := ReadModule(context.Background(), bytes.NewReader(data), int64(len(data)), archive.Zip)
	checkModule(t, m)
	return m
}

// readPages reads the files as a provider's documentation.
func readPages(t testing.TB, f files) (contents.Provider, string) {
	t.Helper()
	data := f.zip(t)
	var texts bytes.Buffer
	p, err := ReadProvider(context.Background(), bytes.NewReader(data), int64(len(data)), &texts)
	check(t, err)
	checkBounds(t, p.Problems, contents.EncodeProvider(p))
	for _, page := range p.Pages {
		if page.Offset < 0 || page.Length < 0 || page.Offset+page.Length > int64(texts.Len()) || page.Length > contents.MaxPage {
			t.Errorf("%s does not lie in the texts: %+v", page.Path, page)
		}
	}
	if !isClean(texts.String()) {
		t.Error("the texts are not clean")
	}
	return p, texts.String()
}

// checkModule holds what is so of every module.
func checkModule(t testing.TB, m contents.Module) {
	t.Helper()
	if len(m.Submodules) > contents.MaxParts || len(m.Examples) > contents.MaxParts {
		t.Errorf("%d submodules and %d examples", len(m.Submodules), len(m.Examples))
	}
	for _, p := range slices.Concat([]contents.Part{m.Root}, m.Submodules, m.Examples) {
		if len(p.Inputs) > contents.MaxItems || len(p.Outputs) > contents.MaxItems || len(p.Resources) > contents.MaxItems || len(p.Readme) > contents.MaxReadme {
			t.Errorf("%q is too large", p.Path)
		}
		for _, in := range p.Inputs {
			if len(in.Default) > contents.MaxText || in.Required && in.Default != "" {
				t.Errorf("%q has an input with the default %.100q", p.Path, in.Default)
			}
		}
	}
	checkBounds(t, m.Problems, contents.EncodeModule(m))
}

// checkBounds holds what is so of every document.
func checkBounds(t testing.TB, problems []string, document []byte) {
	t.Helper()
	if len(document) > contents.MaxDocument || !utf8.Valid(document) || !json.Valid(document) {
		t.Errorf("the document has %d bytes", len(document))
	}
	var value any
	check(t, json.Unmarshal(document, &value))
	everyString(value, func(text string) {
		if !isClean(text) {
			t.Errorf("%.100q is not clean", text)
		}
	})
	if len(problems) > contents.MaxProblems {
		t.Errorf("there are %d problems", len(problems))
	}
	for _, p := range problems {
		if !strings.HasSuffix(p, ".") || strings.Contains(p, "\n") || len(p) > 1500 {
			t.Errorf("no sentence: %q", p)
		}
	}
}

func isClean(text string) bool { return contents.Clean(text) == text }

func everyString(value any, do func(string)) {
	switch value := value.(type) {
	case string:
		do(value)
	case []any:
		for _, v := range value {
			everyString(v, do)
		}
	case map[string]any:
		for key, v := range value {
			do(key)
			everyString(v, do)
		}
	}
}

// wantJSON compares a document with one written by hand.
func wantJSON(t *testing.T, got any, want string) {
	t.Helper()
	var value any
	check(t, json.Unmarshal([]byte(want), &value))
	indent := func(v any) string {
		data, err := json.MarshalIndent(v, "", " ")
		check(t, err)
		return string(data)
	}
	data, err := json.Marshal(got)
	check(t, err)
	var back any
	check(t, json.Unmarshal(data, &back))
	if a, b := indent(back), indent(value); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
