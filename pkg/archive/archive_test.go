package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
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

// TestNames holds the rules on names, which are the same for every archive.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		rule  string
		names []string
		want  string // "" when accepted
	}{
		{"plain", []string{"main.tf", "modules/", "modules/x/main.tf", "modules/x/"}, ""},
		{"spaces and unicode", []string{"a b.tf", "größe/日本.tf", "...", "..a/b..", "c-/d"}, ""},
		{"longest", []string{strings.Repeat("n", MaxName)}, ""},
		{"too long", []string{strings.Repeat("n", MaxName+1)}, "has a name of 1025 bytes; at most 1024"},
		{"parent", []string{"../main.tf"}, `".." segment`},
		{"parent inside", []string{"a/../../main.tf"}, `".." segment`},
		{"parent at the end", []string{"a/.."}, `".." segment`},
		{"dot", []string{"a/./main.tf"}, `"." segment`},
		{"absolute", []string{"/main.tf"}, "absolute"},
		{"drive", []string{"C:/main.tf"}, "drive letter"},
		{"drive, relative", []string{"c:main.tf"}, "drive letter"},
		{"backslash", []string{`modules\main.tf`}, "backslash"},
		{"UNC", []string{`\\host\share\main.tf`}, "backslash"},
		{"newline", []string{"main\n.tf"}, `"main\n.tf" has a control character`},
		{"delete", []string{"main\x7f.tf"}, "control character"},
		{"C1 control", []string{"main\u0085.tf"}, "control character"},
		{"not UTF-8", []string{"main\xff.tf"}, `"main\xff.tf" has a name that is not valid UTF-8`},
		{"overlong UTF-8", []string{"a\xc0\xafb.tf"}, "not valid UTF-8"},
		{"empty segment", []string{"a//main.tf"}, "empty segment"},
		{"folder with an empty segment", []string{"main.tf", "a//"}, "empty segment"},
		{"duplicate file", []string{"a.tf", "b.tf", "a.tf"}, `"a.tf" appears more than once`},
		{"duplicate folder", []string{"a/", "a/b.tf", "a/"}, `"a" appears more than once`},
		{"case of a file", []string{"README.md", "readme.md"}, `"README.md" and "readme.md" differ only in case`},
		{"case of a folder", []string{"Modules/a.tf", "modules/b.tf"}, `"Modules" and "modules" differ only in case`},
		{"case beyond ASCII", []string{"GRÖSSE.tf", "grösse.tf"}, "differ only in case"},
		{"case with two lower forms", []string{"\u03c3.tf", "\u03c2.tf"}, "differ only in case"},
		{"file, then folder", []string{"a", "a/b.tf"}, `"a" is both a file and a folder`},
		{"folder, then file", []string{"a/b.tf", "a"}, `"a" is both a file and a folder`},
		{"folder entry and file", []string{"b.tf", "a/", "a"}, `"a" is both a file and a folder`},
	} {
		members := files(test.names...)
		provider := zipOf(t, append(members, files("terraform-provider-widget")...)...)
		_, providerErr := checkProviderBytes(provider)
		_, zipErr := checkModuleBytes(zipOf(t, members...), Zip)
		_, tarErr := checkModuleBytes(tarGzOf(t, members...), TarGz)
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
	data := bytes.ReplaceAll(zipOf(t, files("main_")...), []byte("main_"), []byte("main/"))
	_, err := checkModuleBytes(data, Zip)
	wantViolation(t, err, `"main/" is a folder, but has content`)
}

func TestTarEntries(t *testing.T) {
	for _, test := range []struct {
		rule   string
		header *tar.Header
		want   string
	}{
		{"pax global header", &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "cafe"}}, ""},
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
		{"second tar", TarGz, append(bytes.Clone(tarball), tarball...), "data after the end of its tar"},
	} {
		t.Run(test.rule+"/"+test.format.String(), func(t *testing.T) {
			_, err := checkModuleBytes(test.data, test.format)
			wantViolation(t, err, test.want)
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

// TestReadErrors fails each read in turn. The archive is never blamed for it.
func TestReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, files("w/", "w/main.tf", "w/modules/x.tf")...)
		for name, do := range map[string]func(context.Context, io.ReaderAt) error{
			"check": func(ctx context.Context, r io.ReaderAt) error {
				_, err := CheckModule(ctx, r, int64(len(data)), format)
				return err
			},
			"unwrap": func(ctx context.Context, r io.ReaderAt) error {
				return Unwrap(ctx, r, int64(len(data)), format, "w", io.Discard)
			},
		} {
			counted := &meter{ReaderAt: bytes.NewReader(data)}
			check(t, do(context.Background(), counted))
			for n := 1; n <= counted.reads; n++ {
				err := do(context.Background(), &meter{ReaderAt: bytes.NewReader(data), n: n, err: broken})
				if !errors.Is(err, broken) || errors.As(err, new(Violations)) {
					t.Fatalf("%s %v, read %d fails: %v; want %v", name, format, n, err, broken)
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
