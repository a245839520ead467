package larder_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// madeIn says which packages may make the parts of the registry that both doors have. So
// each is put together in one place, which both doors call, and has there all that it can.
var madeIn = map[string][]string{
	"pkg/protocol.New":         {"internal/assembly/clients"},
	"pkg/catalog.NewReader":    {"internal/assembly/clients"},
	"pkg/browse.New":           {"internal/assembly/clients"},
	"pkg/mcpserver.New":        {"internal/assembly/assistants"},
	"pkg/access/admin.New":     {"internal/assembly/tokens"},
	"pkg/identity.NewVerifier": {"internal/assembly/tokens"},
	"pkg/login.New":            {"internal/assembly/tokens"},
	"pkg/login.NewSTS":         {"internal/assembly/tokens"},
	"pkg/pullthrough.New":      {"internal/assembly/fetching"},
	"pkg/upstream.New":         {"internal/assembly/fetching", "cmd/larder"}, // which mirrors by hand
	"pkg/control.New":          {"internal/assembly/publishing"},
	"pkg/inbox.New":            {"internal/assembly/publishing", "cmd/larder", "internal/node/backup"}, // beside a node
	"pkg/versionlog.New":       {"internal/assembly/publishing"},
	"pkg/authorkeys.New":       {"internal/assembly/publishing"},
	"pkg/publish.New":          {"internal/assembly/publishing"},
	"pkg/upkeep.New":           {"internal/assembly/publishing"},
	"pkg/signing.NewKey":       {"internal/assembly/ownkey"},
	"pkg/blob/s3blob.New":      {"bench", "functions/internal/bucket", "internal/node/locals3"}, // each door has its own, and so has what is measured
}

// TestBothDoorsUseTheAssembly holds that what both doors have is made by nobody else, and
// that nothing is in the assembly which only one of them has.
func TestBothDoorsUseTheAssembly(t *testing.T) {
	made, users := map[string][]string{}, map[string]string{}
	for _, pkg := range ours(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		if strings.HasPrefix(name, "pkg/") || slices.Contains(pkg.Imports, "testing") {
			continue
		}
		for _, imported := range pkg.Imports {
			if own := strings.TrimPrefix(imported, module); strings.HasPrefix(own, "internal/assembly/") {
				users[own] += name + "\n"
			}
		}
		for _, call := range calls(t, name) {
			if madeIn[call] != nil && !slices.Contains(made[call], name) {
				made[call] = append(made[call], name)
			}
		}
	}
	for what, want := range madeIn {
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(made[what])); !slices.Equal(got, want) {
			t.Errorf("%s is called in %q, want %q", what, got, want)
		}
	}
	if len(users) == 0 {
		t.Error("nobody imports the assembly")
	}
	for room, names := range users {
		if !strings.Contains(names, "functions/") || !strings.Contains(names, "internal/node/") {
			t.Errorf("%s is for both doors, and is imported by %q alone", room, names)
		}
	}
}

// calls is which functions of our other packages the code of a package names, as
// "pkg/signing.NewKey".
func calls(t *testing.T, folder string) (named []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imported := imports(t, parsed)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := selector.X.(*ast.Ident); ok && imported[of.Name] != "" {
					named = append(named, imported[of.Name]+"."+selector.Sel.Name)
				}
			}
			return true
		})
	}
	return named
}

// imports is our packages that a file imports, by the names that it has for them.
func imports(t *testing.T, file *ast.File) map[string]string {
	t.Helper()
	named := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		own, ok := strings.CutPrefix(imported, module)
		if !ok {
			continue
		}
		name := path.Base(own)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		named[name] = own
	}
	return named
}
