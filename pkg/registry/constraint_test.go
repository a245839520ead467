package registry

import (
	"strings"
	"testing"
)

func TestConstraint(t *testing.T) {
	all := []string{"0.8.0", "0.9.0", "0.9.1", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0", "1.0.1+build.5", "1.2.0", "2.0.0-beta"}
	for constraint, want := range map[string]string{
		"0.9.1":                    "0.9.1",
		"= 0.9.1":                  "0.9.1",
		"0.9":                      "0.9.0",
		"1.0.1":                    "1.0.1+build.5",
		">= 0.9":                   "0.9.0 0.9.1 1.0.0 1.0.1+build.5 1.2.0",
		"~> 0.9":                   "0.9.0 0.9.1",
		"~> 1.0.0":                 "1.0.0 1.0.1+build.5",
		">= 0.9, < 1.0, != 0.9.0":  "0.9.1",
		"< 0.1":                    "",
		"1.0.0-rc.1":               "1.0.0-rc.1",
		"=1.0.0-rc.2":              "1.0.0-rc.2",
		">= 1.0.0-rc.1":            "1.0.0 1.0.1+build.5 1.2.0",
		">= 1.0.0-rc.1, != 1.0.0":  "1.0.1+build.5 1.2.0",
		"!= 2.0.0-beta, > 1.0.1":   "1.2.0",
		">= 1.0.0, <= 2.0.0-gamma": "1.0.0 1.0.1+build.5 1.2.0",
	} {
		c, err := ParseConstraint(constraint)
		if err != nil || !c.Given() || c.String() != constraint {
			t.Errorf("%q: %v", constraint, err)
			continue
		}
		var got []string
		for _, text := range all {
			if v := version(t, text); c.Allows(v) {
				got = append(got, text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q allows %v, want %s", constraint, got, want)
		}
	}
	if (Constraint{}).Given() || (Constraint{}).Allows(version(t, "1.0.0")) {
		t.Error("no constraint allows something")
	}
}

func TestTheLongestConstraint(t *testing.T) {
	longest := ">= 1.0.0" + strings.Repeat(" ", MaxConstraintLength-len(">= 1.0.0"))
	if _, err := ParseConstraint(longest); err != nil {
		t.Errorf("%d characters: %v", len(longest), err)
	}
	if _, err := ParseConstraint(longest + " "); err == nil || !strings.Contains(err.Error(), "1025 characters, 1024 are allowed") {
		t.Errorf("%d characters: %v", len(longest)+1, err)
	}
}

func TestNoConstraint(t *testing.T) {
	for _, text := range []string{"", " ", "newest", ">=", "1.0.0,", "=> 1.0", "== 1.0", "1.0 2.0", strings.Repeat(">1,", 400) + "<2"} {
		if c, err := ParseConstraint(text); err == nil || c.Given() {
			t.Errorf("%.20q is read as a constraint", text)
		}
	}
}

func FuzzConstraint(f *testing.F) {
	f.Add(">= 1.0, < 2.0", "1.2.3")
	f.Add("= 1.0.0-rc.1", "1.0.0-rc.1")
	f.Fuzz(func(t *testing.T, constraint, text string) {
		c, err := ParseConstraint(constraint)
		v, invalid := ParseVersion(text)
		if err != nil || invalid != nil {
			return
		}
		if c.Allows(v) && v.Prerelease() && !strings.Contains(constraint, "-") {
			t.Errorf("%q allows %s", constraint, v)
		}
	})
}
