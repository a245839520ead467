package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// room is a package whose code is mutated.
type room struct {
	ImportPath, Dir, Name string
	GoFiles               []string

	mutants []mutant
	broken  map[int]bool // these do not compile
	files   map[string]changes
	overlay string
}

// changes are a file, and the edits that make all its mutants.
type changes struct {
	source []byte
	edits  []edit
}

// open finds the mutants of a package.
func (b *bench) open(ctx context.Context, name string) (*room, error) {
	out, err := b.goCommand(ctx, "list", "-json=ImportPath,Dir,Name,GoFiles", "./"+filepath.ToSlash(filepath.Clean(name)))
	if err != nil {
		return nil, err
	}
	r := &room{broken: map[int]bool{}, files: map[string]changes{}}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, file := range r.GoFiles {
		source, err := os.ReadFile(filepath.Join(r.Dir, file))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, tree)
		r.files[file] = changes{source: source}
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}}
	lookup, err := b.exports(ctx, r.ImportPath)
	if err != nil {
		return nil, err
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	if _, err := config.Check(r.ImportPath, fset, parsed, info); err != nil {
		return nil, err
	}
	f := &finder{fset: fset, info: info}
	for i, file := range r.GoFiles {
		source := r.files[file].source
		r.files[file] = changes{source, f.find(file, source, parsed[i])}
	}
	r.mutants = f.mutants
	return r, nil
}

// exports is the compiler's files with the exports of a package's imports.
func (b *bench) exports(ctx context.Context, of string) (importer.Lookup, error) {
	out, err := b.goCommand(ctx, "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", of)
	if err != nil {
		return nil, err
	}
	where := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		where[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(where[path]) }, nil
}

// helper is a function whose name no package has. A file without it has no mutants.
const helper = "larderMutant"

const (
	activeVariable  = "LARDER_MUTANT"
	reachedVariable = "LARDER_MUTANTS_REACHED"
)

const helperFile = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	larderMutantActive, _ = strconv.Atoi(os.Getenv("` + activeVariable + `"))
	larderMutantFile      = larderMutantOpen()
	larderMutantSeen      [%d]atomic.Bool
)

func larderMutantOpen() *os.File {
	if name := os.Getenv("` + reachedVariable + `"); name != "" {
		if file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			return file
		}
	}
	return nil
}

func larderMutant(n int) bool {
	if larderMutantFile != nil && !larderMutantSeen[n].Swap(true) {
		larderMutantFile.WriteString(strconv.Itoa(n) + "\n")
	}
	return n == larderMutantActive
}

func larderMutantEntry(n int, text string) string {
	if larderMutant(n) {
		return text + "~"
	}
	return text
}
`

// writeOverlay writes the changed files, and the list of them for the compiler.
func (r *room) writeOverlay(scratch string) error {
	replace := map[string]string{}
	write := func(name string, data []byte) error {
		file := filepath.Join(scratch, name)
		replace[filepath.Join(r.Dir, name)] = file
		return os.WriteFile(file, data, 0o600)
	}
	for name, file := range r.files {
		if err := write(name, apply(file.source, file.edits, r.broken)); err != nil {
			return err
		}
	}
	if err := write("larder_mutant.go", fmt.Appendf(nil, helperFile, r.Name, len(r.mutants)+1)); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	r.overlay = filepath.Join(scratch, "overlay.json")
	return os.WriteFile(r.overlay, data, 0o600)
}

var compileError = regexp.MustCompile(`(?m)^(?:\S*/)?([^/\s]+\.go):(\d+):`)

// compile makes sure that the room builds with its mutants. It leaves out mutants that do not
// build.
func (b *bench) compile(ctx context.Context, r *room) error {
	for {
		if err := r.writeOverlay(b.scratch); err != nil {
			return err
		}
		_, err := b.goCommand(ctx, "build", "-gcflags=-e", "-overlay", r.overlay, r.ImportPath)
		if err == nil {
			return nil
		}
		before := len(r.broken)
		for _, found := range compileError.FindAllStringSubmatch(err.Error(), -1) {
			line, _ := strconv.Atoi(found[2])
			for _, m := range r.mutants {
				if m.file == found[1] && m.line <= line && line <= m.lastLine {
					r.broken[m.id] = true
				}
			}
		}
		if len(r.broken) == before {
			return fmt.Errorf("it does not build with its mutants: %w", err)
		}
	}
}

// goCommand runs the go command in the module.
func (b *bench) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := command(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.module, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("go %s: %w", args[0], err), errors.New(stderr.String()))
	}
	return stdout.Bytes(), nil
}
