package mirror

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/transfer/mirrorarchive"
	"github.com/larder-registry/larder/internal/transfer/upload"
	"github.com/larder-registry/larder/pkg/registry"
)

func choice(t *testing.T, text string) Choice {
	t.Helper()
	return must(ParseChoiceAt(text))(t)
}

func platforms(t *testing.T, texts ...string) Platforms {
	t.Helper()
	return must(ParsePlatforms(texts))(t)
}

func expect(t *testing.T, what string, err error, want string, texts ...string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
	for i := 0; i+1 < len(texts); i += 2 {
		if !strings.Contains(texts[i], texts[i+1]) {
			t.Errorf("%s: no %q in\n%s", what, texts[i+1], texts[i])
		}
	}
}

func TestParseChoice(t *testing.T) {
	for text, want := range map[string]string{
		"hashicorp/time":                              "registry.terraform.io/hashicorp/time ",
		"hashicorp/time@>= 0.9, < 1":                  "registry.terraform.io/hashicorp/time >= 0.9, < 1",
		"Registry.OpenTofu.org/hashicorp/time@0.12.1": "registry.opentofu.org/hashicorp/time 0.12.1",
		"bücher.example/acme/widget":                  "xn--bcher-kva.example/acme/widget ",
		"hashicorp/time@":                             "",
		"hashicorp/time@new":                          "",
		"time":                                        "",
		"a.example/a/b/c":                             "",
		"larder.example.com:8443/a/b":                 "",
		"hashicorp/Time":                              "",
	} {
		c, err := ParseChoiceAt(text)
		if got := c.Address.String() + " " + c.Constraint.String(); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestChoose(t *testing.T) {
	var versions []registry.Version
	for _, text := range []string{"0.9.0", "1.0.0-rc.1", "1.0.0", "1.1.0-rc.1"} {
		versions = append(versions, must(registry.ParseVersion(text))(t))
	}
	for _, test := range []struct {
		constraint string
		of         []registry.Version
		want, err  string
	}{
		{"", versions, "1.0.0", ""},
		{">= 0.9", versions, "0.9.0 1.0.0", ""},
		{"1.0.0-rc.1", versions, "1.0.0-rc.1", ""},
		{"> 1.0", versions, "", `of 4 versions, up to 1.1.0-rc.1, none meets "> 1.0"`},
		{"", versions[1:2], "", "name a pre-release, such as 1.0.0-rc.1"},
		{"", nil, "", "no version"},
		{"> 1.0", nil, "", "no version"},
	} {
		c := must(ParseChoice("acme/widget", test.constraint))(t)
		got, err := c.choose(test.of)
		var texts []string
		for _, v := range got {
			texts = append(texts, v.String())
		}
		if strings.Join(texts, " ") != test.want {
			t.Errorf("%q: %v", test.constraint, got)
		}
		expect(t, test.constraint, err, test.err)
	}
}

func TestParsePlatforms(t *testing.T) {
	here := registry.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	plan9 := registry.Platform{OS: "plan9", Arch: "arm"}
	if p := platforms(t); !p.wants(here) || p.wants(plan9) || len(p.missing(nil)) != 1 {
		t.Errorf("none given: %+v", p)
	}
	if p := platforms(t, "plan9_arm", "plan9_arm", "linux_amd64"); p.wants(registry.Platform{OS: "a", Arch: "b"}) || !p.wants(plan9) || join(p.missing(nil)) != "plan9_arm, linux_amd64" {
		t.Errorf("%+v", p)
	}
	if p := platforms(t, "all"); !p.wants(plan9) || len(p.missing(nil)) != 0 {
		t.Errorf("all: %+v", p)
	}
	for _, texts := range [][]string{{"linux"}, {"all", "linux_amd64"}, {"Linux_amd64"}} {
		if p, err := ParsePlatforms(texts); err == nil {
			t.Errorf("%v is read: %+v", texts, p)
		}
	}
}

// Verified packages of the origin come into the mirror; others do not.
func TestAdd(t *testing.T) {
	w := newWorld(t, "larder.example.com")
	w.own("0.9.0_linux_amd64", "1.0.0_linux_amd64", "1.0.0_darwin_arm64", "1.1.0-rc.1_linux_amd64")
	const widget = "origin.example.com/acme/widget"
	const zip = widget + "/terraform-provider-widget_"
	for _, test := range []struct {
		choice    string
		platforms []string
		damaged   string // what is damaged, by the end of its path
		want      string // the error
		says      []string
		mirrored  string
	}{
		{"origin.example.com/acme/nothing", nil, "", "origin.example.com has no provider acme/nothing", nil, ""},
		{widget + "@> 2", nil, "", "none meets", nil, ""},
		{widget, []string{"plan9_arm"}, "", "there is no package", nil, ""},
		{widget, []string{"linux_amd64"}, "SHA256SUMS.sig", "of 1 file: 1 failed", []string{"failed  " + widget + " 1.0.0  "}, ""},
		{widget, []string{"linux_amd64"}, ".zip", "of 1 file: 1 failed", []string{"failed  " + zip + "1.0.0_linux_amd64.zip  "}, ""},
		{widget, []string{"linux_amd64"}, "", "", []string{"published  " + zip + "1.0.0_linux_amd64.zip", widget + ": version 1.0.0, of 3", "100 %  terraform-provider-widget_1.0.0_linux_amd64.zip (download)"}, "1.0.0_linux_amd64"},
		{widget, []string{"linux_amd64"}, "", "", []string{"published  " + zip + "1.0.0_linux_amd64.zip"}, "1.0.0_linux_amd64"},
		{widget + "@>= 0.9", []string{"darwin_arm64", "plan9_arm"}, "", "none of the versions has a package for plan9_arm",
			[]string{"published  " + zip + "1.0.0_darwin_arm64.zip", widget + " 0.9.0 has no package for darwin_arm64, plan9_arm", "2 versions of 3, from 0.9.0 to 1.0.0"}, "1.0.0_darwin_arm64 1.0.0_linux_amd64"},
		{widget + "@>= 0.9", []string{"all"}, "", "", []string{"published  " + zip + "0.9.0_linux_amd64.zip"}, "0.9.0_linux_amd64 1.0.0_darwin_arm64 1.0.0_linux_amd64"},
		{widget + "@1.1.0-rc.1", []string{"linux_amd64"}, "", "", nil, "0.9.0_linux_amd64 1.0.0_darwin_arm64 1.0.0_linux_amd64 1.1.0-rc.1_linux_amd64"},
		{"larder.example.com/acme/widget", []string{"linux_amd64"}, "", "of 1 file: 1 rejected", nil, "0.9.0_linux_amd64 1.0.0_darwin_arm64 1.0.0_linux_amd64 1.1.0-rc.1_linux_amd64"},
	} {
		w.damage = func(path string, body []byte) []byte {
			if test.damaged != "" && strings.HasSuffix(path, test.damaged) {
				body = bytes.Clone(body)
				body[len(body)/2] ^= 1
			}
			return body
		}
		var out strings.Builder
		err := Add(t.Context(), w.origin(), w.inbox, choice(t, test.choice), platforms(t, test.platforms...), &out, progress.New(&out, false))
		var texts []string
		for _, says := range test.says {
			texts = append(texts, out.String(), says)
		}
		expect(t, test.choice, err, test.want, texts...)
		if got := w.mirrored(widget); got != test.mirrored {
			t.Errorf("%s: mirrored are %s, want %s", test.choice, got, test.mirrored)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Add(cancelled, w.origin(), w.inbox, choice(t, widget), platforms(t, "all"), new(strings.Builder), quiet()); err == nil {
		t.Error("interrupted, it ends well")
	}
}

// The registry holds a package to the document that went before it.
func TestDocumentGoesFirst(t *testing.T) {
	w := newWorld(t, "larder.example.com")
	w.own("1.0.0_linux_amd64")
	const widget = "origin.example.com/acme/widget"
	if err := Add(t.Context(), w.origin(), w.inbox, choice(t, widget), platforms(t, "linux_amd64"), new(strings.Builder), quiet()); err != nil {
		t.Fatal(err)
	}
	document, _, err := w.bucket.Open(t.Context(), "mirror/"+widget+"/1.0.0.json", "")
	if err != nil {
		t.Fatal(err)
	}
	defer document.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(document); err != nil || !strings.Contains(text.String(), `"zh:`) || !strings.Contains(text.String(), `"h1:`) {
		t.Errorf("%s, %v", &text, err)
	}
	const fresh = "mirror/origin.example.com/fresh/widget/" // where nothing is published yet
	if err := w.bucket.Put(t.Context(), fresh+"1.0.0.json", bytes.NewReader(text.Bytes()), int64(text.Len())); err != nil {
		t.Fatal(err)
	}
	file := upload.File{Name: "other", Path: filepath.Join(t.TempDir(), "other.zip"), Key: fresh + "terraform-provider-widget_1.0.0_linux_amd64.zip"}
	if err := os.WriteFile(file.Path, archivetest.Provider(t, "terraform-provider-widget", "another"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	_, err = w.inbox.Publish(t.Context(), []upload.File{file}, &out, quiet())
	expect(t, "another package", err, "of 1 file: 1 rejected", out.String(), "not the one that 1.0.0.json beside it names")
}

// What one registry exports, another imports: its own providers as those of another.
func TestExportAndImport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "carry.tar")
	var exported []byte
	t.Run("export", func(t *testing.T) {
		w := newWorld(t, "larder.example.com")
		w.own("0.9.0_linux_amd64", "1.0.0_linux_amd64", "1.0.0_darwin_arm64")
		if err := Add(t.Context(), w.origin(), w.inbox, choice(t, "origin.example.com/acme/widget"), platforms(t, "all"), new(strings.Builder), quiet()); err != nil {
			t.Fatal(err)
		}
		testExportFails(t, w)
		choices := []Choice{choice(t, "origin.example.com/acme/widget"), choice(t, "larder.example.com/acme/widget@1.0.0"), choice(t, "larder.example.com/acme/widget@>= 0.9")}
		var out strings.Builder
		err := Export(t.Context(), w.mirror(), choices, platforms(t, "all"), file, &out, progress.New(&out, false))
		expect(t, "export", err, "", out.String(), file+": 5 packages of 3 versions, 1 MiB, SHA-256 ", out.String(), "2 versions of 2, from 0.9.0 to 1.0.0", out.String(), "100 %  carry.tar")
		exported = must(os.ReadFile(file))(t)
		if err := Export(t.Context(), w.mirror(), []Choice{choices[2], choices[0]}, platforms(t, "darwin_arm64", "linux_amd64"), file, &out, quiet()); err != nil {
			t.Fatal(err)
		}
		if again := must(os.ReadFile(file))(t); !bytes.Equal(again, exported) {
			t.Error("the same packages give other bytes")
		}
		if left := must(os.ReadDir(filepath.Dir(file)))(t); len(left) != 1 {
			t.Errorf("left behind: %v", left)
		}
	})
	if t.Failed() {
		return
	}
	t.Run("import", func(t *testing.T) {
		w := newWorld(t, "other.example.com")
		for at, want := range map[int]string{len(exported) / 2: "nothing was uploaded: ", 100: "nothing was uploaded: "} {
			bad := filepath.Join(t.TempDir(), "bad.tar")
			data := bytes.Clone(exported)
			data[at] ^= 1
			if err := os.WriteFile(bad, data, 0o600); err != nil {
				t.Fatal(err)
			}
			expect(t, "a byte is another", Import(t.Context(), bad, w.inbox, new(strings.Builder), quiet()), want)
		}
		expect(t, "no file", Import(t.Context(), "nowhere.tar", w.inbox, new(strings.Builder), quiet()), "nowhere.tar")
		expect(t, "a folder", Import(t.Context(), t.TempDir(), w.inbox, new(strings.Builder), quiet()), "not a regular file")
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		expect(t, "interrupted", Import(cancelled, file, w.inbox, new(strings.Builder), quiet()), "interrupted: nothing was uploaded")
		for object, err := range w.bucket.List(t.Context(), "", "") {
			t.Errorf("uploaded is %s, %v", object.Key, err)
		}
		for range 2 { // and once more does no harm
			var out strings.Builder
			err := Import(t.Context(), file, w.inbox, &out, progress.New(&out, false))
			expect(t, "import", err, "", out.String(), "5 packages of 3 versions, 1 MiB, all verified", out.String(), "published  larder.example.com/acme/widget/terraform-provider-widget_0.9.0_linux_amd64.zip")
			if got := w.mirrored("origin.example.com/acme/widget"); got != "1.0.0_darwin_arm64 1.0.0_linux_amd64" {
				t.Errorf("mirrored are %s", got)
			}
			if got := w.mirrored("larder.example.com/acme/widget"); got != "0.9.0_linux_amd64 1.0.0_darwin_arm64 1.0.0_linux_amd64" {
				t.Errorf("mirrored are %s", got)
			}
		}
	})
}

// testExportFails finds that nothing is written but what the mirror vouches for.
func testExportFails(t *testing.T, w *world) {
	t.Helper()
	defer func(damage func(string, []byte) []byte) { w.damage = damage }(w.damage)
	for _, test := range []struct {
		choice, platform   string
		damaged, old, with string
		want               string
	}{
		{"larder.example.com/acme/nothing", "all", "", "", "", "the mirror has no provider larder.example.com/acme/nothing"},
		{"larder.example.com/acme/widget@> 1", "all", "", "", "", "none meets"},
		{"larder.example.com/acme/widget", "plan9_arm", "", "", "", "no package for the platforms"},
		{"larder.example.com/acme/widget@0.9.0", "all", ".zip", "PK", "QK", "larder.example.com/acme/widget 0.9.0: linux_amd64: no registry would take it"},
		{"larder.example.com/acme/widget@0.9.0", "all", "0.9.0.json", `"h1:`, `"h1:x`, "the mirror says that its hash is"},
		{"larder.example.com/acme/widget@0.9.0", "all", "0.9.0.json", `"zh:`, `"zh:0`, "the mirror says that its hash is"},
		{"larder.example.com/acme/widget@0.9.0", "all", "0.9.0.json", `h`, `q`, "the mirror has no package for the platforms"},
		{"larder.example.com/acme/widget@0.9.0", "all", "0.9.0.json", `files.example.com/`, `files.example.com/no/`, "403"},
	} {
		w.damage = func(path string, body []byte) []byte {
			if test.damaged != "" && strings.HasSuffix(path, test.damaged) {
				return bytes.ReplaceAll(body, []byte(test.old), []byte(test.with))
			}
			return body
		}
		dir := t.TempDir()
		err := Export(t.Context(), w.mirror(), []Choice{choice(t, test.choice)}, platforms(t, test.platform), filepath.Join(dir, "carry.tar"), new(strings.Builder), quiet())
		expect(t, test.choice+" "+test.damaged, err, test.want)
		if left := must(os.ReadDir(dir))(t); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	w.damage = func(path string, body []byte) []byte {
		if strings.HasSuffix(path, ".zip") {
			cancel()
		}
		return body
	}
	dir := t.TempDir()
	err := Export(cancelled, w.mirror(), []Choice{choice(t, "larder.example.com/acme/widget@>= 0.9")}, platforms(t, "all"), filepath.Join(dir, "carry.tar"), new(strings.Builder), quiet())
	expect(t, "interrupted", err, "interrupted: nothing was written")
	if left := must(os.ReadDir(dir))(t); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCheckHashes(t *testing.T) {
	p := mirrorarchive.Package{H1: "h1:a", SHA256: "b"}
	for _, test := range []struct {
		named []string
		want  string
	}{
		{[]string{"h1:a", "zh:b"}, ""},
		{[]string{"h1:a"}, ""},
		{[]string{"h9:z", "zh:b"}, ""},
		{[]string{"h1:a", "zh:c"}, `"zh:c", but it is zh:b`},
		{[]string{"h1:A", "zh:b"}, `"h1:A", but it is h1:a`},
		{[]string{"h9:z"}, "no h1: or zh:"},
		{nil, "no h1: or zh:"},
	} {
		expect(t, strings.Join(test.named, " "), checkHashes(test.named, p), test.want)
	}
}
