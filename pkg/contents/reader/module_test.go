package reader

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// testdata returns a file of testdata.
func testdata(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	check(t, err)
	return string(data)
}

// whole is a module with every construct of Terraform 1.15.
func whole(t testing.TB) files {
	return files{
		"README.md":    "\ufeff# A module\r\n\r\nIt is <b>good</b>.\r\n",
		"variables.tf": testdata(t, "variables.tf"), "main.tf": testdata(t, "main.tf"), "outputs.tf": testdata(t, "outputs.tf"),
	}
}

func TestEveryConstruct(t *testing.T) {
	m := read(t, whole(t))
	wantJSON(t, m.Root, testdata(t, "root.json"))
	if len(m.Submodules)+len(m.Examples)+len(m.Problems) > 0 {
		t.Errorf("got %+v", m)
	}
}

// TestFormats holds that both formats give the same document.
func TestFormats(t *testing.T) {
	f := whole(t)
	data := f.tarGz(t)
	m := ReadModule(context.Background(), bytes.NewReader(data), int64(len(data)), archive.TarGz)
	if want := read(t, f); !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v; want %+v", m, want)
	}
}

func TestParts(t *testing.T) {
	const input = `variable "a" {}`
	m := read(t, files{
		"main.tf": input, "readme.markdown": "root", "README.txt": "worse",
		"modules/b/main.tf": input, "modules/b/ReadMe": "b", "modules/a/x.tofu": input,
		"modules/a/deep/er/main.tf.json": `{"variable":{"a":{}}}`,
		"modules/main.tf":                input, "modules/docs/README.md": "no configuration",
		"modules/a/examples/x/main.tf": input, "modules/a/tests/main.tf": input, "modules/a/test/main.tf": input, "modules/.hidden/main.tf": input,
		"examples/full/main.tf": input, "examples/full/README.md": "full", "examples/full/modules/inner/main.tf": input,
		"examples/by/case/main.tf": input,
		"tests/main.tf":            input, "other/main.tf": input, ".github/main.tf": input,
	})
	in := []contents.Input{{Name: "a", Type: "any", Required: true}}
	want := contents.Module{
		Root: contents.Part{Readme: "root", Inputs: in},
		Submodules: []contents.Part{
			{Path: "modules/a", Name: "a", Inputs: in},
			{Path: "modules/a/deep/er", Name: "er", Inputs: in},
			{Path: "modules/b", Name: "b", Readme: "b", Inputs: in},
		},
		Examples: []contents.Part{
			{Path: "examples/by/case", Name: "case", Inputs: in},
			{Path: "examples/full", Name: "full", Readme: "full", Inputs: in},
		},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got\n%+v\nwant\n%+v", m, want)
	}
}

func TestEmptyRoot(t *testing.T) {
	m := read(t, files{"README.md": "x", "modules/a/main.tf": ""})
	if !m.Root.Empty || m.Root.Readme != "x" || len(m.Submodules) != 1 || m.Submodules[0].Empty || len(m.Problems) > 0 {
		t.Errorf("got %+v", m)
	}
}

// TestOpenTofu reads what OpenTofu 1.12 reads.
func TestOpenTofu(t *testing.T) {
	m := read(t, files{
		"main.tf":        `variable "terraform" {}`,
		"main.tofu":      "language {\n  compatible_with {\n    opentofu = \">= 1.12\"\n  }\n}\nvariable \"tofu\" {}",
		"more.tf.json":   `{"variable":{"terraform_json":{}}}`,
		"more.tofu.json": `{"variable":{"tofu_json":{}}}`,
		"only.tf":        `output "both" { value = 1 }`,
		"only.tofu.json": `{"output":{"json":{"value":1}}}`,
		"extra.tofu":     `resource "aws_vpc" "v" {}`,
		"override.tofu":  "variable \"tofu\" {\n  default = 5\n}",
	})
	wantJSON(t, m, `{"root": {
		"inputs": [{"name": "tofu", "type": "any", "default": "5"}, {"name": "tofu_json", "type": "any", "required": true}],
		"outputs": [{"name": "both"}, {"name": "json"}],
		"resources": [{"mode": "managed", "type": "aws_vpc", "name": "v"}],
		"providers": [{"name": "aws"}]
	}}`)
}

func TestIgnoredFiles(t *testing.T) {
	m := read(t, files{"main.tf": "", ".a.tf": "x", "a.tf~": "x", "#a.tf#": "x", "a.tfvars": "x", "a.tftest.hcl": "x", "A.TF": "x", "tf": "x"})
	if !reflect.DeepEqual(m, contents.Module{}) {
		t.Errorf("got %+v", m)
	}
}

func TestOverrides(t *testing.T) {
	m := read(t, files{
		"z.tf": `
variable "a" {
  type        = string
  description = "A"
  sensitive   = true
  ephemeral   = true
  nullable    = false
  default     = "x"
  validation {
    condition     = true
    error_message = "old"
  }
}
variable "b" {}
output "o" {
  description = "O"
  value       = 1
}
module "m" {
  source  = "acme/x/aws"
  version = "1.0"
}`,
		"a_override.tf": `
variable "a" {
  default = "y"
}
variable "b" {
  nullable = true
  validation {
    condition     = false
    error_message = "new"
  }
}
output "o" {
  value      = 2
  deprecated = "no"
}
module "m" {
  version = "2.0"
}`,
	})
	wantJSON(t, m, `{"root": {
		"inputs": [
			{"name": "a", "type": "string", "description": "A", "sensitive": true, "ephemeral": true, "not_nullable": true, "default": "\"y\"", "validations": [{"condition": "true", "message": "old"}]},
			{"name": "b", "type": "any", "required": true, "validations": [{"condition": "false", "message": "new"}]}
		],
		"outputs": [{"name": "o", "description": "O", "deprecated": "no"}],
		"calls": [{"name": "m", "source": "acme/x/aws", "version": "2.0"}]
	}}`)
}

func TestJSON(t *testing.T) {
	m := read(t, files{"main.tf.json": `{
		"terraform": {"required_version": ">= 1", "required_providers": {"aws": {"source": "hashicorp/aws", "version": "~> 6.0"}}},
		"variable": {
			"a": {"type": "string", "default": "x <y>", "description": "A", "ephemeral": true, "nullable": false, "deprecated": "no",
				"validation": {"condition": "${var.a != \"\"}", "error_message": "empty"}},
			"b": {"type": "list(string)", "default": [ "x", {"b": 1, "a": null} ]},
			"c": {"default": "${x}"}
		},
		"output": {"o": {"value": "${var.a}", "ephemeral": true}},
		"resource": {"aws_vpc": {"v": {}}}, "data": {"aws_ami": {"d": {}}},
		"ephemeral": {"aws_secret": {"e": {"provider": "aws.x"}}}, "action": {"aws_lambda": {"f": {}}},
		"module": {"m": {"source": "./x"}, "n": {"source": "./${var.a}"}}
	}`})
	wantJSON(t, m, `{"root": {
		"versions": [">= 1"],
		"inputs": [
			{"name": "a", "type": "string", "description": "A", "default": "\"x <y>\"", "ephemeral": true, "not_nullable": true, "deprecated": "no", "validations": [{"condition": "\"${var.a != \\\"\\\"}\"", "message": "empty"}]},
			{"name": "b", "type": "list(string)", "default": "[\"x\",{\"a\":null,\"b\":1}]"},
			{"name": "c", "type": "any", "default": "\"${x}\""}
		],
		"outputs": [{"name": "o", "ephemeral": true}],
		"resources": [
			{"mode": "data", "type": "aws_ami", "name": "d"},
			{"mode": "action", "type": "aws_lambda", "name": "f"},
			{"mode": "ephemeral", "type": "aws_secret", "name": "e"},
			{"mode": "managed", "type": "aws_vpc", "name": "v"}
		],
		"calls": [{"name": "m", "source": "./x"}, {"name": "n", "source": "\"./${var.a}\""}],
		"providers": [{"name": "aws", "source": "hashicorp/aws", "versions": ["~> 6.0"]}]
	}}`)
}

// TestProblems holds that one bad file does not hide the others, and where it is bad.
func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		want             string // the beginning of the only problem
	}{
		{"no configuration", "x.tf", "not configuration", "modules/m/x.tf, line 1: "},
		{"an argument on the next line", "x.tf", "\n\nvariable \"x\" {\n  type string\n}", "modules/m/x.tf, line 4: Invalid block definition. "},
		{"no JSON", "x.tf.json", "{\n\"variable\": }", "modules/m/x.tf.json, line 2: "},
		{"no UTF-8", "x.tf", "# \xff\nvariable \"x\" {\n  description = \"\xff\"\n}\n", "modules/m/x.tf, line 3: Invalid character encoding"},
		{"a NUL", "x.tf", "variable\x00 \"x\" {}", "modules/m/x.tf, line 1: "},
		{"too deep", "x.tf", "variable \"x\" {\n  default = " + strings.Repeat("[", 100_000) + "\n}", "modules/m/x.tf: The file is nested too deeply, and is not read."},
		{"too deep in JSON", "x.tf.json", strings.Repeat(`{"a":`, 100_000), "modules/m/x.tf.json: The file is nested too deeply, and is not read."},
		{"too large", "x.tf", strings.Repeat("#", maxFile+1), "modules/m/x.tf: The file is larger than 1 MiB, and is not read."},
		{"an input without a name", "x.tf", "variable {}", "modules/m/x.tf, line 1: Missing name for variable."},
		{"a wrong type", "x.tf", "variable \"x\" {\n  sensitive = \"perhaps\"\n}", "modules/m/x.tf, line 2: "},
		{"a function", "x.tf", "variable \"x\" {\n  description = join(\"\", [])\n}", "modules/m/x.tf, line 2: "},
		{"a loop", "x.tf", "variable \"x\" {\n  description = \"${[for a in [1] : a]}\"\n}", "modules/m/x.tf, line 2: The value of description is no constant, and is left out."},
		{"a long number", "x.tf", "variable \"x\" {\n  description = 1e600000000\n}", "modules/m/x.tf, line 2: The value of description is no constant, and is left out."},
		{"a long number in JSON", "x.tf.json", "{\"variable\":{\"x\":{\n\"description\": 1e600000000}}}", "modules/m/x.tf.json, line 2: The value of description is no constant, and is left out."},
		{"a loop in JSON", "x.tf.json", "{\"variable\":{\"x\":{\n\"description\": \"${[for a in [1] : a]}\"}}}", "modules/m/x.tf.json, line 2: The value of description is no constant, and is left out."},
		{"markup", "x.tf", "variable \"x\" {\n  <script>alert(1)</script>\n}", "modules/m/x.tf, line 2: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := read(t, files{"main.tf": "", "modules/m/main.tf": `variable "a" {}`, "modules/m/z.tf": `variable "z" {}`, "modules/m/" + test.file: test.text})
			if len(m.Problems) == 0 || !strings.HasPrefix(m.Problems[0], test.want) {
				t.Errorf("problems are %q; want %q", m.Problems, test.want)
			}
			var names []string
			for _, in := range m.Submodules[0].Inputs {
				names = append(names, in.Name)
			}
			if !slices.Contains(names, "a") || !slices.Contains(names, "z") {
				t.Errorf("inputs are %q", names)
			}
		})
	}
}

// TestManyProblems holds that a file has a few of them, and says that there are more.
func TestManyProblems(t *testing.T) {
	m := read(t, files{"main.tf": strings.Repeat("variable {}\n", 10)})
	if len(m.Problems) != maxMessages+1 || m.Problems[maxMessages] != "main.tf: There are 7 more problems in this file." {
		t.Errorf("problems are %q", m.Problems)
	}
}

// TestStacks holds that what the library panics over is not shown to it.
func TestStacks(t *testing.T) {
	m := read(t, files{"main.tf": "component \"c\" {\n  source = \"x\"\n}\nrequired_providers {\n  aws = {}\n}\nvariable \"a\" {}"})
	if len(m.Problems) > 0 || len(m.Root.Inputs) != 1 {
		t.Errorf("got %+v", m)
	}
}

func TestDefaults(t *testing.T) {
	deep := strings.Repeat("[", 400) + strings.Repeat("]", 400)
	for _, test := range []struct{ written, want string }{
		{`null`, "null"}, {`""`, `""`}, {`{}`, "{}"}, {`[null]`, "[null]"}, {`true`, "true"}, {`(1)`, "1"},
		{`0.1`, "0.1"}, {`1e3`, "1000"}, {`123456789012345678901234567890`, "123456789012345678901234567890"},
		{`1e600000000`, "1e600000000"}, {`-1e600000000`, "-1e600000000"}, {`1e999999999`, "1e999999999"}, {`1e-600000000`, "1e-600000000"},
		{`[1, { a = 1e600000000 }]`, "[1, { a = 1e600000000 }]"}, {`"${1e600000000}"`, `"${1e600000000}"`},
		{`"a${"b"}c"`, `"abc"`}, {`"${true}"`, `true`}, {`"%{ if true }x%{ endif }"`, `"%{ if true }x%{ endif }"`},
		{`var.x`, "var.x"}, {`f(1)`, "f(1)"}, {`[for x in [1] : x]`, "[for x in [1] : x]"}, {`1 + 1`, "1 + 1"}, {`true ? 1 : 2`, "true ? 1 : 2"},
		{`{ (true) = 1 }`, `{"true":1}`}, {`{ "a b" = 1, c : 2 }`, `{"a b":1,"c":2}`}, {`{ (null) = 1 }`, `{ (null) = 1 }`}, {`!"x"`, `!"x"`},
		{`"\u0000\u001b"`, `"\u0000\u001b"`}, {`"é\u2028"`, "\"é\\u2028\""}, {deep, deep},
	} {
		m := read(t, files{"main.tf": "variable \"a\" {\n  default = " + test.written + "\n}\n"})
		if len(m.Root.Inputs) != 1 || m.Root.Inputs[0].Default != test.want || m.Root.Inputs[0].Required || len(m.Problems) > 0 {
			t.Errorf("%.100s: got %+v, %q; want %.100q", test.written, m.Root.Inputs, m.Problems, test.want)
		}
	}
}

// TestMarkup holds that names are texts, whatever is in them.
func TestMarkup(t *testing.T) {
	m := read(t, files{"main.tf": `
variable "<script>alert(1)</script>" {
  description = "\u0007<img src=x onerror=alert(1)>\u202e"
}
resource "<b>" "\"x\"" {}
`})
	wantJSON(t, m, `{"root": {
		"inputs": [{"name": "<script>alert(1)</script>", "type": "any", "required": true, "description": "<img src=x onerror=alert(1)>\u202e"}],
		"resources": [{"mode": "managed", "type": "<b>", "name": "\"x\""}],
		"providers": [{"name": "<b>"}]
	}}`)
}

func TestReadmes(t *testing.T) {
	for name, want := range map[string]string{
		"README.md": "x", "readme.MD": "x", "Readme": "x", "README.markdown": "x", "README.txt": "x",
		"README.rst": "", "README.md.bak": "", "docs/README.md": "", "a-readme.md": "",
	} {
		if m := read(t, files{"main.tf": "", name: "x"}); m.Root.Readme != want {
			t.Errorf("%s: got %q; want %q", name, m.Root.Readme, want)
		}
	}
	best := files{"main.tf": "", "README": "4", "README.txt": "3", "README.markdown": "2", "README.md": "1"}
	for _, name := range []string{"README.md", "README.markdown", "README.txt", "README"} {
		if m := read(t, best); m.Root.Readme != best[name] {
			t.Errorf("%s should be the best: got %q", name, m.Root.Readme)
		}
		delete(best, name)
	}
}

func TestReadReadmes(t *testing.T) {
	data := files{"main.tf": "variable \"a\" {}", "README.md": "r", "modules/m/main.tf": "x x x", "modules/m/README.md": "m", "modules/n/README.md": "n"}.zip(t)
	m := ReadReadmes(context.Background(), bytes.NewReader(data), int64(len(data)), archive.Zip)
	wantJSON(t, m, `{"root": {"readme": "r"}, "submodules": [{"path": "modules/m", "name": "m", "readme": "m"}]}`)
}
