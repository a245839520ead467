// Package reader reads what archives say of themselves, and executes nothing. What cannot be
// read is among the problems of the document, and everything else is still read.
//
// The configuration of a module is read with HashiCorp's terraform-config-inspect. It knows
// neither OpenTofu's files nor the newest language, and it panics over some configuration. So
// this package chooses the files, parses them once, shows the library only what it can take
// (see [guarded]), and reads the rest by itself.
//
// The libraries may still panic, loop or take much memory: package subprocess runs this one
// in a process of its own.
package reader

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// Limits of what is read from a module.
const (
	maxFile     = 1 << 20  // bytes of a file of configuration
	maxFiles    = 5000     // of configuration
	maxBytes    = 16 << 20 // of all files of configuration
	maxReadmes  = 64 << 20 // bytes of all READMEs, of which few are kept
	maxMessages = 3        // problems of one file
)

// ReadModule reads the archive of a module that [archive.CheckModule] has accepted.
func ReadModule(ctx context.Context, file io.ReaderAt, size int64, format archive.Format) contents.Module {
	t := collect(ctx, file, size, format, true)
	return t.module()
}

// ReadReadmes reads only the READMEs of the root and of folders with configuration.
func ReadReadmes(ctx context.Context, file io.ReaderAt, size int64, format archive.Format) contents.Module {
	t := collect(ctx, file, size, format, false)
	return t.module()
}

// A tree is what is read of the files of a module.
type tree struct {
	folders  map[string]*folder // by their paths
	files    int
	bytes    int
	readmes  int
	problems []string
}

// A folder is one that may be a part of a module.
type folder struct {
	path   string
	config map[string][]byte // by the names of the files; nil if it is not to be parsed
	readme readme
}

// readme is the best README of a folder so far.
type readme struct {
	name string
	rank int
	text string
}

func (t *tree) problem(sentence string) { t.problems = contents.AddProblem(t.problems, sentence) }

// collect reads the files that say something. Without content, it only looks which files of
// configuration there are.
func collect(ctx context.Context, file io.ReaderAt, size int64, format archive.Format, content bool) *tree {
	t := &tree{folders: map[string]*folder{"": {config: map[string][]byte{}}}}
	err := archive.Walk(ctx, file, size, format, func(f archive.File) error {
		dir, base := path.Split(f.Name)
		dir = strings.TrimSuffix(dir, "/")
		switch {
		case !isPart(dir):
			return nil
		case readmeRank(base) > 0:
			return t.addReadme(t.folder(dir), base, f)
		case isConfiguration(base):
			return t.addConfiguration(t.folder(dir), base, f, content)
		default:
			return nil
		}
	})
	t.problems = archiveProblems(t.problems, err)
	return t
}

// archiveProblems says what was wrong with an archive.
func archiveProblems(problems []string, err error) []string {
	const sentence = "The archive could not be read to its end: "
	if violations, ok := errors.AsType[archive.Violations](err); ok {
		for _, v := range violations {
			problems = contents.AddProblem(problems, sentence+contents.Clean(v))
		}
	} else if err != nil {
		problems = contents.AddProblem(problems, sentence+contents.Clean(err.Error())+".")
	}
	return problems
}

// The folders with submodules and with examples.
const (
	modulesFolder  = "modules"
	examplesFolder = "examples"
)

// isPart says whether a folder is the root, or may be a submodule or an example. Examples and
// tests of submodules are neither, nor is what is hidden.
func isPart(dir string) bool {
	if dir == "" {
		return true
	}
	top, rest, _ := strings.Cut(dir, "/")
	if rest == "" || top != modulesFolder && top != examplesFolder {
		return false
	}
	for segment := range strings.SplitSeq(rest, "/") {
		switch {
		case strings.HasPrefix(segment, "."), segment == "test", segment == "tests", segment == examplesFolder:
			return false
		case segment == modulesFolder && top == examplesFolder:
			return false
		}
	}
	return true
}

// readmeRank is how good a README is by its name, the best is 4; 0 is none.
func readmeRank(base string) int {
	names := []string{"readme", "readme.txt", "readme.markdown", "readme.md"}
	return 1 + slices.Index(names, strings.ToLower(base))
}

// isConfiguration reports whether Terraform or OpenTofu reads a file of this name.
func isConfiguration(base string) bool {
	if strings.HasPrefix(base, ".") || strings.HasSuffix(base, "~") || strings.HasPrefix(base, "#") && strings.HasSuffix(base, "#") {
		return false
	}
	_, extension := splitName(base)
	return extension != ""
}

// splitName parts the extension of a file of configuration from its name. It is "" for
// other files.
func splitName(base string) (name, extension string) {
	for _, extension := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
		if name, ok := strings.CutSuffix(base, extension); ok {
			return name, extension
		}
	}
	return base, ""
}

func (t *tree) folder(dir string) *folder {
	f := t.folders[dir]
	if f == nil {
		f = &folder{path: dir, config: map[string][]byte{}}
		t.folders[dir] = f
	}
	return f
}

// addReadme keeps a README if it is the best one of its folder.
func (t *tree) addReadme(to *folder, base string, f archive.File) error {
	rank := readmeRank(base)
	if rank <= to.readme.rank {
		return nil
	}
	if t.readmes > maxReadmes {
		t.problem("The READMEs have more than 64 MiB together; those beyond are not read.")
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f.Content, contents.MaxReadme+1))
	if err != nil {
		return err
	}
	t.readmes += len(data)
	to.readme = readme{name: base, rank: rank, text: string(data)}
	return nil
}

// addConfiguration keeps a file of configuration, within the limits.
func (t *tree) addConfiguration(to *folder, base string, f archive.File, content bool) error {
	switch {
	case t.files == maxFiles:
		t.problem("The module has more than 5000 files of configuration; those beyond are not read.")
		return nil
	case !content:
		to.config[base] = nil
		t.files++
		return nil
	case f.Size > maxFile:
		t.problem(at(f.Name, 0) + "The file is larger than 1 MiB, and is not read.")
		return nil
	case t.bytes+int(f.Size) > maxBytes:
		t.problem("The files of configuration have more than 16 MiB together; those beyond are not read.")
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f.Content, maxFile))
	if err != nil {
		return err
	}
	to.config[base] = data
	t.files++
	t.bytes += len(data)
	return nil
}

// module makes the document of what was collected.
func (t *tree) module() contents.Module {
	var m contents.Module
	m.Root = t.part(t.folders[""])
	m.Submodules = t.parts(modulesFolder, "submodules")
	m.Examples = t.parts(examplesFolder, "examples")
	m.Problems = t.problems
	return m
}

// parts are the folders with configuration below a top folder.
func (t *tree) parts(top, what string) (parts []contents.Part) {
	var paths []string
	for dir, f := range t.folders {
		if strings.HasPrefix(dir, top+"/") && len(f.config) > 0 {
			paths = append(paths, dir)
		}
	}
	slices.Sort(paths)
	if len(paths) > contents.MaxParts {
		t.problem("The module has more than 100 " + what + "; those beyond are left out.")
		paths = paths[:contents.MaxParts]
	}
	for _, dir := range paths {
		parts = append(parts, t.part(t.folders[dir]))
	}
	return parts
}

// part makes the document of one folder.
func (t *tree) part(f *folder) contents.Part {
	p := contents.Part{Path: f.path, Empty: len(f.config) == 0}
	if f.path != "" {
		p.Name = path.Base(f.path)
	}
	var cut bool
	if p.Readme, cut = contents.Cut(contents.Clean(f.readme.text), contents.MaxReadme); cut || len(f.readme.text) > contents.MaxReadme {
		t.problem(at(path.Join(f.path, f.readme.name), 0) + "The file is longer than 256 KiB; the rest of it is left out.")
	}
	c := newConfiguration(f.path, t.problem)
	for _, name := range readingOrder(f.config) {
		c.load(name, f.config[name])
	}
	c.fill(&p)
	return p
}

// readingOrder are the names of files in the order in which clients read them: those that
// override others are last. OpenTofu reads x.tofu instead of x.tf.
func readingOrder(config map[string][]byte) (names []string) {
	for base, data := range config {
		name, extension := splitName(base)
		_, shadowed := config[name+strings.Replace(extension, ".tf", ".tofu", 1)]
		if data != nil && !(shadowed && strings.HasPrefix(extension, ".tf")) {
			names = append(names, base)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if over := isOverride(a); over != isOverride(b) {
			if over {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return names
}

func isOverride(base string) bool {
	name, _ := splitName(base)
	return name == "override" || strings.HasSuffix(name, "_override")
}
