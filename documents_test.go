package larder_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinksLeadSomewhere holds that links from one document to another lead to a file
// that is there, and to a heading of it.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	for _, document := range files(t, ".md") {
		for _, found := range link.FindAllStringSubmatch(strings.Join(prose(t, document), "\n"), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			file, heading, _ := strings.Cut(found[1], "#")
			to := document
			if file != "" {
				to = path.Join(path.Dir(document), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", document, found[1])
			} else if heading != "" && !slices.Contains(anchors(t, to), heading) {
				t.Errorf("%s: %s has no such heading", document, found[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links are found, want all of them", links)
	}
}

// TestContributingIsTrue holds that CONTRIBUTING.md names every room, and that all files,
// folders and tests that it names are there.
func TestContributingIsTrue(t *testing.T) {
	const document = "CONTRIBUTING.md"
	text := strings.Join(prose(t, document), "\n")
	for room := range mayImport {
		if strings.Count(room, "/") < 2 && !strings.Contains(text, "`"+room+"`") && !strings.Contains(text, "`"+room+"/") {
			t.Errorf("%s does not name %s", document, room)
		}
	}
	sources, tests := files(t, ".go"), testNames(t)
	var names []string
	for _, file := range sources {
		names = append(names, path.Base(file))
	}
	top := regexp.MustCompile(`^(pkg|cmd|internal|functions|e2e|events|tools|docs|infra|scripts)/[\w./-]+$`)
	for _, found := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		switch name := found[1]; {
		case top.MatchString(name):
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s names %s, which is not there", document, name)
			}
		case regexp.MustCompile(`^[\w./-]+\.go$`).MatchString(name):
			if !slices.Contains(names, path.Base(name)) {
				t.Errorf("%s names %s, and no file is called so", document, name)
			}
		case regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w+$`).MatchString(name):
			if !slices.Contains(tests, name) {
				t.Errorf("%s names %s, and no test is called so", document, name)
			}
		}
	}
}

// prose is the lines of a document without those that are to copy.
func prose(t *testing.T, document string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	code := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
		case !code:
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// anchors are the headings of a document, as links name them.
func anchors(t *testing.T, document string) (names []string) {
	t.Helper()
	for _, line := range prose(t, document) {
		heading, title, found := strings.Cut(line, " ")
		if !found || strings.Trim(heading, "#") != "" || heading == "" {
			continue
		}
		names = append(names, strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
				return unicode.ToLower(c)
			default:
				return -1
			}
		}, title))
	}
	return names
}

// testNames are the names of all tests and fuzz targets.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, file := range files(t, "_test.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// files are the files of the repository whose names end so.
func files(t *testing.T, ending string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "build") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(name, ending) {
			found = append(found, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
