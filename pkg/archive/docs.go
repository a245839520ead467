package archive

import (
	"context"
	"io"
	"path"
	"strings"
)

// Docs describes an accepted zip with the documentation of a provider.
type Docs struct {
	Files    int   // how many files it holds
	Expanded int64 // bytes of all files together
}

// CheckDocs checks a zip with the documentation of a provider. The error is [Violations] if
// the zip breaks a rule. Any other error comes from r or ctx, and the check can be tried
// again.
func CheckDocs(ctx context.Context, r io.ReaderAt, size int64) (Docs, error) {
	rules := moduleRules()
	rules.dotSlash = false // zips have none
	return checkDocs(inspect(ctx, r, size, rules))
}

func checkDocs(in *inspection) (Docs, error) {
	in.checkZip()
	if err := in.verdict(); err != nil {
		return Docs{}, err
	}
	if !in.hasPages() {
		in.violate("The zip holds no documentation: no file in docs/ or website/docs/ ends in .md or .markdown.")
		return Docs{}, in.verdict()
	}
	return Docs{Files: len(in.files), Expanded: in.expanded}, nil
}

func (in *inspection) hasPages() bool {
	for _, f := range in.files {
		if root, name := DocsRoot(f.name); root != "" && IsPage(name) {
			return true
		}
	}
	return false
}

// DocsRoot splits the name of a file after the folder of documentation in which it lies:
// docs/ or website/docs/, also below one folder around everything. root ends in a slash; it
// is "" if the file lies in no such folder.
func DocsRoot(name string) (root, rest string) {
	wrapper, inside := "", name
	for range 2 {
		for _, root := range []string{"website/docs/", "docs/"} {
			if rest, ok := strings.CutPrefix(inside, root); ok {
				return wrapper + root, rest
			}
		}
		first, rest, found := strings.Cut(inside, "/")
		if !found {
			break
		}
		wrapper, inside = wrapper+first+"/", rest
	}
	return "", name
}

// IsPage reports whether a file of this name is a page of documentation: Markdown.
func IsPage(name string) bool {
	base := path.Base(name)
	return !strings.HasPrefix(base, ".") && (strings.HasSuffix(base, ".md") || strings.HasSuffix(base, ".markdown"))
}
