package reader

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// ReadProvider reads a zip of a provider's documentation that [archive.CheckDocs] has
// accepted. It writes the Markdown of the pages to texts, one after the other. The error is
// that of texts.
func ReadProvider(ctx context.Context, file io.ReaderAt, size int64, texts io.Writer) (contents.Provider, error) {
	d := &docs{texts: texts, seen: map[pageName]string{}}
	err := d.chooseRoot(ctx, file, size)
	if err == nil {
		err = archive.Walk(ctx, file, size, archive.Zip, d.visit)
	}
	if d.failed != nil {
		return contents.Provider{}, d.failed
	}
	d.problems = archiveProblems(d.problems, err)
	slices.SortFunc(d.pages, func(a, b contents.Page) int {
		return cmp.Or(strings.Compare(string(a.Category), string(b.Category)), strings.Compare(a.Slug, b.Slug))
	})
	return contents.Provider{Pages: d.pages, Problems: d.problems}, nil
}

// docs is what is read of a provider's documentation.
type docs struct {
	root     string // the folder of documentation
	texts    io.Writer
	failed   error // of texts
	written  int64
	seen     map[pageName]string // where each page comes from
	pages    []contents.Page
	problems []string
}

type pageName struct {
	category contents.Category
	slug     string
}

func (d *docs) problem(sentence string) { d.problems = contents.AddProblem(d.problems, sentence) }

// legacyRoot is the older of the two layouts. Where both are there, OpenTofu's registry shows
// this one, and so do we: nobody is to see other pages here than there.
const legacyRoot = "website/docs/"

// chooseRoot looks which folders of documentation have pages, and chooses one.
func (d *docs) chooseRoot(ctx context.Context, file io.ReaderAt, size int64) error {
	roots := map[string]bool{}
	err := archive.Walk(ctx, file, size, archive.Zip, func(f archive.File) error {
		if root, rest := archive.DocsRoot(f.Name); root != "" && archive.IsPage(rest) {
			roots[root] = true
		}
		return nil
	})
	all := make([]string, 0, len(roots))
	for root := range roots {
		all = append(all, root)
	}
	slices.SortFunc(all, func(a, b string) int {
		if legacy := strings.HasSuffix(a, legacyRoot); legacy != strings.HasSuffix(b, legacyRoot) {
			if legacy {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	if len(all) > 0 {
		d.root = all[0]
	}
	for _, other := range all[min(1, len(all)):] {
		d.problem(fmt.Sprintf("The pages in %s are not shown: there are pages in %s, too.", contents.Clean(other), contents.Clean(d.root)))
	}
	return err
}

// visit reads a file if it is a page.
func (d *docs) visit(f archive.File) error {
	root, rest := archive.DocsRoot(f.Name)
	if root != d.root || !archive.IsPage(rest) {
		return nil
	}
	name, ok := d.pageName(f.Name, rest)
	if !ok {
		return nil
	}
	if first, found := d.seen[name]; found {
		d.problem(at(f.Name, 0) + "The page is not shown: " + contents.Clean(first) + " has the same name.")
		return nil
	}
	if len(d.pages) == contents.MaxPages {
		d.problem(fmt.Sprintf("There are more than %d pages; those beyond are left out.", contents.MaxPages))
		return fs.SkipAll
	}
	data, err := io.ReadAll(io.LimitReader(f.Content, contents.MaxPage+1))
	if err != nil {
		return err
	}
	if len(data) > contents.MaxPage {
		d.problem(at(f.Name, 0) + "The page is longer than 500,000 bytes; the rest of it is left out.")
	}
	text, _ := contents.Cut(contents.Clean(string(data)), contents.MaxPage)
	d.seen[name] = f.Name
	return d.add(f.Name, name, text)
}

// add writes a page to the texts.
func (d *docs) add(file string, name pageName, text string) error {
	matter, text, problem := frontMatter(text)
	if problem != "" {
		d.problem(at(file, 0) + problem)
	}
	if d.written+int64(len(text)) > contents.MaxTexts {
		d.problem("The pages have more than 64 MiB together; those beyond are left out.")
		return nil
	}
	if _, err := io.WriteString(d.texts, text); err != nil {
		d.failed = err
		return err
	}
	d.pages = append(d.pages, contents.Page{
		Category: name.category, Slug: name.slug,
		Title:       short(cmp.Or(matter.PageTitle, firstHeading(text), name.slug)),
		Subcategory: short(matter.Subcategory),
		Description: short(matter.Description),
		Path:        contents.Clean(file), Offset: d.written, Length: int64(len(text)),
	})
	d.written += int64(len(text))
	return nil
}

// maxMatter is the longest title, subcategory or description of a page, in bytes.
const maxMatter = 1 << 10

// short makes a text of front matter one line.
func short(text string) string {
	text = strings.Join(strings.Fields(contents.Clean(text)), " ")
	if cut, was := contents.Cut(text, maxMatter); was {
		return cut + "…"
	}
	return text
}

// categories are the folders of pages, of both layouts. Some providers have the folders of
// one in the root of the other.
var categories = map[string]contents.Category{
	"guides":              contents.Guides,
	"resources":           contents.Resources,
	"r":                   contents.Resources,
	"data-sources":        contents.DataSources,
	"d":                   contents.DataSources,
	"functions":           contents.Functions,
	"ephemeral-resources": contents.EphemeralResources,
	"actions":             contents.Actions,
	"list-resources":      contents.ListResources,
	"state-stores":        contents.StateStores,
}

// overviewSlug is the slug of the overview.
const overviewSlug = "index"

// pageName says which page a file is. Pages in other languages, in cdktf/, and files in other
// folders are none.
func (d *docs) pageName(file, rest string) (pageName, bool) {
	dir, base := path.Split(rest)
	slug := base
	for _, extension := range []string{".md", ".markdown", ".html"} {
		slug = strings.TrimSuffix(slug, extension)
	}
	top, deeper, _ := strings.Cut(strings.TrimSuffix(dir, "/"), "/")
	category, known := categories[top]
	switch {
	case dir == "" && slug == overviewSlug:
		return pageName{contents.Overview, slug}, true
	case !known || slug == "":
		return pageName{}, false
	case deeper != "":
		d.problem(at(file, 0) + "The page is not shown: it lies too deep.")
		return pageName{}, false
	}
	return pageName{category, slug}, true
}
