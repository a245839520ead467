package templatetest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var renew = flag.Bool("renew", false, "write the tables of infra/README.md anew")

const (
	readmeFile  = terraformDir + "/README.md"
	tablesBegin = "<!-- tables -->\n"
	tablesEnd   = "<!-- /tables -->\n"
)

// TestModuleREADME holds that the README of infra/ lists what there is to give it, and what it gives.
func TestModuleREADME(t *testing.T) {
	source, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(source), tablesBegin)
	got, tail, ends := strings.Cut(rest, tablesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the tables", readmeFile)
	}
	want := tables(t)
	if *renew {
		if err := os.WriteFile(readmeFile, []byte(head+tablesBegin+want+tablesEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s is stale: go test ./internal/templatetest -run TestModuleREADME -renew\n%s\nwant\n%s", readmeFile, got, want)
	}
}

// tables are what a module needs, takes and gives, in the order of the module, for one description leads to another.
func tables(t *testing.T) string {
	t.Helper()
	var versions, required, optional, outputs []string
	eachBlock(t, terraformDir, func(block *hclsyntax.Block, source []byte) {
		text := func(name string) string {
			attribute, ok := block.Body.Attributes[name]
			if !ok {
				return ""
			}
			return string(attribute.Expr.Range().SliceBytes(source))
		}
		switch block.Type {
		case "terraform":
			versions = append(versions, fmt.Sprintf("| Terraform or OpenTofu | `%s` |\n", strings.Trim(text("required_version"), `"`)))
			for name, at := range requirements(t, block) {
				versions = append(versions, fmt.Sprintf("| provider `%s` | `%s` |\n", name, at))
			}
		case "variable":
			rows, given := &required, "required"
			if text("default") != "" {
				rows, given = &optional, "`"+text("default")+"`"
			}
			*rows = append(*rows, fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", block.Labels[0], text("type"), given, prose(t, block)))
		case "output":
			outputs = append(outputs, fmt.Sprintf("| `%s` | %s |\n", block.Labels[0], prose(t, block)))
		}
	})
	slices.Sort(versions)
	return "\n## Requirements\n\n| what | version |\n|---|---|\n" + strings.Join(versions, "") +
		"\n## Inputs\n\n| name | type | default | what it is |\n|---|---|---|---|\n" + strings.Join(required, "") + strings.Join(optional, "") +
		"\n## Outputs\n\n| name | what it is |\n|---|---|\n" + strings.Join(outputs, "") + "\n"
}

// eachBlock is called with the blocks of a module, and the file in which each stands.
func eachBlock(t *testing.T, dir string, do func(block *hclsyntax.Block, source []byte)) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no .tf file in %s (%v)", dir, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range parse(t, source, file) {
			do(block, source)
		}
	}
}

func parse(t *testing.T, source []byte, name string) hclsyntax.Blocks {
	t.Helper()
	parsed, diagnostics := hclparse.NewParser().ParseHCL(source, name)
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	return parsed.Body.(*hclsyntax.Body).Blocks
}

// requirements are the versions of the providers that a module needs, by their addresses.
func requirements(t *testing.T, block *hclsyntax.Block) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, inner := range block.Body.Blocks {
		for _, provider := range inner.Body.Attributes {
			value, diagnostics := provider.Expr.Value(nil)
			if inner.Type != "required_providers" || diagnostics.HasErrors() {
				t.Fatalf("%s is not known here (%v)", inner.Type, diagnostics)
			}
			versions[value.GetAttr("source").AsString()] = value.GetAttr("version").AsString()
		}
	}
	return versions
}

// prose is a description, with what Markdown would take for markup.
func prose(t *testing.T, block *hclsyntax.Block) string {
	t.Helper()
	attribute, ok := block.Body.Attributes["description"]
	if !ok {
		t.Fatalf("%s has no description", block.Labels[0])
	}
	value, diagnostics := attribute.Expr.Value(nil)
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(value.AsString())
}

// TestModuleREADMEUses holds that what the README says to write is what the module takes, and that what it takes of the
// module is there.
func TestModuleREADMEUses(t *testing.T) {
	there := map[string]bool{}
	var required []string
	eachBlock(t, terraformDir, func(block *hclsyntax.Block, _ []byte) {
		if block.Type == "variable" || block.Type == "output" {
			there[block.Type+" "+block.Labels[0]] = true
		}
		if block.Type == "variable" && block.Body.Attributes["default"] == nil {
			required = append(required, block.Labels[0])
		}
	})
	source, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for _, fenced := range strings.Split(string(source), "```hcl\n")[1:] {
		example, _, _ := strings.Cut(fenced, "```\n")
		for _, block := range parse(t, []byte(example), readmeFile) {
			if block.Type == "module" {
				modules++
				for name := range block.Body.Attributes {
					if name != "source" && !there["variable "+name] {
						t.Errorf("there is no variable %s", name)
					}
				}
				for _, name := range required {
					if block.Body.Attributes[name] == nil {
						t.Errorf("an example does without %s", name)
					}
				}
			}
			for _, attribute := range block.Body.Attributes {
				for _, traversal := range attribute.Expr.Variables() {
					if name := outputOf(traversal); name != "" && !there["output "+name] {
						t.Errorf("there is no output %s", name)
					}
				}
			}
		}
	}
	if modules == 0 {
		t.Error("it says nothing to write")
	}
}

// outputOf is the output that a reference to module.x.output names.
func outputOf(traversal hcl.Traversal) string {
	if traversal.RootName() != "module" || len(traversal) < 3 {
		return ""
	}
	output, _ := traversal[2].(hcl.TraverseAttr)
	return output.Name
}
