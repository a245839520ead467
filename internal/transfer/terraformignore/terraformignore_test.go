package terraformignore

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestExcludes(t *testing.T) {
	for _, test := range []struct {
		name, file         string
		excluded, included []string
	}{
		{
			name:     "without a line",
			excluded: []string{".git/config", ".terraform/terraform.tfstate", "examples/a/.terraform/x", "sub/.git/HEAD"},
			included: []string{"main.tf", ".gitignore", ".terraform.lock.hcl", ".terraform/modules/vpc/main.tf", "a/.terraform/modules/modules.json", "git/x", "x.git/config"},
		},
		{
			name: "a name matches a file at any depth", file: "secrets.auto.tfvars",
			excluded: []string{"secrets.auto.tfvars", "a/b/secrets.auto.tfvars", ".git/config"},
			included: []string{"my-secrets.auto.tfvars", "secretsXauto.tfvars", "secrets.auto.tfvars/inside"},
		},
		{
			name: "a slash at the end names a folder", file: "examples/",
			excluded: []string{"examples/a.tf", "examples/a/b.tf", "modules/x/examples/a.tf"},
			included: []string{"examples", "my-examples/a.tf", "examples.tf"},
		},
		{
			name: "a slash at the beginning means the root", file: "/test/\n/notes.md",
			excluded: []string{"test/a.tf", "notes.md"},
			included: []string{"modules/test/a.tf", "docs/notes.md"},
		},
		{
			name: "a slash inside does not", file: "docs/*.md",
			excluded: []string{"docs/a.md", "modules/x/docs/a.md"},
			included: []string{"docs/a/b.md", "docs/a.mdx"},
		},
		{
			name: "signs that stand for others", file: "*.log\n**/tmp/**/*.bin\nv?.txt\n[a-c].tf\n[^a].json",
			excluded: []string{"a.log", "x/y.log", ".log", "tmp/a.bin", "q/tmp/b/c/d.bin", "v1.txt", "b.tf", "b.json"},
			included: []string{"a.log/x", "tmp.bin", "v12.txt", "d.tf", "a.json", "x/.json"},
		},
		{
			name: "two stars at the end take everything", file: "/build/**",
			excluded: []string{"build/a", "build/a/b"},
			included: []string{"build", "a/build/b"},
		},
		{
			name: "taken back, also in an excluded folder", file: "examples/\n!/examples/\n*.md\n!README.md\nfixtures/\n!fixtures/keep/",
			excluded: []string{"modules/a/examples/main.tf", "docs/a.md", "fixtures/a"},
			included: []string{"examples/main.tf", "README.md", "docs/README.md", "fixtures/keep/a"},
		},
		{
			name: "the last line that matches decides", file: "!a.txt\na.txt\n!.git/",
			excluded: []string{"a.txt"},
			included: []string{".git/config"},
		},
		{
			name: "comments, spaces and line ends of Windows", file: "# *.tf\r\n\r\n   \n  a.txt  \r\n",
			excluded: []string{"a.txt"},
			included: []string{"main.tf"},
		},
		{
			name: "signs that stand for themselves", file: "a+b(c).tf\n\\*.txt\n\\!x\n$\nüber.tf",
			excluded: []string{"a+b(c).tf", "*.txt", "!x", "$", "über.tf"},
			included: []string{"aab(c).tf", "a.txt", "x"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules, err := Parse(strings.NewReader(test.file))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range test.excluded {
				if !rules.Excludes(path) {
					t.Errorf("%s is included", path)
				}
			}
			for _, path := range test.included {
				if rules.Excludes(path) {
					t.Errorf("%s is excluded", path)
				}
			}
		})
	}
}

func TestWrongFiles(t *testing.T) {
	for file, want := range map[string]string{
		"a.tf\nb[a-":                   `line 2: "b[a-" is not a pattern`,
		"[z-a]":                        "line 1",
		strings.Repeat("a\n", maxSize): "larger than",
	} {
		if _, err := Parse(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", file, err, want)
		}
	}
	broken := errors.New("broken disk")
	if _, err := Parse(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// Whatever a file says, its rules are made or refused, and can be asked.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "!", "/", "!/", "\\", "[]", "[^]", "**", "***/", "a/**/b", "*.tf\n!main.tf", "\xff", "[\xff]", "(?i)a", "{2}"} {
		f.Add(seed, "a/b.tf")
	}
	f.Fuzz(func(t *testing.T, file, path string) {
		rules, err := Parse(strings.NewReader(file))
		if err != nil {
			return
		}
		again, err := Parse(strings.NewReader(file + "\n# no rule\n"))
		if err != nil || rules.Excludes(path) != again.Excludes(path) {
			t.Errorf("a comment makes a difference: %v", err)
		}
	})
}
