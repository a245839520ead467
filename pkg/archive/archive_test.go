package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/larder-registry/larder/internal/archivetest"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

func TestFormat(t *testing.T) {
	for format, want := range map[Format][2]string{
		Zip:       {"zip", ".zip"},
		TarGz:     {"tar.gz", ".tar.gz"},
		Format(7): {"Format(7)", ".Format(7)"},
	} {
		if got := [2]string{format.String(), format.Ext()}; got != want {
			t.Errorf("format %d is %q; want %q", format, got, want)
		}
	}
}

func TestViolationsError(t *testing.T) {
	for _, test := range []struct {
		violations Violations
		want       string
	}{
		{Violations{}, "no violations"},
		{Violations{"One."}, "One."},
		{Violations{"One.", "Two.", "Three."}, "One. (and 2 more)"},
	} {
		err := fmt.Errorf("modules/a: %w", test.violations)
		if want := "modules/a: " + test.want; err.Error() != want {
			t.Errorf("got %q; want %q", err, want)
		}
		var violations Violations
		if !errors.As(err, &violations) || len(violations) != len(test.violations) {
			t.Errorf("errors.As found %q", violations)
		}
	}
}

func TestViolationsAreBoundedAndDistinct(t *testing.T) {
	var members []member
	for i := range 3 * MaxViolations {
		members = append(members, files(fmt.Sprintf("../%d.tf", i))...)
	}
	for _, format := range []Format{Zip, TarGz} {
		_, err := checkModuleBytes(archiveOf(t, format, members...), format)
		var violations Violations
		if !errors.As(err, &violations) || len(violations) != MaxViolations {
			t.Errorf("%v: got %d violations; want %d", format, len(violations), MaxViolations)
		}
	}
	_, err := checkModuleBytes(zipOf(t, files("a.tf", "a.tf", "a.tf")...), Zip)
	if want := `"a.tf" appears more than once.`; err == nil || err.Error() != want {
		t.Errorf("got %v; want %s, once", err, want)
	}
}

func TestAllViolationsAreReported(t *testing.T) {
	members := files("main.tf", "/etc/passwd", "a/../b.tf", "Main.tf", "modules/x.tf", "modules")
	want := Violations{
		`"/etc/passwd" has an absolute name; names are relative to the root of the archive.`,
		`"a/../b.tf" has a ".." segment in its name; names lead straight down from the root of the archive.`,
		`"main.tf" and "Main.tf" differ only in case, which not every file system can tell apart.`,
		`"modules" is both a file and a folder.`,
	}
	for _, format := range []Format{Zip, TarGz} {
		_, err := checkModuleBytes(archiveOf(t, format, members...), format)
		var violations Violations
		if !errors.As(err, &violations) || strings.Join(violations, "\n") != strings.Join(want, "\n") {
			t.Errorf("%v: got\n%s\nwant\n%s", format, strings.Join(violations, "\n"), strings.Join(want, "\n"))
		}
	}
}

// accents are as many marks in a row as a name may hold.
var accents = strings.Repeat("\u0301", maxMarks)

// nameRules are the rules on names, with those that are accepted.
var nameRules = []struct {
	rule  string
	names []string
	want  string // "" when accepted
}{
	{"plain", []string{"main.tf", "modules/", "modules/x/main.tf", "modules/x/"}, ""},
	{"spaces and unicode", []string{"a b.tf", " a.tf", "größe/日本.tf", "ßs.tf", "naïve.tf", "...x", "..a/..b", "c-/d"}, ""},
	{"signs", []string{"a@b+c=d,e;f.tf", "{{x}}/[y]/(z)/$a/#b/%20/'c'/`d`/&/!/^", "~", "main.tf~", "~$a.doc", "_.tf"}, ""},
	{"hidden", []string{".gitignore", ".github/workflows/x.yml", ".terraform.lock.hcl", "-"}, ""},
	{"as macOS calls screenshots", []string{"Screenshot at 3.00.00\u202fPM.png", "a\u00a0b"}, ""},
	{"emoji", []string{"\u26a0\ufe0f.md", "\U0001f600.md"}, ""},
	{"30 marks", []string{"e" + accents}, ""},
	{"31 marks", []string{"e" + accents + "\u0301"}, `has more than 30 combining marks in a row in its name; rename it.`},
	{"31 marks, with what is passed over", []string{"e" + accents + "\ufe0f\u0301"}, `more than 30 combining marks`},
	{"longest", []string{strings.Repeat(strings.Repeat("n", MaxSegment-1)+"/", 3)[:MaxName]}, ""},
	{"longest between slashes", []string{"a/" + strings.Repeat("n", MaxSegment) + "/b"}, ""},
	{"too long", []string{strings.Repeat("n/", MaxName/2) + "n"}, "has a name of 513 bytes; at most 512 are accepted."},
	{"too long between slashes", []string{"a/" + strings.Repeat("n", MaxSegment+1) + "/b"}, "has a file or folder in its name that is 256 bytes long; file systems take at most 255."},
	{"parent", []string{"../main.tf"}, `".." segment`},
	{"parent inside", []string{"a/../../main.tf"}, `".." segment`},
	{"parent at the end", []string{"a/.."}, `".." segment`},
	{"dot", []string{"a/./main.tf"}, `"." segment`},
	{"absolute", []string{"/main.tf"}, "absolute"},
	{"drive", []string{"C:/main.tf"}, `"C:/main.tf" has ':' in its name, which Windows accepts in none; rename it.`},
	{"drive, relative", []string{"c:main.tf"}, "has ':' in its name"},
	{"stream of a file", []string{"main.tf:x"}, "has ':' in its name"},
	{"backslash", []string{`modules\main.tf`}, "has a backslash in its name; names are written with forward slashes."},
	{"UNC", []string{`\\host\share\main.tf`}, "backslash"},
	{"less", []string{"a<b"}, "has '<' in its name, which Windows"},
	{"greater", []string{"a>b"}, "has '>' in its name, which Windows"},
	{"quotation mark", []string{`a"b`}, `has '"' in its name, which Windows`},
	{"bar", []string{"a|b"}, "has '|' in its name, which Windows"},
	{"question mark", []string{"a?b"}, "has '?' in its name, which Windows"},
	{"asterisk", []string{"a*b"}, "has '*' in its name, which Windows"},
	{"newline", []string{"main\n.tf"}, `"main\n.tf" has a control character (U+000A) in its name; rename it.`},
	{"delete", []string{"main\x7f.tf"}, "control character (U+007F)"},
	{"C1 control", []string{"main\u0085.tf"}, "control character (U+0085)"},
	{"right to left", []string{"main\u202eft.exe"}, `"main\u202eft.exe" has the invisible character U+202E in its name; rename it.`},
	{"isolate", []string{"main\u2066.tf"}, "invisible character U+2066"},
	{"zero width space", []string{"main\u200b.tf"}, "invisible character U+200B"},
	{"zero width joiner", []string{"main\u200d.tf"}, "invisible character U+200D"},
	{"soft hyphen", []string{"main\u00ad.tf"}, "invisible character U+00AD"},
	{"byte order mark", []string{"\ufeffmain.tf"}, "invisible character U+FEFF"},
	{"tag", []string{"main\U000e0041.tf"}, "invisible character U+E0041"},
	{"line separator", []string{"main\u2028.tf"}, "invisible character U+2028"},
	{"paragraph separator", []string{"main\u2029.tf"}, "invisible character U+2029"},
	{"grapheme joiner", []string{"main\u034f.tf"}, "invisible character U+034F"},
	{"Hangul filler", []string{"main\u3164.tf"}, "invisible character U+3164"},
	{"blank Braille", []string{"main\u2800.tf"}, "invisible character U+2800"},
	{"private use", []string{"main\uf03a.tf"}, `"main\uf03a.tf" has U+F03A in its name, to which Unicode 15.0.0 gives no meaning; rename it.`},
	{"unassigned", []string{"main\u0378.tf"}, "has U+0378 in its name, to which"},
	{"no character", []string{"main\uffff.tf"}, "has U+FFFF in its name, to which"},
	{"dot at the end", []string{"main.tf."}, `"main.tf." has "main.tf." in its name, which ends in a dot or a space: Windows drops that; rename it.`},
	{"dots alone", []string{"..."}, `has "..." in its name, which ends in a dot`},
	{"dot at the end of a folder", []string{"a/b./main.tf"}, `"a/b./main.tf" has "b." in its name, which ends in a dot`},
	{"space at the end", []string{"main.tf "}, `has "main.tf " in its name, which ends in a dot or a space`},
	{"space at the end of a folder", []string{"a /main.tf"}, `has "a " in its name, which ends in a dot or a space`},
	{"another space at the end", []string{"main.tf\u00a0"}, `has "main.tf\u00a0" in its name, which ends in a dot or a space`},
	{"device", []string{"nul"}, `"nul" has "nul" in its name, which Windows takes for a device, whatever its extension; rename it.`},
	{"CON", []string{"CON"}, "a device"},
	{"PRN", []string{"Prn"}, "a device"},
	{"AUX as a folder", []string{"modules/aux/main.tf"}, `has "aux" in its name, which Windows takes for a device`},
	{"device with an extension", []string{"aux.tf"}, "a device"},
	{"device with extensions", []string{"nul.tar.gz"}, "a device"},
	{"device and spaces", []string{"con  .tf"}, "a device"},
	{"first of the ports", []string{"COM1"}, "a device"},
	{"last of the ports", []string{"com9.tf"}, "a device"},
	{"printer port", []string{"LPT1.tf"}, "a device"},
	{"superscript 1", []string{"com¹"}, "a device"},
	{"superscript 2", []string{"lpt².tf"}, "a device"},
	{"superscript 3", []string{"LPT³"}, "a device"},
	{"console input", []string{"conin$"}, "a device"},
	{"console output", []string{"CONOUT$.tf"}, "a device"},
	{"nearly devices", []string{"console.tf", "com", "com0", "com10", "lpt.tf", "xcon", "con-x", "null.tf", "auxiliary/con_x.tf", "conin", "a.con"}, ""},
	{"short name", []string{"MODULE~1.TF"}, `"MODULE~1.TF" has "MODULE~1.TF" in its name, which has the form of the short names that Windows gives to files with long ones; rename it.`},
	{"short name of a folder", []string{"a/progra~1/x"}, `has "progra~1" in its name, which has the form`},
	{"short name of two digits", []string{"modul~12.t"}, "the form of the short names"},
	{"nearly short names", []string{"modules~1.tf", "main~0.tf", "main~.tf", "main~1.tofu", "main~1.t.f", "main.tf~1", "main~1x.tf", "main.tf.~1~"}, ""},
	{"not UTF-8", []string{"main\xff.tf"}, `"main\xff.tf" has a name that is not valid UTF-8`},
	{"overlong UTF-8", []string{"a\xc0\xafb.tf"}, "not valid UTF-8"},
	{"empty segment", []string{"a//main.tf"}, "empty segment"},
	{"folder with an empty segment", []string{"main.tf", "a//"}, "empty segment"},
	{"duplicate file", []string{"a.tf", "b.tf", "a.tf"}, `"a.tf" appears more than once`},
	{"a file called dot", []string{"."}, `"." segment`},
	{"duplicate folder after what is in it", []string{"a/b.tf", "a/", "a/"}, `"a" appears more than once`},
	{"duplicate folder", []string{"a/", "a/b.tf", "a/"}, `"a" appears more than once`},
	{"case of a file", []string{"README.md", "readme.md"}, `"README.md" and "readme.md" differ only in case`},
	{"case of a folder", []string{"Modules/a.tf", "modules/b.tf"}, `"Modules" and "modules" differ only in case`},
	{"case beyond ASCII", []string{"GRÖSSE.tf", "grösse.tf"}, "differ only in case"},
	{"case with two lower forms", []string{"\u03c3.tf", "\u03c2.tf"}, "differ only in case"},
	{"case of a file and a folder", []string{"Modules", "modules/b.tf"}, `"Modules" and "modules" differ only in case`},
	{"composed and decomposed", []string{"caf\u00e9.tf", "cafe\u0301.tf"}, `"caf\u00e9.tf" and "cafe\u0301.tf" are two spellings of one name, which not every file system can tell apart; rename one.`},
	{"composed and decomposed folders", []string{"caf\u00e9/a.tf", "cafe\u0301/b.tf"}, `"caf\u00e9" and "cafe\u0301" are two spellings`},
	{"a file and a folder in two spellings", []string{"caf\u00e9", "cafe\u0301/b.tf"}, `"caf\u00e9" and "cafe\u0301" are two spellings`},
	{"composed and decomposed in two cases", []string{"CAF\u00c9.tf", "cafe\u0301.tf"}, "two spellings"},
	{"marks in another order", []string{"a\u0323\u0302.tf", "a\u0302\u0323.tf"}, "two spellings"},
	{"Kelvin", []string{"k.tf", "\u212a.tf"}, "differ only in case"},
	{"long s", []string{"s.tf", "\u017f.tf"}, "differ only in case"},
	{"sharp s", []string{"stra\u00dfe.tf", "STRASSE.tf"}, "two spellings"},
	{"ligature", []string{"\ufb01le.tf", "file.tf"}, "two spellings"},
	{"iota below", []string{"\u1fc3.tf", "\u0397\u0399.tf"}, "two spellings"},
	{"a capital with a dot", []string{"\u0130.tf", "I\u0307.tf"}, "two spellings"},
	{"as text and as an emoji", []string{"\u26a0.md", "\u26a0\ufe0f.md"}, `\u26a0\ufe0f.md" are two spellings`},
	{"an accent behind what is passed over", []string{"\u00e9.md", "e\ufe0f\u0301.md"}, "two spellings"},
	{"file, then folder", []string{"a", "a/b.tf"}, `"a" is both a file and a folder`},
	{"folder, then file", []string{"a/b.tf", "a"}, `"a" is both a file and a folder`},
	{"folder entry and file", []string{"b.tf", "a/", "a"}, `"a" is both a file and a folder`},
}

// TestNames shows that the rules on names are the same for every archive.
func TestNames(t *testing.T) {
	for _, test := range nameRules {
		members := files(test.names...)
		provider := zipOf(t, append(members, files("terraform-provider-widget")...)...)
		_, providerErr := checkProviderBytes(provider)
		module := append(slices.Clone(members), files("0.tf")...)
		_, zipErr := checkModuleBytes(zipOf(t, module...), Zip)
		_, tarErr := checkModuleBytes(tarGzOf(t, module...), TarGz)
		for kind, err := range map[string]error{"provider": providerErr, "zip": zipErr, "tar.gz": tarErr} {
			t.Run(test.rule+"/"+kind, func(t *testing.T) {
				if test.want == "" {
					check(t, err)
					return
				}
				wantViolation(t, err, test.want)
			})
		}
	}
}

// TestNamesInWrapper checks that a refused name is also refused in a folder that would be
// unwrapped.
func TestNamesInWrapper(t *testing.T) {
	for _, test := range nameRules {
		members := files("x.tf")
		for _, name := range test.names {
			if test.want != "" || len("w/"+name) <= MaxName {
				members = append(members, files(name)...)
			}
		}
		wrapped := slices.Clone(members)
		for i := range wrapped {
			wrapped[i].name = "w/" + wrapped[i].name
		}
		for _, format := range []Format{Zip, TarGz} {
			t.Run(test.rule+"/"+format.String(), func(t *testing.T) {
				data := archiveOf(t, format, wrapped...)
				got, err := checkModuleBytes(data, format)
				if test.want != "" {
					wantViolation(t, err, "")
					return
				}
				check(t, err)
				if want := hashDir(t, members...); got.H1 != want || got.Wrapper != "w" {
					t.Errorf("got %+v; want h1 %s of the folder w", got, want)
				}
				wantSameModule(t, data, unwrapBytes(t, data, format, "w"), format)
			})
		}
	}
}

// TestFold goes through all characters that a name may hold. What is one to a file
// system in some way has one form, whichever way that is.
func TestFold(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || characterProblem(r) != "" {
			continue
		}
		name := "a" + string(r)
		folded := fold(name)
		same := []string{
			folded, norm.NFC.String(name), norm.NFD.String(name), cases.Fold().String(name),
			strings.ToUpper(name), strings.ToUpper(cases.Fold().String(name)), name + "\ufe0f",
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			same = append(same, "A"+string(other))
		}
		for _, other := range same {
			if got := fold(other); got != folded {
				t.Errorf("%+q is %+q, but %+q is %+q", name, folded, other, got)
			}
		}
		if strings.Count(folded, "/") != strings.Count(name, "/") {
			t.Errorf("%+q is %+q, with other slashes", name, folded)
		}
	}
}

func TestNamesOfZipAlone(t *testing.T) {
	for _, test := range []struct{ rule, name, want string }{
		{"no name", "", "has no name"},
		{"NUL", "main.tf\x00.txt", `"main.tf\x00.txt" has a control character`},
		{"root", "/", "has no name"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := checkModuleBytes(zipOf(t, append(files("ok.tf"), member{name: test.name})...), Zip)
			wantViolation(t, err, test.want)
		})
	}
}

// TestTarFileNamedAsFolder checks that a slash at the end of its name does not make a folder
// of a file in a tar.
func TestTarFileNamedAsFolder(t *testing.T) {
	data := tarOf(t, files("main.tf", "x_")...)
	copy(data[1024:], "x/")
	fixTarChecksum(data[1024:])
	_, err := checkModuleBytes(gzipOf(t, data), TarGz)
	wantViolation(t, err, `"x/" has an empty segment in its name`)
}

func TestTexts(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 bytes", 1023: "1023 bytes", 1 << 10: "1 KiB", 1<<10 + 1: "1025 bytes", 3 << 9: "1536 bytes",
		1 << 20: "1 MiB", 3 << 19: "1536 KiB", 256 << 20: "256 MiB", 1 << 30: "1 GiB", 8 << 30: "8 GiB", 3 << 29: "1536 MiB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d is %q; want %q", n, got, want)
		}
	}
	long := strings.Repeat("a", 50) + strings.Repeat("b", 50)
	for name, want := range map[string]string{
		long: `"` + long + `"`, long + "b": `"` + long[:50] + "..." + long[50:] + `"`, "a\u202eb": `"a\u202eb"`,
	} {
		if got := quote(name); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	name := strings.Repeat("é", MaxName)
	_, err := checkModuleBytes(zipOf(t, files(name)...), Zip)
	wantViolation(t, err, `éé...éé`)
	if len(err.Error()) > 250 {
		t.Errorf("message of %d bytes: %v", len(err.Error()), err)
	}
}

func TestDotSlash(t *testing.T) {
	members := files("./", "./main.tf", "./modules/", "./modules/x.tf")
	want := hashDir(t, members...)
	for _, format := range []Format{Zip, TarGz} {
		m, err := checkModuleBytes(archiveOf(t, format, members...), format)
		check(t, err)
		if m.H1 != want || m.Files != 2 {
			t.Errorf("%v: got %+v; want h1 %s of 2 files", format, m, want)
		}
		_, err = checkModuleBytes(archiveOf(t, format, files("main.tf", "./main.tf")...), format)
		wantViolation(t, err, `"main.tf" appears more than once`)
		_, err = checkModuleBytes(archiveOf(t, format, files("././main.tf")...), format)
		wantViolation(t, err, `"." segment`)
	}
	_, err := checkProviderBytes(zipOf(t, files("./terraform-provider-widget")...))
	wantViolation(t, err, `"." segment`)
}

func TestZipEntries(t *testing.T) {
	const body = "variable \"a\" {}\n"
	header := func(change func(*zip.FileHeader)) *zip.FileHeader {
		h := stored("main.tf", body)
		change(h)
		return h
	}
	for _, test := range []struct {
		rule   string
		header *zip.FileHeader
		want   string
	}{
		{"plain", header(func(h *zip.FileHeader) {}), ""},
		{"encrypted", header(func(h *zip.FileHeader) { h.Flags = 1 }), `"main.tf" is encrypted`},
		{"strongly encrypted", header(func(h *zip.FileHeader) { h.Flags = 1 << 6 }), "is encrypted"},
		{"bzip2", header(func(h *zip.FileHeader) { h.Method = 12 }), `"main.tf" is compressed by method 12`},
		{"symbolic link", header(func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }), `"main.tf" is a symbolic link`},
		{"device", header(func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o600) }), "is a device"},
		{"character device", header(func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | fs.ModeCharDevice) }), "is a device"},
		{"pipe", header(func(h *zip.FileHeader) { h.SetMode(fs.ModeNamedPipe | 0o600) }), "is a named pipe"},
		{"socket", header(func(h *zip.FileHeader) { h.SetMode(fs.ModeSocket | 0o600) }), "is a socket"},
		{"folder without slash", header(func(h *zip.FileHeader) { h.SetMode(fs.ModeDir | 0o755) }), `is marked as a folder`},
		{"checksum", header(func(h *zip.FileHeader) { h.CRC32++ }), `"main.tf" does not match its checksum`},
		{"more than declared", header(func(h *zip.FileHeader) { h.UncompressedSize64-- }), `"main.tf" is damaged`},
		{"less than declared", header(func(h *zip.FileHeader) { h.UncompressedSize64++ }), `"main.tf" is cut short`},
		{"not deflate", header(func(h *zip.FileHeader) { h.Method = zip.Deflate }), `"main.tf" is damaged`},
		{"beyond the end", header(func(h *zip.FileHeader) { h.CompressedSize64 = 1 << 20 }), `"main.tf" does not lie within the archive`},
		{"size with all bits", header(func(h *zip.FileHeader) { h.CompressedSize64 = 1<<64 - 1 }), `"main.tf" does not lie within the archive`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := checkModuleBytes(rawZip(t, []byte(body), test.header), Zip)
			if test.want == "" {
				check(t, err)
				return
			}
			wantViolation(t, err, test.want)
		})
	}
}

func TestZipFolderWithContent(t *testing.T) {
	// folder returns a zip with a folder that has content, but says that it expands
	// to nothing.
	folder := func(content string) []byte {
		modules := &zip.FileHeader{Name: "modules_", Method: zip.Deflate}
		return bytes.ReplaceAll(rawZip(t, []byte(content), stored("main.tf", content), modules), []byte("modules_"), []byte("modules/"))
	}
	_, err := checkModuleBytes(folder("\x01\x00\x00\xff\xff"), Zip) // nothing, deflated
	check(t, err)
	_, err = checkModuleBytes(folder("hidden"), Zip)
	wantViolation(t, err, `"modules/" is a folder, but has content`)
	one := rawZip(t, []byte("x"), stored("main.tf", "x"), stored("modules_", "x"))
	_, err = checkModuleBytes(bytes.ReplaceAll(one, []byte("modules_"), []byte("modules/")), Zip)
	wantViolation(t, err, `"modules/" is a folder, but has content`)
	data := bytes.ReplaceAll(zipOf(t, files("main_")...), []byte("main_"), []byte("main/"))
	_, err = checkModuleBytes(data, Zip)
	wantViolation(t, err, `"main/" is a folder, but has content`)
}

func TestTarEntries(t *testing.T) {
	for _, test := range []struct {
		rule   string
		header *tar.Header
		want   string
	}{
		{"pax global header", &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "cafe"}}, ""},
		{"pax global header with a name", &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "cafe", "path": "x.tf"}}, `global header that says "path"`},
		{"pax global header with a link", &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"linkpath": "x.tf"}}, `global header that says "linkpath"`},
		{"pax global header with a size", &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"size": "1"}}, `global header that says "size"`},
		{"pax global header with holes", &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"GNU.sparse.name": "x.tf"}}, `global header that says "GNU.sparse.name"`},
		{"extended attributes", &tar.Header{Name: "x.tf", PAXRecords: map[string]string{"SCHILY.xattr.user.a": "b"}}, ""},
		{"symbolic link", &tar.Header{Typeflag: tar.TypeSymlink, Name: "x.tf", Linkname: "/etc/passwd"}, `"x.tf" is a symbolic link to "/etc/passwd"`},
		{"hard link", &tar.Header{Typeflag: tar.TypeLink, Name: "x.tf", Linkname: "main.tf"}, `"x.tf" is a hard link to "main.tf"`},
		{"character device", &tar.Header{Typeflag: tar.TypeChar, Name: "x.tf"}, "is a device"},
		{"block device", &tar.Header{Typeflag: tar.TypeBlock, Name: "x.tf"}, "is a device"},
		{"pipe", &tar.Header{Typeflag: tar.TypeFifo, Name: "x.tf"}, "is a named pipe"},
		{"contiguous", &tar.Header{Typeflag: tar.TypeCont, Name: "x.tf"}, `unknown tar type '7'`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			main := &tar.Header{Typeflag: tar.TypeReg, Name: "main.tf", Size: 10}
			if test.header.Typeflag == 0 {
				test.header.Typeflag = tar.TypeReg
			}
			_, err := checkModuleBytes(rawTarGz(t, main, test.header), TarGz)
			if test.want == "" {
				check(t, err)
				return
			}
			wantViolation(t, err, test.want)
		})
	}
}

// TestSecondNameInTar puts a pax header behind a GNU long name: GNU tar believes
// the one, and the clients the other.
func TestSecondNameInTar(t *testing.T) {
	tarOfOne := func(name string, format tar.Format) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		check(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Format: format}))
		check(t, w.Close())
		return b.Bytes()
	}
	const header = 2 * 512 // and what it says
	long, other := strings.Repeat("a", 110)+".tf", strings.Repeat("b", 110)+".tf"
	for _, test := range []struct{ gnu, pax, want string }{
		{long, long, ""},
		{long, other, "has another name"},
	} {
		data := append(tarOfOne(test.gnu, tar.FormatGNU)[:header:header], tarOfOne(test.pax, tar.FormatPAX)...)
		_, err := checkModuleBytes(gzipOf(t, data), TarGz)
		if test.want == "" {
			check(t, err)
			continue
		}
		wantViolation(t, err, test.want)
	}
}

func TestSecondNameInZip(t *testing.T) {
	field := func(id uint16, name string) []byte {
		data := binary.LittleEndian.AppendUint16(nil, id)
		data = binary.LittleEndian.AppendUint16(data, uint16(1+4+len(name)))
		data = binary.LittleEndian.AppendUint32(append(data, 1), crc32.ChecksumIEEE([]byte("main.tf")))
		return append(data, name...)
	}
	for _, test := range []struct {
		rule  string
		extra []byte
		want  string
	}{
		{"none", nil, ""},
		{"the same", field(0x7075, "main.tf"), ""},
		{"a comment", field(0x6375, "other.tf"), ""},
		{"another", field(0x7075, "other.tf"), `"main.tf" has another name`},
		{"another, second", append(field(0x6375, "x"), field(0x7075, "other.tf")...), `"main.tf" has another name`},
		{"no name", field(0x7075, ""), `"main.tf" has another name`},
		{"cut short", field(0x7075, "other.tf")[:10], ""},
		{"too short for a name", []byte{0x75, 0x70, 4, 0, 1, 0, 0, 0}, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			h := stored("main.tf", "")
			h.Extra = test.extra
			_, err := checkModuleBytes(rawZip(t, nil, h), Zip)
			if test.want == "" {
				check(t, err)
				return
			}
			wantViolation(t, err, test.want)
		})
	}
}

// TestHeaderOfItsOwn changes the header before the content of the last entry of a
// zip, which says of itself what the directory says, or the zip is refused.
func TestHeaderOfItsOwn(t *testing.T) {
	const another, unicodePath, content = ` is named "evil.tf" in the header before its content`,
		` has another name in a Unicode path field (0x7075) before its content`,
		` has another size, checksum or compression in the header before its content`
	set := func(at int, n uint32) func([]byte) {
		return func(h []byte) { binary.LittleEndian.PutUint32(h[at:], n) }
	}
	field := func(id uint16, data ...byte) []byte {
		return append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, id), uint16(len(data))), data...)
	}
	sizes := func(all ...uint64) (data []byte) {
		for _, size := range all {
			data = binary.LittleEndian.AppendUint64(data, size)
		}
		return data
	}
	wide := func(h []byte) { set(18, math.MaxUint32)(h); set(22, math.MaxUint32)(h) }
	both := func(changes ...func([]byte)) func([]byte) {
		return func(h []byte) {
			for _, change := range changes {
				change(h)
			}
		}
	}
	follow := func(h []byte) { h[6] |= 8 }
	nothing := func([]byte) {}
	name := append([]byte{1, 0, 0, 0, 0}, "main.tf"...)
	evil := append([]byte{1, 0, 0, 0, 0}, "evil.tf"...)
	for _, test := range []struct {
		rule   string
		name   string // of the entry; main.tf has 5 bytes
		extra  []byte
		change func(header []byte)
		want   string
	}{
		{"the same", "main.tf", nil, nothing, ""},
		{"another name", "main.tf", nil, func(h []byte) { copy(h[30:], "evil.tf") }, `"main.tf"` + another},
		{"another folder", "modules/", nil, func(h []byte) { copy(h[30:], "module_/") }, `"modules/" is named "module_/" in the header before its content`},
		{"a shorter name", "main.tf", nil, func(h []byte) { h[26], h[28] = 4, 3 }, `"main.tf" is named "main" in the header before its content`},
		{"a Unicode path", "main.tf", field(0x7075, evil...), nothing, `"main.tf"` + unicodePath},
		{"the same Unicode path", "main.tf", field(0x7075, name...), nothing, ""},
		{"another method", "main.tf", nil, func(h []byte) { h[8] = 8 }, `"main.tf"` + content},
		{"another checksum", "main.tf", nil, set(14, 1), `"main.tf"` + content},
		{"more compressed bytes", "main.tf", nil, set(18, 6), `"main.tf"` + content},
		{"more bytes", "main.tf", nil, set(22, 6), `"main.tf"` + content},
		{"no sizes", "main.tf", nil, both(set(14, 0), set(18, 0), set(22, 0)), `"main.tf"` + content},
		{"no sizes, which follow", "main.tf", nil, both(follow, set(14, 0), set(18, 0), set(22, 0)), ""},
		{"sizes that follow, and others", "main.tf", nil, both(follow, set(14, 0), set(18, 6), set(22, 0)), `"main.tf"` + content},
		{"wide sizes", "main.tf", field(1, sizes(5, 5)...), wide, ""},
		{"wide sizes behind another field", "main.tf", append(field(2, 1), field(1, sizes(5, 5)...)...), wide, ""},
		{"other wide bytes", "main.tf", field(1, sizes(6, 5)...), wide, `"main.tf"` + content},
		{"other wide compressed bytes", "main.tf", field(1, sizes(5, 6)...), wide, `"main.tf"` + content},
		{"one wide size", "main.tf", field(1, sizes(5)...), set(18, math.MaxUint32), ""},
		{"the first of two fields counts", "main.tf", append(field(1, sizes(6, 5)...), field(1, sizes(5, 5)...)...), wide, `"main.tf"` + content},
		{"wide sizes that are not there", "main.tf", field(1, sizes(5)...), wide, `"main.tf"` + content},
		{"wide sizes cut short", "main.tf", field(1, sizes(5, 5)[:15]...), wide, `"main.tf"` + content},
	} {
		t.Run(test.rule, func(t *testing.T) {
			body := "12345"
			if strings.HasSuffix(test.name, "/") {
				body = ""
			}
			data := rawZip(t, []byte(body), stored("other.tf", body), stored(test.name, body))
			start := bytes.LastIndex(data, []byte("PK\x03\x04"))
			end := start + 30 + len(test.name)
			binary.LittleEndian.PutUint16(data[start+28:], uint16(len(test.extra)))
			test.change(data[start:end])
			data = slices.Concat(data[:end], test.extra, data[end:])
			directory := data[len(data)-22+16:]
			binary.LittleEndian.PutUint32(directory, binary.LittleEndian.Uint32(directory)+uint32(len(test.extra)))
			_, err := checkModuleBytes(data, Zip)
			if test.want == "" {
				check(t, err)
				return
			}
			wantViolation(t, err, test.want)
		})
	}
}

// TestSparse takes headers apart, as no writer of the standard library makes
// sparse files.
func TestSparse(t *testing.T) {
	old := tarOf(t, files("main.tf")...)
	old[156] = tar.TypeGNUSparse
	copy(old[257:], "ustar  \x00")     // GNU's magic
	copy(old[386:], "00000000000\x00") // one fragment, at 0,
	copy(old[398:], "00000000022\x00") // of all the content
	copy(old[483:], "00000000022\x00")
	fixTarChecksum(old)
	_, err := checkModuleBytes(gzipOf(t, old), TarGz)
	wantViolation(t, err, `"main.tf" is a sparse file`)

	// As written by GNU tar's default format for sparse files: a pax header.
	record := "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n24 GNU.sparse.name=a.tf\n26 GNU.sparse.realsize=42\n"
	pax := tarOf(t, member{name: "pax", body: record}, member{name: "a.tf", body: "0\n" + strings.Repeat("\x00", 510)})
	pax[156] = tar.TypeXHeader
	fixTarChecksum(pax)
	_, err = checkModuleBytes(gzipOf(t, pax), TarGz)
	wantViolation(t, err, `"a.tf" is a sparse file`)
}

// fixTarChecksum makes the first header valid after it was changed.
func fixTarChecksum(header []byte) {
	copy(header[148:156], "        ")
	sum := 0
	for _, b := range header[:512] {
		sum += int(b)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

func TestWrongFiles(t *testing.T) {
	module, tarball := zipOf(t, files("main.tf")...), tarGzOf(t, files("main.tf")...)
	for _, test := range []struct {
		rule   string
		format Format
		data   []byte
		want   string
	}{
		{"empty file", Zip, nil, "The file is empty (0 bytes)."},
		{"empty file", TarGz, nil, "The file is empty (0 bytes)."},
		{"gzip named zip", Zip, tarball, "The file is not a zip archive: it looks like gzip, as in a tar.gz."},
		{"zip named tar.gz", TarGz, module, "The file is not a tar.gz archive: it looks like a zip archive."},
		{"empty zip named tar.gz", TarGz, zipOf(t), "it looks like a zip archive."},
		{"tar named tar.gz", TarGz, tarOf(t, files("main.tf")...), "it looks like a tar without compression."},
		{"executable", Zip, []byte("\x7fELF and so on"), "it looks like an executable."},
		{"text", Zip, []byte("hello"), "it does not begin as one."},
		{"zip behind something else", Zip, append([]byte("#!/bin/sh\n"), module...), "it does not begin as one."},
		{"zip behind a tar", Zip, append(tarOf(t, files("main.tf")...), module...), "it looks like a tar"},
		{"no directory", Zip, []byte("PK\x03\x04 and no more"), "no readable central directory"},
		{"no entries", Zip, zipOf(t), "The archive holds no file."},
		{"no entries", TarGz, tarGzOf(t), "The archive holds no file."},
		{"no bytes in gzip", TarGz, gzipOf(t, nil), "The archive holds no file."},
		{"folders only", Zip, zipOf(t, files("a/", "a/b/")...), "The archive holds no file."},
		{"folders only", TarGz, tarGzOf(t, files("./", "a/", "a/b/")...), "The archive holds no file."},
		{"gzip of text", TarGz, gzipOf(t, []byte("hello")), "truncated, or not a tar.gz"},
		{"gzip of long text", TarGz, gzipOf(t, bytes.Repeat([]byte("hello"), 200)), "what it compresses is not a tar"},
		{"gzip of a zip", TarGz, gzipOf(t, bytes.Repeat(module, 9)), "what it compresses is not a tar"},
		{"bytes after gzip", TarGz, append(bytes.Clone(tarball), "more"...), "truncated"},
		{"garbage after gzip", TarGz, append(bytes.Clone(tarball), "much more bytes"...), "data in or around its gzip stream that is not gzip"},
		{"gzip without its header", TarGz, []byte("\x1f\x8b and no more"), "data in or around its gzip stream that is not gzip"},
		{"beginning of gzip", TarGz, tarball[:5], "ends before its first entry"},
		{"damaged gzip", TarGz, append(bytes.Clone(tarball[:10]), "\xff\xff\xff\xff\xff\xff\xff\xff"...), "The archive is damaged at its beginning."},
		{"second header that is none", TarGz, gzipOf(t, append(tarOf(t, files("main.tf")...)[:1024], bytes.Repeat([]byte("x"), 2048)...)), `The archive is damaged in or after "main.tf".`},
		{"second tar", TarGz, append(bytes.Clone(tarball), tarball...), "data after the end of its tar"},
	} {
		t.Run(test.rule+"/"+test.format.String(), func(t *testing.T) {
			_, err := checkModuleBytes(test.data, test.format)
			wantViolation(t, err, test.want)
			if violations, _ := errors.AsType[Violations](err); len(violations) != 1 {
				t.Errorf("there are %d violations: %q", len(violations), violations)
			}
		})
	}
	if _, err := checkModuleBytes(module, Format(7)); err == nil || errors.As(err, new(Violations)) {
		t.Errorf("unknown format: %v; want an error of the caller", err)
	}
}

// TestPadding shows that the blocks which tar programs write behind the end of
// an archive are accepted.
func TestPadding(t *testing.T) {
	archive := tarOf(t, files("main.tf")...)
	_, err := checkModuleBytes(gzipOf(t, append(archive, make([]byte, MaxPadding)...)), TarGz)
	check(t, err)
	_, err = checkModuleBytes(gzipOf(t, append(archive, make([]byte, MaxPadding+1)...)), TarGz)
	wantViolation(t, err, "more than 1 MiB of padding")
}

func TestTruncatedAnywhere(t *testing.T) {
	members := files("main.tf", "modules/", "modules/x.tf", "terraform-provider-widget")
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, members...)
		for n := range data {
			_, err := checkModuleBytes(data[:n], format)
			if !errors.As(err, new(Violations)) {
				t.Fatalf("%v cut after %d of %d bytes: %v; want violations", format, n, len(data), err)
			}
			// The same when the reader ends before the size that is stated.
			_, err = CheckModule(context.Background(), bytes.NewReader(data[:n]), int64(len(data)), format)
			if !errors.As(err, new(Violations)) {
				t.Fatalf("%v that ends after %d of %d bytes: %v; want violations", format, n, len(data), err)
			}
		}
	}
}

func TestTruncatedSaysSo(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 4096)
	archive := tarOf(t, member{name: "a.tf", body: "a"}, member{name: "b.tf", body: body})
	_, err := checkModuleBytes(gzipOf(t, archive[:20_000]), TarGz)
	wantViolation(t, err, `The archive is truncated: it ends in or after "b.tf".`)
	_, err = checkModuleBytes(gzipOf(t, archive[:1024+100]), TarGz)
	wantViolation(t, err, `The archive is truncated: it ends in or after "a.tf".`)
	whole := zipOf(t, member{name: "a.tf", body: body})
	_, err = checkModuleBytes(whole[:len(whole)-30], Zip)
	wantViolation(t, err, "truncated or damaged")
}

// TestFlippedAnywhere shows that no single wrong byte is mistaken for anything
// but a fault of the archive, and that none of the compressed content or its
// checksums passes.
func TestFlippedAnywhere(t *testing.T) {
	const header = 10 // of gzip, where time and operating system stand
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, files("main.tf", "modules/x.tf")...)
		for i := range data {
			flipped := bytes.Clone(data)
			flipped[i] ^= 0xff
			_, err := checkModuleBytes(flipped, format)
			if err != nil && !errors.As(err, new(Violations)) {
				t.Fatalf("%v with byte %d flipped: %v", format, i, err)
			}
			if err == nil && format == TarGz && i >= header {
				t.Errorf("%v with byte %d flipped is accepted", format, i)
			}
		}
	}
	data := tarGzOf(t, files("main.tf")...)
	data[len(data)-5] ^= 1
	_, err := checkModuleBytes(data, TarGz)
	wantViolation(t, err, "does not match its gzip checksum")
}

// TestReadErrors fails each read in turn, from there on and alone. The archive is
// never blamed for it, but for one that ends too early.
func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, files("w/", "w/main.tf", "w/modules/x.tf")...)
		rules := moduleRules()
		rules.ratioFree = 0 // so that unwrapping is part of the check
		for name, do := range map[string]func(context.Context, io.ReaderAt) error{
			"check": func(ctx context.Context, r io.ReaderAt) error {
				_, err := checkModule(inspect(ctx, r, int64(len(data)), rules), format)
				return err
			},
			"unwrap": func(ctx context.Context, r io.ReaderAt) error {
				return Unwrap(ctx, r, int64(len(data)), format, "w", io.Discard)
			},
		} {
			counted := &meter{ReaderAt: bytes.NewReader(data)}
			check(t, do(context.Background(), counted))
			for n := 1; n <= counted.reads; n++ {
				for _, once := range []bool{false, true} {
					err := do(context.Background(), &meter{ReaderAt: bytes.NewReader(data), n: n, err: broken, once: once})
					if !errors.Is(err, broken) || errors.As(err, new(Violations)) {
						t.Fatalf("%s %v, read %d fails (alone: %v): %v; want %v", name, format, n, once, err, broken)
					}
					if err := do(context.Background(), &meter{ReaderAt: bytes.NewReader(data), n: n, err: io.EOF, once: once}); err == nil {
						t.Fatalf("%s %v, ends in read %d (alone: %v), and nobody says so", name, format, n, once)
					}
				}
			}
			for n := 1; n < counted.reads; n++ {
				ctx, cancel := context.WithCancel(context.Background())
				err := do(ctx, &meter{ReaderAt: bytes.NewReader(data), n: n, fail: cancel})
				if !errors.Is(err, context.Canceled) || errors.As(err, new(Violations)) {
					t.Fatalf("%s %v, cancelled in read %d: %v", name, format, n, err)
				}
			}
		}
	}
}

// TestSource reads at and beyond the edges of an archive of four bytes.
func TestSource(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, test := range []struct {
		rule   string
		has    string
		fails  error
		budget int64
		off    int64
		n      int
		want   string
		err    error
		kept   error
		short  bool
	}{
		{"inside", "abcd", nil, 9, 1, 2, "bc", nil, nil, false},
		{"whole", "abcd", nil, 4, 0, 4, "abcd", nil, nil, false},
		{"over the end", "abcd", nil, 9, 2, 4, "cd", io.EOF, nil, false},
		{"at the end", "abcd", nil, 9, 4, 1, "", io.EOF, nil, false},
		{"behind the end", "abcd", nil, 9, 5, 1, "", io.EOF, nil, false},
		{"before the beginning", "abcd", nil, 9, -1, 1, "", io.EOF, nil, false},
		{"more than the budget", "abcd", nil, 3, 0, 4, "", errBudget, nil, false},
		{"shorter than it says", "abc", nil, 9, 2, 2, "c", io.EOF, nil, true},
		{"more of it than it says", "abcdef", nil, 9, 2, 4, "cd", io.EOF, nil, false},
		{"broken", "abcd", broken, 9, 0, 4, "", broken, broken, false},
	} {
		r := &meter{ReaderAt: strings.NewReader(test.has), n: 1, err: test.fails}
		s := newSource(context.Background(), r, 4)
		s.budget = test.budget
		p := make([]byte, test.n)
		n, err := s.ReadAt(p, test.off)
		if string(p[:n]) != test.want || err != test.err || s.err != test.kept || s.short != test.short {
			t.Errorf("%s: got %q, %v, kept %v, short %v", test.rule, p[:n], err, s.err, s.short)
		}
		if test.kept != nil {
			r.err = nil
			if n, err := s.ReadAt(p, test.off); n > 0 || err != test.kept || r.reads != 1 {
				t.Errorf("%s, again: got %q, %v, after %d reads", test.rule, p[:n], err, r.reads)
			}
		}
	}
}

// TestLargeFiles compares the h1 hash of files that are hashed beside the reading
// with what dirhash makes of them, and shows that damage at their end is found.
func TestLargeFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	random := make([]byte, 3<<20+17)
	_, err := rand.NewChaCha8([32]byte{1}).Read(random)
	check(t, err)
	members := []member{{name: "terraform-provider-widget", body: string(random)}}
	for i, size := range []int{smallFile - 1, smallFile, smallFile + 1, 2 * smallFile} {
		members = append(members, member{name: fmt.Sprintf("%d.tf", i), body: string(random[i : i+size])})
	}
	wantFiles, wantExpanded := count(members)
	for _, format := range []Format{Zip, TarGz} {
		m, err := checkModuleBytes(archiveOf(t, format, members...), format)
		check(t, err)
		if want := (Module{H1: hashDir(t, members...), Files: wantFiles, Expanded: wantExpanded}); !reflect.DeepEqual(m, want) {
			t.Errorf("%v: got %+v; want %+v", format, m, want)
		}
	}
	data := zipOf(t, members...)
	p, err := checkProviderBytes(data)
	check(t, err)
	if want := archivetest.H1(t, data); p.H1 != want {
		t.Errorf("h1 is %s; dirhash says %s", p.H1, want)
	}
	damaged := stored("main.tf", string(random))
	damaged.CRC32++
	_, err = checkModuleBytes(rawZip(t, random, damaged), Zip)
	wantViolation(t, err, `The content of "main.tf" does not match its checksum: the archive is damaged.`)
}

// TestOverlap shows that no two files of a zip may share a byte, whichever they
// are, and that they may lie side by side.
func TestOverlap(t *testing.T) {
	for _, test := range []struct {
		rule  string
		spans [3]span
		want  string
	}{
		{"side by side", [3]span{{0, 4}, {4, 4}, {8, 4}}, ""},
		{"in another order", [3]span{{8, 4}, {0, 4}, {4, 4}}, ""},
		{"the first two", [3]span{{0, 4}, {3, 4}, {8, 4}}, `"0.tf" and "1.tf" share the same bytes of the archive.`},
		{"the last two", [3]span{{0, 4}, {4, 4}, {7, 4}}, `"1.tf" and "2.tf" share the same bytes of the archive.`},
		{"the same", [3]span{{0, 4}, {4, 4}, {4, 4}}, `"1.tf" and "2.tf" share`},
		{"one in another", [3]span{{0, 12}, {4, 2}, {12, 4}}, `"0.tf" and "1.tf" share`},
		{"first and last", [3]span{{0, 4}, {8, 4}, {3, 1}}, `"0.tf" and "2.tf" share`},
		{"nothing among others", [3]span{{0, 4}, {2, 0}, {4, 4}}, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			data := sharedZip(t, test.spans[:])
			if test.want == "" {
				_, err := checkModuleBytes(data, Zip)
				check(t, err)
				return
			}
			data[len(test.spans)*sharedHeader] = 'y' // damaged, which nobody who reads nothing sees
			_, err := checkModuleBytes(data, Zip)
			var violations Violations
			if !errors.As(err, &violations) || len(violations) != 1 || !strings.HasPrefix(violations[0], test.want) {
				t.Errorf("got %v; want %s", err, test.want)
			}
		})
	}
}

// TestContentAtTheEnd moves the content of a file of so many bytes to and beyond
// the end of the zip. What lies outside is said once, and no more is read.
func TestContentAtTheEnd(t *testing.T) {
	const inside, outside = `The content of "0.tf" does not match its checksum: the archive is damaged.`, `The content of "0.tf" does not lie within the archive: it is truncated or damaged.`
	for _, test := range []struct {
		length, behind int // where it begins, seen from the end
		want           string
	}{
		{0, 0, ""},
		{0, 1, outside},
		{0, 9, outside},
		{5, 0, outside},
		{5, -5, inside},
		{5, -4, outside},
		{5, 9, outside},
	} {
		data := sharedZip(t, []span{{0, test.length}, {8, 4}})
		binary.LittleEndian.PutUint16(data[28:], uint16(len(data)+test.behind-sharedHeader))
		_, err := checkModuleBytes(data, Zip)
		if got := fmt.Sprint(err); got != cmp.Or(test.want, "<nil>") {
			t.Errorf("%d bytes that begin %d bytes behind the end: got %s; want %s", test.length, test.behind, got, test.want)
		}
	}
}

// TestRefusedOnce shows that whatever cannot be accepted anyway is not looked into.
func TestRefusedOnce(t *testing.T) {
	damaged := func(name string) *zip.FileHeader {
		h := stored(name, "x")
		h.CRC32++
		return h
	}
	// lost is the zip without what the header of its last entry begins with.
	lost := func(data []byte) []byte {
		clear(data[bytes.LastIndex(data, []byte("PK\x03\x04")):][:4])
		return data
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"file of a bad name":         {rawZip(t, []byte("x"), stored("main.tf", "x"), damaged("../x")), `"../x" has a ".." segment in its name; names lead straight down from the root of the archive.`},
		"file that is there already": {rawZip(t, []byte("x"), stored("main.tf", "x"), damaged("main.tf")), `"main.tf" appears more than once.`},
		"folder of a bad name":       {lost(zipOf(t, files("main.tf", "../x/")...)), `"../x/" has a ".." segment in its name; names lead straight down from the root of the archive.`},
		"file without a header":      {lost(zipOf(t, files("main.tf", "x.tf")...)), `The content of "x.tf" does not lie within the archive: it is truncated or damaged.`},
		"folder without a header":    {lost(zipOf(t, files("main.tf", "x/")...)), `The content of "x/" is damaged.`},
		"folder behind the end":      {farFolder(t), `The content of "x/" is cut short: the archive is truncated or damaged.`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := checkModuleBytes(test.data, Zip)
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("got %s; want %s alone", got, test.want)
			}
		})
	}
}

// farFolder returns a zip whose directory says that a folder is behind the end.
func farFolder(t *testing.T) []byte {
	data := zipOf(t, files("main.tf", "x/")...)
	entry := data[bytes.LastIndex(data, []byte("PK\x01\x02")):]
	binary.LittleEndian.PutUint32(entry[42:], 1<<20)
	return data
}

type span struct{ start, length int }

// sharedHeader is how long a local header of a sharedZip is.
const sharedHeader = 30 + len("0.tf")

// sharedZip returns a zip of stored files, 0.tf and so on, whose contents are
// where spans say in 16 bytes behind all local headers. Each header leads there as
// if it had an extra field.
func sharedZip(t *testing.T, spans []span) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := zip.NewWriter(&buf)
	for i, s := range spans {
		h := stored(fmt.Sprintf("%d.tf", i), strings.Repeat("x", s.length))
		h.CompressedSize64 = h.UncompressedSize64
		_, err := zw.CreateRaw(h)
		check(t, err)
	}
	check(t, zw.Close())
	headers := len(spans) * sharedHeader
	data := slices.Concat(buf.Bytes()[:headers], bytes.Repeat([]byte("x"), 16), buf.Bytes()[headers:])
	for i, s := range spans {
		extra := headers + s.start - (i+1)*sharedHeader
		binary.LittleEndian.PutUint16(data[i*sharedHeader+28:], uint16(extra))
	}
	directory := data[len(data)-22+16:]
	binary.LittleEndian.PutUint32(directory, binary.LittleEndian.Uint32(directory)+16)
	return data
}
