package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// walked are the names and contents that a walk finds.
func walked(data []byte, format Format) (found []string, err error) {
	err = Walk(context.Background(), bytes.NewReader(data), int64(len(data)), format, func(f File) error {
		content, err := io.ReadAll(f.Content)
		if int64(len(content)) != f.Size {
			return fmt.Errorf("%s has %d bytes, and says %d", f.Name, len(content), f.Size)
		}
		found = append(found, f.Name+"="+string(content))
		return err
	})
	return found, err
}

func TestWalk(t *testing.T) {
	members := []member{{name: "main.tf", body: "a"}, {name: "modules/"}, {name: "modules/x/main.tf", body: "b"}, {name: "empty.tf"}}
	for _, format := range []Format{Zip, TarGz} {
		found, err := walked(archiveOf(t, format, members...), format)
		check(t, err)
		if want := []string{"main.tf=a", "modules/x/main.tf=b", "empty.tf="}; !slices.Equal(found, want) {
			t.Errorf("%v: got %q; want %q", format, found, want)
		}
	}
}

// TestWalkPassesOver holds that what breaks a rule is not shown to anybody, for an archive
// may be older than the rule.
func TestWalkPassesOver(t *testing.T) {
	members := append(files("../a.tf", "/b.tf", "c\x00.tf", "d/../e.tf", "main.tf"), member{name: "link.tf", body: "main.tf", mode: fs.ModeSymlink | 0o777})
	found, err := walked(zipOf(t, members...), Zip)
	check(t, err)
	if want := []string{"main.tf=content of main.tf"}; !slices.Equal(found, want) {
		t.Errorf("zip: got %q; want %q", found, want)
	}
	found, err = walked(tarGzOf(t, files("../a.tf", "/b.tf", "d/../e.tf", "./main.tf")...), TarGz)
	check(t, err)
	if want := []string{"main.tf=content of ./main.tf"}; !slices.Equal(found, want) {
		t.Errorf("tar.gz: got %q; want %q", found, want)
	}
}

func TestWalkEnds(t *testing.T) {
	failure := errors.New("no more")
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, files("a.tf", "b.tf", "c.tf")...)
		for _, test := range []struct{ err, want error }{{fs.SkipAll, nil}, {fmt.Errorf("enough: %w", fs.SkipAll), nil}, {failure, failure}} {
			visits := 0
			err := Walk(context.Background(), bytes.NewReader(data), int64(len(data)), format, func(File) error {
				if visits++; visits == 2 {
					return test.err
				}
				return nil
			})
			if !errors.Is(err, test.want) || visits != 2 {
				t.Errorf("%v, %v: %d visits and %v; want 2 and %v", format, test.err, visits, err, test.want)
			}
		}
	}
}

func TestWalkOfNoArchive(t *testing.T) {
	zipped, tarball := zipOf(t, files("a.tf")...), tarGzOf(t, files("a.tf")...)
	for _, test := range []struct {
		rule   string
		format Format
		data   []byte
		want   string
	}{
		{"empty", Zip, nil, "The file is empty"},
		{"empty", TarGz, nil, "The file is empty"},
		{"of the other format", Zip, tarball, "is not a zip archive"},
		{"of the other format", TarGz, zipped, "is not a tar.gz archive"},
		{"cut", Zip, zipped[:len(zipped)-5], "truncated or damaged"},
		{"cut", TarGz, tarball[:len(tarball)/2], "trunc"},
		{"header alone", TarGz, tarball[:5], "ends before its first entry"},
		{"damaged content", Zip, rawZip(t, []byte("abc"), &zip.FileHeader{Name: "a.tf", CRC32: 1, UncompressedSize64: 3}), `The content of "a.tf" is damaged.`},
		{"expands too much", Zip, zipOf(t, member{name: "a.tf", body: strings.Repeat("a", 20<<20)}), "expands to more than 200 times its size"},
	} {
		t.Run(test.rule+"/"+test.format.String(), func(t *testing.T) {
			_, err := walked(test.data, test.format)
			wantViolation(t, err, test.want)
		})
	}
	if _, err := walked(zipped, Format(7)); err == nil || errors.As(err, new(Violations)) {
		t.Errorf("unknown format: %v; want an error of the caller", err)
	}
}

func TestWalkOfLongTar(t *testing.T) {
	data := tarGzOf(t, member{name: "a.tf", body: strings.Repeat("0123456789abcdef", 1024)})
	in := inspect(context.Background(), bytes.NewReader(data), int64(len(data)), rules{expanded: 1000, overhead: 1000})
	err := walk(in, TarGz, func(f File) error {
		_, err := io.Copy(io.Discard, f.Content)
		return err
	})
	wantViolation(t, err, "The tar takes more than 2000 bytes, headers and padding included.")
}

// TestWalkReportsReads lets each read of the archive fail in turn.
func TestWalkReportsReads(t *testing.T) {
	failure := errors.New("the disk is broken")
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, files("a.tf", "b.tf")...)
		for n := 1; ; n++ {
			m := &meter{ReaderAt: bytes.NewReader(data), n: n, err: failure}
			err := Walk(context.Background(), m, int64(len(data)), format, func(f File) error {
				_, err := io.Copy(io.Discard, f.Content)
				return err
			})
			if m.reads < n {
				check(t, err)
				break
			}
			if !errors.Is(err, failure) {
				t.Errorf("%v: read %d fails, and the walk says %v", format, n, err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := Walk(ctx, bytes.NewReader(data), int64(len(data)), format, func(File) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v; want that the context is done", format, err)
		}
	}
}

func checkDocsBytes(data []byte) (Docs, error) {
	return CheckDocs(context.Background(), bytes.NewReader(data), int64(len(data)))
}

func TestCheckDocs(t *testing.T) {
	for _, names := range [][]string{
		{"docs/index.md"},
		{"docs/", "docs/resources/", "docs/resources/a.md", "LICENSE"},
		{"website/docs/r/a.html.markdown", "website/widget.erb"},
		{"terraform-provider-widget-1.0.0/docs/index.md"},
		{"w/website/docs/d/a.html.md", "w/README.md"},
	} {
		docs, err := checkDocsBytes(zipOf(t, files(names...)...))
		check(t, err)
		var want Docs
		if want.Files, want.Expanded = count(files(names...)); docs != want {
			t.Errorf("%q: got %+v; want %+v", names, docs, want)
		}
	}
}

func TestCheckDocsRefuses(t *testing.T) {
	page := member{name: "docs/index.md", body: "# Widget"}
	for _, test := range []struct {
		rule string
		data []byte
		want string
	}{
		{"no page", zipOf(t, files("docs/index.html", "README.md", "docs/.hidden.md")...), "The zip holds no documentation: no file in docs/ or website/docs/ ends in .md or .markdown."},
		{"too deep", zipOf(t, files("a/b/docs/index.md")...), "holds no documentation"},
		{"another folder", zipOf(t, files("mydocs/index.md", "website/index.md")...), "holds no documentation"},
		{"a tar.gz", tarGzOf(t, page), "is not a zip archive"},
		{"nothing", nil, "is empty"},
		{"a symbolic link", zipOf(t, page, member{name: "docs/a.md", body: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), `"docs/a.md" is a symbolic link`},
		{"an absolute name", zipOf(t, page, member{name: "/docs/a.md"}), "has an absolute name"},
		{"a name that leads up", zipOf(t, page, member{name: "docs/../../a.md"}), `has a ".." segment`},
		{"a name with a dot in front", zipOf(t, page, member{name: "./docs/a.md"}), `has a "." segment`},
		{"two cases", zipOf(t, page, member{name: "docs/Index.md"}), "differ only in case"},
		{"no UTF-8", zipOf(t, page, member{name: "docs/\xff.md"}), "not valid UTF-8"},
		{"a bomb", zipOf(t, page, member{name: "docs/a.md", body: strings.Repeat("a", 20<<20)}), "expands to more than 200 times its size"},
		{"too many", zipOf(t, append(manyFiles(MaxFiles), page)...), "more than 20000 files"},
		{"cut", zipOf(t, page)[:30], "truncated or damaged"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := checkDocsBytes(test.data)
			wantViolation(t, err, test.want)
		})
	}
	failure := errors.New("the disk is broken")
	data := zipOf(t, page)
	if _, err := CheckDocs(context.Background(), &meter{ReaderAt: bytes.NewReader(data), n: 1, err: failure}, int64(len(data))); !errors.Is(err, failure) {
		t.Errorf("got %v; want the error of the disk", err)
	}
}

// manyFiles are n empty files in docs/.
func manyFiles(n int) (members []member) {
	for i := range n {
		members = append(members, member{name: fmt.Sprintf("docs/%d.md", i)})
	}
	return members
}

func TestDocsRoot(t *testing.T) {
	for name, want := range map[string][2]string{
		"docs/index.md":               {"docs/", "index.md"},
		"docs/docs/index.md":          {"docs/", "docs/index.md"},
		"docs/website/docs/index.md":  {"docs/", "website/docs/index.md"},
		"website/docs/r/a.html.md":    {"website/docs/", "r/a.html.md"},
		"w/docs/resources/a.md":       {"w/docs/", "resources/a.md"},
		"w/website/docs/index.md":     {"w/website/docs/", "index.md"},
		"w/x/docs/index.md":           {"", "w/x/docs/index.md"},
		"website/index.md":            {"", "website/index.md"},
		"docs":                        {"", "docs"},
		"":                            {"", ""},
		"website/website/docs/a.html": {"website/website/docs/", "a.html"},
	} {
		if root, rest := DocsRoot(name); [2]string{root, rest} != want {
			t.Errorf("%q: got %q and %q; want %q", name, root, rest, want)
		}
	}
}
