package contents

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"a\tb\nc é 字":          "a\tb\nc é 字",
		"a\r\nb\rc\n":          "a\nb\nc\n",
		"\ufeffa\ufeff":        "a\ufeff",
		"a\x00b\x1b[2Jc\x7f":   "ab[2Jc",
		"\u0085\u009b":         "",
		"a\xffb":               "a\ufffdb",
		"<b>&\"</b> \u202e עב": "<b>&\"</b> \u202e עב",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q is %q; want %q", text, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\r\nb\x00\xff\ufeff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Clean(text)
		if !isClean(got) || strings.Contains(got, "\r") || Clean(got) != got && !strings.HasPrefix(got, "\ufeff") {
			t.Errorf("%q is %q", text, got)
		}
	})
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		{"", 0, "", false}, {"abc", 3, "abc", false}, {"abc", 2, "ab", true}, {"aé", 2, "a", true}, {"aé", 3, "aé", false},
		{"字", 2, "", true}, {"a", 0, "", true},
	} {
		if got, cut := Cut(test.text, test.limit); got != test.want || cut != test.cut {
			t.Errorf("%q, %d: got %q, %v; want %q, %v", test.text, test.limit, got, cut, test.want, test.cut)
		}
	}
}

func TestAddProblem(t *testing.T) {
	var problems []string
	for i := range 3 * MaxProblems {
		problems = AddProblem(problems, fmt.Sprintf("Problem %d.", i/2))
	}
	if len(problems) != MaxProblems || problems[0] != "Problem 0." || problems[MaxProblems-2] != "Problem 48." || problems[MaxProblems-1] != "There are more problems than these." {
		t.Errorf("%d problems: %q", len(problems), problems)
	}
}

func TestModuleDocument(t *testing.T) {
	m := Module{
		Root: Part{
			Readme: "# <VPC> & \"more\"", Versions: []string{">= 1.5"},
			Inputs: []Input{{
				Name: "a", Type: "string", Description: "é", Default: `"x"`, Sensitive: true, Ephemeral: true, NotNullable: true, Deprecated: "no",
				Validations: []Validation{{Condition: "true", Message: "m"}},
			}, {Name: "b", Required: true}},
			Outputs:   []Output{{Name: "o", Description: "d", Sensitive: true, Ephemeral: true, Deprecated: "no"}},
			Resources: []Resource{{Managed, "t", "n"}, {Data, "t", "n"}, {Ephemeral, "t", "n"}, {Action, "t", "n"}},
			Calls:     []Call{{"c", "./x", "~> 1.0"}},
			Providers: []Requirement{{"aws", "hashicorp/aws", []string{">= 5"}, []string{"aws.x"}}},
		},
		Submodules: []Part{{Path: "modules/x", Name: "x"}}, Examples: []Part{{Path: "examples/y", Name: "y"}}, Problems: []string{"It is broken."},
	}
	document := EncodeModule(m)
	if !bytes.Contains(document, []byte(`{"root":{"readme":"# <VPC> & \"more\"","inputs":[{"name":"a","type":"string","description":"é","default":"\"x\"","sensitive":true,`)) || bytes.HasSuffix(document, []byte("\n")) {
		t.Errorf("the document is %s", document)
	}
	back, err := DecodeModule(document)
	if err != nil || !reflect.DeepEqual(back, m) {
		t.Errorf("it is read as %+v, %v; want %+v", back, err, m)
	}
}

func TestProviderDocument(t *testing.T) {
	p := Provider{
		Pages:    []Page{{Category: Resources, Slug: "a", Title: "A", Subcategory: "s", Description: "d", Path: "docs/resources/a.md", Offset: 7, Length: 8}},
		Problems: []string{"It is broken."},
	}
	back, err := DecodeProvider(EncodeProvider(p))
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("it is read as %+v, %v; want %+v", back, err, p)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, document := range []string{"", "null x", `{"root":1}`, `{"pages":{}}`, "[]", strings.Repeat(" ", MaxDocument+1), `{"root":{}} {}`} {
		_, module := DecodeModule([]byte(document))
		_, provider := DecodeProvider([]byte(document))
		if module == nil && provider == nil {
			t.Errorf("%.20q is accepted", document)
		}
	}
	if m, err := DecodeModule([]byte(`{"root":{"empty":true},"later":1}`)); err != nil || !m.Root.Empty {
		t.Errorf("a field of a later version: %+v, %v", m, err)
	}
}

// parts are n parts with texts of a size.
func parts(n, readme, inputs, text int) (all []Part) {
	for range n {
		p := Part{Name: "x", Readme: strings.Repeat("r", readme)}
		for range inputs {
			p.Inputs = append(p.Inputs, Input{Name: "i", Description: strings.Repeat("d", text), Default: strings.Repeat("1", text)})
		}
		all = append(all, p)
	}
	return all
}

// TestLargeModules holds that documents are bounded, and what they lose first.
func TestLargeModules(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	root := func(inputs, text int) Part { return parts(1, MaxReadme, inputs, text)[0] }
	for _, test := range []struct {
		name string
		m    Module
		lost []string // in the order of the problems: the last loss first
	}{
		{"small", Module{Root: root(10, 10)}, nil},
		{"examples", Module{Root: root(10, 10), Submodules: parts(4, MaxReadme, 1, 10), Examples: parts(17, MaxReadme, 1, 10)}, []string{"The READMEs of the examples"}},
		{"submodules", Module{Root: root(10, 10), Submodules: parts(17, MaxReadme, 1, 10)}, []string{"The READMEs of the submodules", "The READMEs of the examples"}},
		{"descriptions", Module{Root: root(160, 14*kib)}, []string{"The descriptions", "The READMEs of the submodules", "The READMEs of the examples"}},
		{"defaults", Module{Root: root(320, 14*kib)}, []string{"The defaults", "The descriptions", "The READMEs of the s", "The READMEs of the e"}},
		{"parts", Module{Root: root(1, 1), Examples: []Part{{Name: strings.Repeat("n", 5*mib)}}}, []string{"The examples and submodules", "The defaults", "The descriptions", "The READMEs of the s", "The READMEs of the e"}},
		{"all", Module{Root: Part{Readme: "r", Outputs: []Output{{Name: strings.Repeat("n", 5*mib)}}}}, []string{"All things but the README", "The examples and submodules", "The defaults", "The descriptions", "The READMEs of the s", "The READMEs of the e"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := encode(test.m)
			document := EncodeModule(test.m)
			got, err := DecodeModule(document)
			if err != nil || len(document) > MaxDocument {
				t.Fatalf("%d bytes, %v", len(document), err)
			}
			if len(got.Problems) != len(test.lost) {
				t.Fatalf("problems are %q; want %q", got.Problems, test.lost)
			}
			for i, lost := range test.lost {
				if !strings.HasPrefix(got.Problems[i], lost) || !strings.HasSuffix(got.Problems[i], " are left out: with them, the document would be larger than 4 MiB.") {
					t.Errorf("problem %d is %q; want %q", i, got.Problems[i], lost)
				}
			}
			if got.Root.Readme != test.m.Root.Readme {
				t.Error("the README is lost")
			}
			if !bytes.Equal(encode(test.m), before) {
				t.Error("the caller's module is changed")
			}
		})
	}
}

func TestLargeProviders(t *testing.T) {
	pages := func(n, title, description, path int) (all []Page) {
		for range n {
			all = append(all, Page{Title: strings.Repeat("t", title), Description: strings.Repeat("d", description), Path: strings.Repeat("p", path)})
		}
		return all
	}
	for _, test := range []struct {
		pages []Page
		lost  int
		kept  int
	}{
		{pages(MaxPages, 100, 1000, 500), 0, MaxPages},
		{pages(MaxPages, 100, 3000, 500), 1, MaxPages},
		{pages(MaxPages, 3000, 3000, 500), 2, MaxPages},
		{pages(MaxPages, 10, 10, 3000), 3, 0},
	} {
		document := EncodeProvider(Provider{Pages: test.pages})
		got, err := DecodeProvider(document)
		if err != nil || len(document) > MaxDocument || len(got.Problems) != test.lost || len(got.Pages) != test.kept {
			t.Errorf("%d bytes, %d pages, problems %q, %v; want %d pages and %d problems", len(document), len(got.Pages), got.Problems, err, test.kept, test.lost)
		}
	}
}

// TestProblemsOfShrinking holds that what is left out is said, however many problems there are.
func TestProblemsOfShrinking(t *testing.T) {
	m := Module{Root: Part{Readme: "r"}, Examples: parts(17, MaxReadme, 0, 0)}
	for i := range MaxProblems {
		m.Problems = AddProblem(m.Problems, fmt.Sprintf("Problem %d.", i))
	}
	got, err := DecodeModule(EncodeModule(m))
	if err != nil || len(got.Problems) != MaxProblems || !strings.HasPrefix(got.Problems[0], "The READMEs") {
		t.Errorf("%d problems, %q first, %v", len(got.Problems), got.Problems[0], err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"root":{"inputs":[{"name":"a"}]},"pages":[{"slug":"a"}]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if m, err := DecodeModule(document); err == nil && !utf8.Valid(EncodeModule(m)) {
			t.Error("the module is not UTF-8")
		}
		if p, err := DecodeProvider(document); err == nil && !utf8.Valid(EncodeProvider(p)) {
			t.Error("the provider is not UTF-8")
		}
	})
}
