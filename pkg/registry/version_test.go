package registry

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for _, s := range []string{
		"0.0.0", "1.2.3", "10.20.30", "1.2.3-rc.1", "1.2.3-0", "1.2.3-alpha.0-x", "1.2.3-rc.1+build.5", "1.2.3+001",
		"9223372036854775807.0.0",
		"1.0.0-99999999999999999999",
		"1.0.0-" + strings.Repeat("a", MaxVersionLength-len("1.0.0-")),
	} {
		v, err := ParseVersion(s)
		if err != nil || v.String() != s {
			t.Errorf("ParseVersion(%q) = %q, %v; want it as written", s, v, err)
		}
	}
}

func TestParseVersionRefuses(t *testing.T) {
	for _, tt := range []struct{ version, because string }{
		{"", "full semantic version"},
		{"1", "full semantic version"},
		{"1.2", "full semantic version"},
		{"1.2.3.4", "full semantic version"},
		{"01.2.3", "leading zeros"},
		{"1.02.3", "leading zeros"},
		{"1.2.03", "leading zeros"},
		{"1.2.3-01", "leading zeros"},
		{"1.2.3-", "full semantic version"},
		{"1.2.3+", "full semantic version"},
		{"1.2.3-a..b", "full semantic version"},
		{"1.2.3-a~b", "full semantic version"},
		{"1.2.3rc1", "full semantic version"},
		{"-1.2.3", "full semantic version"},
		{" 1.2.3", "full semantic version"},
		{"1.2.3\n", "full semantic version"},
		{"1.2.3 build", "full semantic version"},
		{"1.2.3+a+b", "full semantic version"},
		{"1.2.३", "full semantic version"},
		{"latest", "full semantic version"},
		{"../1.2.3", "full semantic version"},
		{"v1.2.3", `write "1.2.3"`},
		{"V1.2.3", `write "1.2.3"`},
		{"9223372036854775808.0.0", "not understood"},
		{"1.0.0-" + strings.Repeat("a", MaxVersionLength), "128 are allowed"},
	} {
		v, err := ParseVersion(tt.version)
		if err == nil || v != (Version{}) || !strings.Contains(err.Error(), tt.because) {
			t.Errorf("ParseVersion(%q) = %q, %v; want an error with %q", tt.version, v, err, tt.because)
		}
	}
}

func TestLookupVersion(t *testing.T) {
	for asked, want := range map[string]string{
		"1.2.3":                               "1.2.3",
		"v1.2.3":                              "1.2.3",
		"1.2":                                 "1.2.0",
		"v1.2":                                "1.2.0",
		"1":                                   "1.0.0",
		"01.2.3":                              "1.2.3",
		"1.2.3rc1":                            "1.2.3-rc1",
		"1.0.0+build.5":                       "1.0.0+build.5",
		"1.2-rc.1+meta":                       "1.2.0-rc.1+meta",
		"1.0.0 build.5":                       "",
		"1.2.3.4":                             "",
		"1.2.3-01":                            "",
		"1.2.3-a~b":                           "",
		"V1.2.3":                              "",
		"latest":                              "",
		"":                                    "",
		"v":                                   "",
		"1.2.3/../1.2.4":                      "",
		"99999999999999999999.0.0":            "",
		"1.0.0-" + strings.Repeat("a", 1<<20): "",
		"1.0.0-" + strings.Repeat("a", 122):   "1.0.0-" + strings.Repeat("a", 122), // the longest
		"1.0.0-" + strings.Repeat("a", 123):   "",
	} {
		v, err := LookupVersion(asked)
		if v.String() != want || (err == nil) != (want != "") {
			t.Errorf("LookupVersion(%.40q) = %q, %v; want %q", asked, v, err, want)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("LookupVersion(%.40q) fails with %v, want ErrNotFound", asked, err)
		}
	}
}

// ascending holds versions in the order of the specification, with its own
// example, and numbers past every integer type.
var ascending = []string{
	"0.0.9", "0.9.0", "0.10.0",
	"1.0.0-1", "1.0.0-9", "1.0.0-10", "1.0.0-99999999999999999999", "1.0.0-100000000000000000000",
	"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
	"1.0.0", "1.0.1-a", "2.0.0", "10.0.0",
}

func TestCompareIsAnOrder(t *testing.T) {
	for i, left := range ascending {
		for j, right := range ascending {
			got := version(t, left).Compare(version(t, right))
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s compared with %s = %d", left, right, got)
			}
		}
	}
}

func TestCompareIgnoresBuildMetadata(t *testing.T) {
	a, b := version(t, "1.0.0-rc.1+a"), version(t, "1.0.0-rc.1+b.2")
	if a.Compare(b) != 0 || a.Key() != b.Key() || a.Key() != "1.0.0-rc.1" {
		t.Errorf("%s and %s: compared %d, keys %s and %s", a, b, a.Compare(b), a.Key(), b.Key())
	}
}

func TestVersionJSON(t *testing.T) {
	text, err := json.Marshal([]Version{version(t, "1.0.0-rc.1+a")})
	if err != nil || string(text) != `["1.0.0-rc.1+a"]` {
		t.Fatalf("marshalled: %s, %v", text, err)
	}
	var back []Version
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back, []Version{version(t, "1.0.0-rc.1+a")}) {
		t.Errorf("unmarshalled: %v, %v", back, err)
	}
	for _, bad := range []string{`["v1.0.0"]`, `["1.0"]`, `[""]`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("unmarshalled %s without an error", bad)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, s := range append([]string{"", "v1.2.3", "1.2", "1.2.3-01", "1.2.3+a", "1.2.3\n"}, ascending...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err != nil {
			return
		}
		if v.String() != s || len(s) > MaxVersionLength || strings.ContainsAny(s, "/\\ %\x00") {
			t.Errorf("ParseVersion(%q) = %q", s, v)
		}
		if found, err := LookupVersion(s); err != nil || found != v {
			t.Errorf("%q is a version but is looked up as %q, %v", s, found, err)
		}
		if key, err := ParseVersion(v.Key()); err != nil || key.Compare(v) != 0 {
			t.Errorf("the key of %q is %q, %v", s, v.Key(), err)
		}
	})
}

func FuzzLookupVersion(f *testing.F) {
	for _, s := range []string{"", "v", "v1.2", "01.2.3", "1.2.3rc1", "1.0.0+b", "1.0.0 b", "1.2.3.4", "1-~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := LookupVersion(s)
		if err != nil {
			if !errors.Is(err, ErrNotFound) || v != (Version{}) {
				t.Errorf("LookupVersion(%q) = %q, %v", s, v, err)
			}
			return
		}
		if parsed, err := ParseVersion(v.String()); err != nil || parsed != v {
			t.Errorf("LookupVersion(%q) = %q, which nobody could publish: %v", s, v, err)
		}
	})
}

func version(tb testing.TB, s string) Version {
	tb.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
