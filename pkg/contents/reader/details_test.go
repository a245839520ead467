package reader

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// TestPanic lets the library panic over one file.
func TestPanic(t *testing.T) {
	var problems []string
	c := newConfiguration("modules/m", func(p string) { problems = append(problems, p) })
	module := c.module
	c.module = nil
	c.load("a.tf", []byte(`variable "a" {}`))
	c.module = module
	c.load("b.tf", []byte(`variable "b" {}`))
	var p contents.Part
	c.fill(&p)
	want := []string{"modules/m/a.tf: The reader broke off in this file: something in it is beyond it."}
	if len(p.Inputs) != 1 || p.Inputs[0].Name != "b" || !reflect.DeepEqual(problems, want) {
		t.Errorf("got %+v, problems are %q", p, problems)
	}
}

func TestOverridesOfFlags(t *testing.T) {
	m := read(t, files{
		"main.tf": `
variable "old" {
  sensitive = true
}
variable "new" {}
variable "same" {
  type = string
}
output "old" {
  sensitive = true
}
output "new" {
  description = "d"
}
module "same" {
  source = "./x"
}`,
		"override.tf": `
variable "old" {}
variable "new" {
  sensitive  = true
  deprecated = "no"
  type       = number
  description = "D"
}
output "old" {}
output "new" {
  sensitive   = true
  description = "D"
}
module "new" {
  source = "./y"
}`,
	})
	wantJSON(t, m, `{"root": {
		"inputs": [
			{"name": "new", "type": "number", "description": "D", "required": true, "sensitive": true, "deprecated": "no"},
			{"name": "old", "type": "any", "required": true, "sensitive": true},
			{"name": "same", "type": "string", "required": true}
		],
		"outputs": [{"name": "new", "description": "D", "sensitive": true}, {"name": "old", "sensitive": true}],
		"calls": [{"name": "new", "source": "./y"}, {"name": "same", "source": "./x"}]
	}}`)
}

// TestNoConstants holds what becomes of arguments that must be constants, and are not.
func TestNoConstants(t *testing.T) {
	m := read(t, files{"main.tf": `
variable "a" {
  ephemeral = var.b
  nullable  = "no"
  validation {
    condition     = false
    error_message = 5
  }
  validation {
    error_message = null
  }
}
output "o" {
  ephemeral = 1
}`})
	wantJSON(t, m, `{"root": {
		"inputs": [{"name": "a", "type": "any", "required": true, "validations": [{"condition": "false", "message": "5"}, {"condition": "", "message": "null"}]}],
		"outputs": [{"name": "o"}]
	}}`)
}

func TestNumbers(t *testing.T) {
	for number, want := range map[string]bool{
		"1e1200": true, "1e1300": false, "1e-1200": true, "1e-1300": false, "-1e1300": false, "0": true,
	} {
		native := "variable \"a\" {\n  description = " + number + "\n}"
		if m := read(t, files{"main.tf": native}); (len(m.Problems) == 0) != want {
			t.Errorf("%s: problems are %q", number, m.Problems)
		}
	}
	for number, want := range map[string]bool{
		"1e1000": true, "1e1100": false, "1E-1000": true, "1e-1100": false, "1e99999999999999999999": false, strings.Repeat("9", 4095): true, strings.Repeat("9", 4096): false,
	} {
		if got := isShortJSON(number); got != want {
			t.Errorf("%.20s: got %v; want %v", number, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	long := strings.Repeat("x", maxMessage)
	for text, want := range map[string]string{
		"": "", "a": "a.", "a.": "a.", " a\n\tb\x00 ": "a b.", long: long + ".", long + "y": long + "….",
	} {
		if got := message(text); got != want {
			t.Errorf("%q: got %q; want %q", text, got, want)
		}
	}
}

func TestIsPart(t *testing.T) {
	for dir, want := range map[string]bool{
		"": true, "modules/a": true, "modules/a/b": true, "examples/a": true, "modules/modules/a": true, "modules/a/modules/b": true,
		"modules": false, "examples": false, "other/a": false, "a/modules/b": false, "Modules/a": false, "modules/.a": false, "examples/a/.b": false,
		"modules/a/examples/b": false, "modules/test": false, "examples/tests": false, "examples/a/modules/b": false, "examples/a/examples": false,
	} {
		if got := isPart(dir); got != want {
			t.Errorf("%q: got %v", dir, got)
		}
	}
}

func TestExactlyAsManyParts(t *testing.T) {
	f := files{"main.tf": ""}
	for i := range contents.MaxParts {
		f[fmt.Sprintf("modules/%03d/main.tf", i)] = ""
	}
	if m := read(t, f); len(m.Submodules) != contents.MaxParts || len(m.Problems) > 0 {
		t.Errorf("%d submodules, problems are %q", len(m.Submodules), m.Problems)
	}
}

// TestDamagedFiles damages one file of a zip at a time.
func TestDamagedFiles(t *testing.T) {
	f := files{"README.md": "# the README", "main.tf": `variable "damaged" {}`}
	for _, text := range f {
		data := bytes.Replace(f.zip(t), []byte(text[1:]), bytes.ToUpper([]byte(text[1:])), 1)
		m := ReadModule(context.Background(), bytes.NewReader(data), int64(len(data)), archive.Zip)
		if len(m.Problems) != 1 || !strings.HasPrefix(m.Problems[0], "The archive could not be read to its end: The content of ") {
			t.Errorf("%q: problems are %q", text, m.Problems)
		}
		if len(m.Root.Inputs) > 0 && m.Root.Inputs[0].Name != "damaged" {
			t.Errorf("got %+v", m.Root)
		}
	}
	for _, text := range []string{"# a", "# b"} {
		data := bytes.Replace(files{"docs/index.md": "# a", "docs/r/x.md": "# b"}.zip(t), []byte(text), []byte("# c"), 1)
		var texts bytes.Buffer
		p, err := ReadProvider(context.Background(), bytes.NewReader(data), int64(len(data)), &texts)
		if err != nil || len(p.Problems) != 1 || strings.Contains(texts.String(), "# c") {
			t.Errorf("%q: got %+v, %v, %q", text, p, err, &texts)
		}
	}
}
