package subprocess

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// zipOf is a zip of files by their names.
func zipOf(t testing.TB, names []string, content func(name string) string) []byte {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, name := range names {
		file, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(file, content(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// hostile are files of configuration that would take a parser much time, memory or stack.
func hostile() map[string]string {
	const mib, part = 1 << 20, 1 << 18 // what takes little time is as large as a file may be
	input := func(value string) string { return "variable \"x\" {\n  default = " + value + "\n}\n" }
	fill := func(text string, size int) string { return strings.Repeat(text, size/len(text)) }
	loop := "1"
	for range 9 {
		loop = "[for a in [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20] : " + loop + "]"
	}
	return map[string]string{
		"nots":            input(fill("!", mib-100) + "true"),
		"minuses":         input(fill("-", mib-100) + "1"),
		"conditions":      input(fill("1?1:", part) + "1"),
		"sums":            input(fill("1+", part) + "1"),
		"indices":         input("a" + fill("[0]", part)),
		"splats":          input("a" + fill("[*]", part)),
		"attributes":      input("a" + fill(".a", part)),
		"template ifs":    input(`"` + fill("%{if a}", part) + `"`),
		"template parts":  input(`"` + fill("${1}", part) + `"`),
		"list":            input("[" + fill("1,", mib-100) + "]"),
		"lists":           input("[" + fill("[],", part) + "]"),
		"object":          input("{" + fill("a=1,", part) + "}"),
		"blocks":          fill("variable \"x\" {}\n", mib),
		"open blocks":     fill("a{\n", mib),
		"open strings":    fill("\"${", mib),
		"heredocs":        fill("a=<<A\n", part),
		"lines":           fill("a=1\n", part),
		"wrong lines":     fill("=\n", part),
		"wrong bytes":     fill("\xff", part),
		"nested loops":    "variable \"x\" {\n  description = \"${" + loop + "}\"\n}\n",
		"required":        "terraform {\n required_providers {\n" + fill("  a = { version = 1e600000000 }\n", part) + "}\n}\n",
		"long sources":    "module \"m\" {\n  source = \"" + fill("${var.x}", part) + "\"\n}\n",
		"long name":       "variable \"" + fill("x", mib-100) + "\" {}\n",
		"json list":       `{"variable":{"x":{"default":[` + fill("1,", part) + `1]}}}`,
		"json object":     `{"variable":{` + fill(`"a":{},`, mib-100) + `"b":{}}}`,
		"json number":     `{"variable":{"x":{"default":` + fill("9", mib-100) + `}}}`,
		"json exponent":   `{"variable":{"x":{"description":1e600000000}}}`,
		"json templates":  `{"variable":{"x":{"description":"` + fill("${1}", part) + `"}}}`,
		"json same names": `{"variable":[` + fill(`{"a":{}},`, part) + `{}]}`,
	}
}

// TestHostile holds that hostile configuration costs its reader a bounded time, and a module
// no more than its configuration.
func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "nots" && name != "nested loops" && name != "json exponent" {
				t.Skip("takes seconds")
			}
			file := "main.tf"
			if strings.HasPrefix(text, "{") {
				file += ".json"
			}
			data := zipOf(t, []string{file, "README.md", "modules/m/main.tf"}, func(name string) string {
				return map[string]string{file: text, "README.md": "# R", "modules/m/main.tf": `variable "y" {}`}[name]
			})
			start := time.Now()
			m, err := New().Module(context.Background(), bytes.NewReader(data), int64(len(data)), "zip")
			if err != nil || m.Root.Readme != "# R" {
				t.Errorf("got %+v, %v", m, err)
			}
			if took := time.Since(start); took > 2*(MaxWait+time.Second) {
				t.Errorf("it took %v", took)
			}
			t.Logf("%v: %.200q", time.Since(start).Round(time.Millisecond), m.Problems)
		})
	}
}
