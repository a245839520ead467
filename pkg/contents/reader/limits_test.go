package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// inputs are n inputs.
func inputs(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "variable \"v%05d\" {\n  type = string\n}\n", i)
	}
	return text.String()
}

func TestManyInputs(t *testing.T) {
	m := read(t, files{"main.tf": inputs(400)})
	if len(m.Root.Inputs) != 400 || len(m.Problems) > 0 {
		t.Errorf("%d inputs, problems are %q", len(m.Root.Inputs), m.Problems)
	}
	m = read(t, files{"modules/m/main.tf": inputs(contents.MaxItems + 1)})
	if in := m.Submodules[0].Inputs; len(in) != contents.MaxItems || in[contents.MaxItems-1].Name != "v01999" ||
		!reflect.DeepEqual(m.Problems, []string{"There are more than 2000 inputs in modules/m; those beyond are left out."}) {
		t.Errorf("%d inputs, problems are %q", len(in), m.Problems)
	}
}

// TestManyItems holds the limit for everything else.
func TestManyItems(t *testing.T) {
	for what, text := range map[string]string{
		"outputs":      "output \"x%d\" {\n  value = 1\n}\n",
		"resources":    "resource \"aws_vpc\" \"x%d\" {}\n",
		"module calls": "module \"x%d\" {\n  source = \"./x\"\n}\n",
		"providers":    "provider \"x%d\" {}\n",
	} {
		var all strings.Builder
		for i := range contents.MaxItems + 1 {
			fmt.Fprintf(&all, text, i)
		}
		m := read(t, files{"main.tf": all.String()})
		if want := "There are more than 2000 " + what + "; those beyond are left out."; !slices.Contains(m.Problems, want) {
			t.Errorf("%s: problems are %q", what, m.Problems)
		}
		if r := m.Root; len(r.Outputs)+len(r.Resources)+len(r.Calls) > contents.MaxItems || len(r.Providers) > contents.MaxItems {
			t.Errorf("%s: there are more", what)
		}
	}
}

func TestManyValidations(t *testing.T) {
	m := read(t, files{"main.tf": "variable \"x\" {\n" + strings.Repeat("  validation {\n    condition = true\n  }\n", maxValidations+1) + "}"})
	if len(m.Root.Inputs[0].Validations) != maxValidations || !reflect.DeepEqual(m.Problems, []string{`The input "x" has more than 50 validations; those beyond are left out.`}) {
		t.Errorf("got %+v", m)
	}
}

func TestLongTexts(t *testing.T) {
	long := strings.Repeat("é", contents.MaxText/2)
	input := func(text string) files {
		return files{"main.tf": fmt.Sprintf("variable \"x\" {\n  description = \"%s\"\n  default = \"%s\"\n  type = object({ %s = string })\n}", text, text[4:], text[:len(text)-22])}
	}
	m := read(t, input(long))
	if in := m.Root.Inputs[0]; in.Description != long || len(in.Default) != contents.MaxText-2 || len(in.Type) != contents.MaxText-1 || len(m.Problems) > 0 {
		t.Errorf("the longest: %d %d %d bytes, problems are %q", len(in.Description), len(in.Default), len(in.Type), m.Problems)
	}
	m = read(t, input(long+"éé"))
	want := []string{
		`The type of the input "x" is longer than 64 KiB; the rest of it is left out.`,
		`The description of the input "x" is longer than 64 KiB; the rest of it is left out.`,
		`The default of the input "x" is longer than 64 KiB, and is left out.`,
	}
	if in := m.Root.Inputs[0]; in.Description != long || in.Default != "" || in.Required || len(in.Type) != contents.MaxText || !reflect.DeepEqual(m.Problems, want) {
		t.Errorf("longer: %d %d %d bytes, problems are %q", len(in.Description), len(in.Default), len(in.Type), m.Problems)
	}
}

func TestLongReadme(t *testing.T) {
	for _, size := range []int{contents.MaxReadme, contents.MaxReadme + 1, 5_000_000} {
		m := read(t, files{"main.tf": "", "modules/m/main.tf": "", "modules/m/README.md": strings.Repeat("x", size)})
		var want []string
		if size > contents.MaxReadme {
			want = []string{"modules/m/README.md: The file is longer than 256 KiB; the rest of it is left out."}
		}
		if len(m.Submodules[0].Readme) != contents.MaxReadme || !reflect.DeepEqual(m.Problems, want) {
			t.Errorf("%d bytes: got %d, problems are %q", size, len(m.Submodules[0].Readme), m.Problems)
		}
	}
}

func TestManyParts(t *testing.T) {
	f := files{}
	for i := range contents.MaxParts + 5 {
		f[fmt.Sprintf("modules/%03d/main.tf", i)], f[fmt.Sprintf("examples/%03d/main.tf", i)] = "", ""
	}
	m := read(t, f)
	want := []string{"The module has more than 100 submodules; those beyond are left out.", "The module has more than 100 examples; those beyond are left out."}
	if len(m.Submodules) != contents.MaxParts || m.Submodules[99].Name != "099" || len(m.Examples) != contents.MaxParts || !reflect.DeepEqual(m.Problems, want) {
		t.Errorf("%d and %d, problems are %q", len(m.Submodules), len(m.Examples), m.Problems)
	}
}

func TestManyFiles(t *testing.T) {
	f := files{}
	for i := range maxFiles + 1 {
		f[fmt.Sprintf("%05d.tf", i)] = ""
	}
	for i := range 14_000 { // that are of no interest
		f[fmt.Sprintf("files/%05d.txt", i)] = "x"
	}
	m := read(t, f)
	if want := []string{"The module has more than 5000 files of configuration; those beyond are not read."}; !reflect.DeepEqual(m.Problems, want) {
		t.Errorf("problems are %q", m.Problems)
	}
}

func TestMuchConfiguration(t *testing.T) {
	text, f := strings.Repeat("#", maxFile), files{}
	for i := range maxBytes/maxFile + 1 {
		f[fmt.Sprintf("%02d.tf", i)] = text
	}
	m := read(t, f)
	if want := []string{"The files of configuration have more than 16 MiB together; those beyond are not read."}; !reflect.DeepEqual(m.Problems, want) {
		t.Errorf("problems are %q", m.Problems)
	}
}

func TestManyReadmes(t *testing.T) {
	text, f := strings.Repeat("x", contents.MaxReadme), files{"main.tf": ""}
	for i := range maxReadmes/contents.MaxReadme + 3 {
		f[fmt.Sprintf("modules/%03d/README.md", i)] = text
	}
	m := read(t, f)
	if want := []string{"The READMEs have more than 64 MiB together; those beyond are not read."}; !reflect.DeepEqual(m.Problems, want) {
		t.Errorf("problems are %q", m.Problems)
	}
}

func TestDamagedModule(t *testing.T) {
	data := files{"main.tf": inputs(10), "a.tf": ""}.tarGz(t)
	for _, data := range [][]byte{nil, []byte("no archive"), data[:len(data)-20]} {
		m := ReadModule(context.Background(), bytes.NewReader(data), int64(len(data)), archive.TarGz)
		checkModule(t, m)
		if len(m.Problems) != 1 || !strings.HasPrefix(m.Problems[0], "The archive could not be read to its end: ") {
			t.Errorf("problems are %q", m.Problems)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if m := ReadModule(ctx, bytes.NewReader(data), int64(len(data)), archive.TarGz); len(m.Problems) != 1 || !strings.HasSuffix(m.Problems[0], "context canceled.") {
		t.Errorf("problems are %q", m.Problems)
	}
}

// brokenFile fails in its n-th read.
type brokenFile struct {
	*bytes.Reader
	n int
}

func (f *brokenFile) ReadAt(p []byte, off int64) (int, error) {
	if f.n--; f.n == 0 {
		return 0, errors.New("the disk is broken")
	}
	return f.Reader.ReadAt(p, off)
}

// TestReadsFail lets each read of the archive fail in turn.
func TestReadsFail(t *testing.T) {
	for _, format := range []archive.Format{archive.Zip, archive.TarGz} {
		f := files{"main.tf": inputs(10), "README.md": "x"}
		data := f.zip(t)
		if format == archive.TarGz {
			data = f.tarGz(t)
		}
		for n := 1; ; n++ {
			broken := &brokenFile{bytes.NewReader(data), n}
			m := ReadModule(context.Background(), broken, int64(len(data)), format)
			if broken.n > 0 {
				if len(m.Problems) > 0 || len(m.Root.Inputs) != 10 {
					t.Errorf("%v: got %+v", format, m)
				}
				break
			}
			if len(m.Problems) != 1 || !strings.Contains(m.Problems[0], "the disk is broken") {
				t.Errorf("%v: read %d fails, and the problems are %q", format, n, m.Problems)
			}
		}
	}
}

// FuzzReadModule reads files of configuration in all formats, and overrides of themselves.
func FuzzReadModule(f *testing.F) {
	for _, name := range []string{"main.tf", "variables.tf", "outputs.tf"} {
		f.Add(testdata(f, name))
	}
	f.Add(`{"variable":{"a":{"default":[1,{"b":"${c}"}]}},"output":{"o":{}}}`)
	f.Add("component \"c\" {}\nvariable {}\nvariable \"x\" {\n  default = \"${1e600000000}\"\n}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return
		}
		once := read(t, files{"main.tf": text, "main.tf.json": text, "README.md": text, "modules/x/main.tofu": text, "modules/x/main_override.tf": text})
		again := read(t, files{"main.tf": text, "main.tf.json": text, "README.md": text, "modules/x/main.tofu": text, "modules/x/main_override.tf": text})
		if !reflect.DeepEqual(once, again) {
			t.Errorf("read twice, it is\n%+v\nand\n%+v", once, again)
		}
	})
}
