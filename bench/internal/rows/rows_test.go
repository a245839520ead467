package rows

import (
	"net/http"
	"strings"
	"testing"

	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/load"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		patterns, name string
		want           bool
	}{
		{"", "discovery", true}, {"discovery", "discovery", true}, {"disc", "discovery", false},
		{"download* discovery", "discovery", true}, {"download*", "download-module", true}, {"versions-module-?", "versions-module-10", false},
	} {
		if got := Matches(c.patterns, c.name); got != c.want {
			t.Errorf("Matches(%q, %q) = %t", c.patterns, c.name, got)
		}
	}
	if CheckPatterns("a [") == nil || CheckPatterns("a* b?") != nil {
		t.Error("CheckPatterns does not tell good patterns from bad ones")
	}
}

// TestNamesAreUnique checks that every row can be chosen by itself.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All(dataset.Packages) {
		if seen[r.Name] {
			t.Errorf("two rows are called %s", r.Name)
		}
		seen[r.Name] = true
	}
}

// TestWrongAnswers gives every row answers that are wrong: nothing, another document, and one
// of an empty registry.
func TestWrongAnswers(t *testing.T) {
	for _, r := range All(2) {
		for _, body := range []string{"", "{}", `{"versions":[],"modules":[{"versions":[]}],"archives":{}}`} {
			for _, peer := range []bool{false, true} {
				a := load.Answer{Status: r.Status, Header: http.Header{}, Body: []byte(body)}
				if err := r.Correct(r.Paths[0], a, peer); err == nil {
					t.Errorf("%s takes %q", r.Name, body)
				}
			}
		}
	}
}

// TestVersionsMustBeTheSame leaves one version of a module out, and writes another one.
func TestVersionsMustBeTheSame(t *testing.T) {
	body := func(versions ...string) load.Answer {
		return load.Answer{Body: []byte(`{"modules":[{"versions":[{"version":"` + strings.Join(versions, `"},{"version":"`) + `"}]}]}`)}
	}
	var all []string
	for n := range dataset.SmallModule.Versions {
		all = append(all, dataset.Version(n).String())
	}
	lists := listsModule(dataset.SmallModule)
	if err := lists("", body(all...), false); err != nil {
		t.Error(err)
	}
	if lists("", body(all[1:]...), false) == nil {
		t.Error("a version may be missing")
	}
	all[0] = "9.9.9"
	if lists("", body(all...), false) == nil {
		t.Error("a version may be another one")
	}
}
