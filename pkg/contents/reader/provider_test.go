package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/contents"
)

const page = "---\npage_title: \"A title\"\nsubcategory: 'Sub'\ndescription: |-\n  Two\n  lines.\nlayout: x\n---\n\n# Heading\n\nText.\n"

func TestProviderPages(t *testing.T) {
	p, texts := readPages(t, files{
		"docs/index.md": "# The provider ##\n", "docs/resources/widget.md": page, "docs/data-sources/widget.html.markdown": "no heading",
		"docs/guides/start.html.md": "```\n# no heading\n```\n## Start\n", "docs/functions/f.markdown": "", "docs/ephemeral-resources/e.md": "e",
		"docs/actions/a.md": "a", "docs/list-resources/l.md": "l", "docs/state-stores/s.md": "s",
		"docs/cdktf/python/resources/widget.md": "no", "docs/images/x.md": "no", "docs/resources/x.png": "no", "docs/other.md": "no", "README.md": "no",
		"docs/resources/deep/x.md": "no",
	})
	wantJSON(t, p, `{
		"pages": [
			{"category": "actions", "slug": "a", "title": "a", "path": "docs/actions/a.md", "offset": 0, "length": 1},
			{"category": "data-sources", "slug": "widget", "title": "widget", "path": "docs/data-sources/widget.html.markdown", "offset": 1, "length": 10},
			{"category": "ephemeral-resources", "slug": "e", "title": "e", "path": "docs/ephemeral-resources/e.md", "offset": 11, "length": 1},
			{"category": "functions", "slug": "f", "title": "f", "path": "docs/functions/f.markdown", "offset": 12, "length": 0},
			{"category": "guides", "slug": "start", "title": "Start", "path": "docs/guides/start.html.md", "offset": 12, "length": 30},
			{"category": "list-resources", "slug": "l", "title": "l", "path": "docs/list-resources/l.md", "offset": 60, "length": 1},
			{"category": "overview", "slug": "index", "title": "The provider", "path": "docs/index.md", "offset": 42, "length": 18},
			{"category": "resources", "slug": "widget", "title": "A title", "subcategory": "Sub", "description": "Two lines.", "path": "docs/resources/widget.md", "offset": 61, "length": 17},
			{"category": "state-stores", "slug": "s", "title": "s", "path": "docs/state-stores/s.md", "offset": 78, "length": 1}
		],
		"problems": ["docs/resources/deep/x.md: The page is not shown: it lies too deep."]
	}`)
	if widget := p.Pages[7]; texts[widget.Offset:widget.Offset+widget.Length] != "# Heading\n\nText.\n" {
		t.Errorf("the texts are %q", texts)
	}
}

func TestLegacyPages(t *testing.T) {
	p, _ := readPages(t, files{
		"website/docs/index.html.markdown": "# W", "website/docs/r/widget.html.markdown": "# r", "website/docs/d/widget.html.md": "# d",
		"website/docs/guides/g.md": "# g", "website/docs/functions/f.html.markdown": "# f", "website/docs/ephemeral-resources/e.html.markdown": "# e",
		"website/docs/cdktf/r/widget.html.markdown": "no", "website/widget.erb": "no",
		"docs/index.md": "other", "docs/resources/only.md": "other",
	})
	var names []string
	for _, page := range p.Pages {
		names = append(names, string(page.Category)+" "+page.Slug+" "+page.Title)
	}
	want := []string{"data-sources widget d", "ephemeral-resources e e", "functions f f", "guides g g", "overview index W", "resources widget r"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("got %q; want %q", names, want)
	}
	if want := []string{"The pages in docs/ are not shown: there are pages in website/docs/, too."}; !reflect.DeepEqual(p.Problems, want) {
		t.Errorf("problems are %q; want %q", p.Problems, want)
	}
}

func TestRoots(t *testing.T) {
	for _, test := range []struct {
		files files
		want  string // the path of the only page
	}{
		{files{"docs/index.md": "x"}, "docs/index.md"},
		{files{"w/docs/index.md": "x"}, "w/docs/index.md"},
		{files{"w/website/docs/index.md": "x", "docs/index.md": "x"}, "w/website/docs/index.md"},
		{files{"b/docs/index.md": "x", "docs/index.md": "x"}, "docs/index.md"},
		{files{"b/docs/index.md": "x", "a/docs/index.md": "x"}, "a/docs/index.md"},
		{files{"website/docs/x.erb": "x", "docs/index.md": "x"}, "docs/index.md"},
	} {
		p, _ := readPages(t, test.files)
		if len(p.Pages) != 1 || p.Pages[0].Path != test.want {
			t.Errorf("%q: got %+v; want %s", test.files.names(), p.Pages, test.want)
		}
	}
	if p, _ := readPages(t, files{"README.md": "x"}); len(p.Pages)+len(p.Problems) > 0 {
		t.Errorf("no pages: got %+v", p)
	}
}

func TestDuplicatePages(t *testing.T) {
	p, _ := readPages(t, files{"docs/resources/x.md": "first", "docs/r/x.md": "second", "docs/r/x.html.md": "third"})
	if len(p.Pages) != 1 || p.Pages[0].Path != "docs/r/x.html.md" || len(p.Problems) != 2 ||
		p.Problems[0] != "docs/r/x.md: The page is not shown: docs/r/x.html.md has the same name." {
		t.Errorf("got %+v", p)
	}
}

func TestFrontMatter(t *testing.T) {
	title := func(text string) matter { return matter{PageTitle: text} }
	var bomb strings.Builder
	bomb.WriteString("---\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 20 {
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i)
	}
	bomb.WriteString("page_title: T\ndescription: *a20\n---\ntext")
	for _, test := range []struct {
		rule, text string
		matter     matter
		markdown   string
		problem    string // how it begins
	}{
		{"none", "text", matter{}, "text", ""},
		{"nothing", "", matter{}, "", ""},
		{"empty", "---\n---\ntext", matter{}, "text", ""},
		{"after empty lines", "\n\n---\npage_title: T\n---\n\n\ntext\n", title("T"), "text\n", ""},
		{"at the end", "---\npage_title: T\n---", title("T"), "", ""},
		{"spaces behind the end", "---\npage_title: T\n---  \ntext", title("T"), "text", ""},
		{"a number", "---\npage_title: 5\n---\n", title("5"), "", ""},
		{"a longer line", "---\npage_title: T\n----\n---\ntext", title("T"), "text", "The front matter is not valid: "},
		{"no end", "---\npage_title: T\n", matter{}, "---\npage_title: T\n", "The page begins as front matter does, and that does not end."},
		{"a rule", "text\n---\nmore", matter{}, "text\n---\nmore", ""},
		{"no YAML", "---\n\tx: [\n---\ntext", matter{}, "text", "The front matter is not valid: "},
		{"a description that is not indented", "---\nsubcategory: \"S\"\npage_title: T: t\ndescription: |-\nThe text.\nIt goes on.\n---\ntext", matter{PageTitle: "T: t", Subcategory: "S"}, "text", "The front matter is not valid: "},
		{"a description with a colon", "---\nsubcategory: 'S'\ndescription: Note: this\npage_title: \n---\ntext", matter{Subcategory: "S", Description: "Note: this"}, "text", "The front matter is not valid: "},
		{"a half quote", "---\nsubcategory: \"S\npage_title: \"\n x: y\n---\ntext", matter{}, "text", "The front matter is not valid: "},
		{"a list", "---\npage_title: [a]\nsubcategory: S\n---\ntext", matter{Subcategory: "S"}, "text", "The front matter is not valid: "},
		{"another document", "---\n- a\n---\ntext", matter{}, "text", "The front matter is not valid: "},
		{"too long", "---\npage_title: " + strings.Repeat("x", maxFrontMatter) + "\n---\ntext", matter{}, "text", "The front matter is longer than 64 KiB, and is not read."},
		{"nested", "---\nx: " + strings.Repeat("[", 60_000) + "\n---\ntext", matter{}, "text", "The front matter is not valid: "},
		{"a bomb", bomb.String(), title("T"), "text", "The front matter is not valid: "},
	} {
		t.Run(test.rule, func(t *testing.T) {
			m, markdown, problem := frontMatter(test.text)
			if m != test.matter || markdown != test.markdown || !strings.HasPrefix(problem, test.problem) || (problem == "") != (test.problem == "") {
				t.Errorf("got %+.100v, %.100q, %q; want %+v, %q, %q", m, markdown, problem, test.matter, test.markdown, test.problem)
			}
		})
	}
}

func TestFirstHeading(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "text": "", "# A\n# B": "A", "text\n## A b ##\n": "A b", "#A\n# B": "B", "#\n": "", "####### A": "", "~~~\n# A\n~~~\n# B": "B", "  # A": "A",
		`# google\_sql\_user`: "google_sql_user", "# `a_b`": "a_b", "# The `a\\_b` of \\*": `The a\_b of *`, `# C:\dir`: `C:\dir`, "# `": "`",
	} {
		if got := firstHeading(text); got != want {
			t.Errorf("%q: got %q; want %q", text, got, want)
		}
	}
}

func TestPageLimits(t *testing.T) {
	long := strings.Repeat("x", contents.MaxPage)
	p, _ := readPages(t, files{"docs/resources/a.md": long, "docs/resources/b.md": long + "y", "docs/resources/c.md": "---\npage_title: " + strings.Repeat("t", 2000) + "\n---\n\xff\x00\r\n"})
	if len(p.Pages) != 3 || p.Pages[0].Length != contents.MaxPage || p.Pages[1].Length != contents.MaxPage || len(p.Pages[2].Title) > maxMatter+3 ||
		!reflect.DeepEqual(p.Problems, []string{"docs/resources/b.md: The page is longer than 500,000 bytes; the rest of it is left out."}) {
		t.Errorf("problems are %q", p.Problems)
	}

	many := files{}
	for i := range contents.MaxPages + 1 {
		many[fmt.Sprintf("docs/resources/%04d.md", i)] = "x"
	}
	p, _ = readPages(t, many)
	if len(p.Pages) != contents.MaxPages || !reflect.DeepEqual(p.Problems, []string{"There are more than 2000 pages; those beyond are left out."}) {
		t.Errorf("%d pages, problems are %q", len(p.Pages), p.Problems)
	}

	much := files{}
	for i := range contents.MaxTexts/contents.MaxPage + 2 {
		much[fmt.Sprintf("docs/resources/%04d.md", i)] = long
	}
	p, texts := readPages(t, much)
	if len(p.Pages) != contents.MaxTexts/contents.MaxPage || len(texts) > contents.MaxTexts || !reflect.DeepEqual(p.Problems, []string{"The pages have more than 64 MiB together; those beyond are left out."}) {
		t.Errorf("%d pages, problems are %q", len(p.Pages), p.Problems)
	}
}

// failingWriter fails in its n-th call.
type failingWriter struct{ n int }

var errFull = errors.New("the disk is full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.n--; w.n == 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestTextsFail(t *testing.T) {
	data := files{"docs/resources/a.md": "a", "docs/resources/b.md": "b"}.zip(t)
	for n, want := range []error{nil, errFull, errFull, nil} {
		if _, err := ReadProvider(context.Background(), bytes.NewReader(data), int64(len(data)), &failingWriter{n}); !errors.Is(err, want) {
			t.Errorf("write %d fails: got %v; want %v", n, err, want)
		}
	}
}

func TestDamagedDocs(t *testing.T) {
	data := files{"docs/resources/a.md": strings.Repeat("abcdef", 1000)}.zip(t)
	damaged := bytes.Clone(data)
	damaged[60] ^= 0xff // in the text
	for _, data := range [][]byte{nil, []byte("no zip"), data[:len(data)-10], damaged} {
		p, err := ReadProvider(context.Background(), bytes.NewReader(data), int64(len(data)), io.Discard)
		if err != nil || len(p.Pages) > 0 || len(p.Problems) == 0 || !strings.HasPrefix(p.Problems[0], "The archive could not be read to its end: ") {
			t.Errorf("got %+v, %v", p, err)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add(page)
	f.Add("---\na: &a [*a]\npage_title: !!binary x\n---\n# x")
	f.Fuzz(func(t *testing.T, text string) {
		text = contents.Clean(text)
		_, markdown, _ := frontMatter(text)
		if !strings.HasSuffix(text, markdown) {
			t.Errorf("%q has the Markdown %q", text, markdown)
		}
		readPages(t, files{"docs/index.md": text})
	})
}
