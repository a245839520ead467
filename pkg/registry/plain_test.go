package registry

import (
	"strings"
	"testing"

	goversion "github.com/hashicorp/go-version"
	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"
)

// words are names, hostnames and versions, some of which the clients' libraries need not
// be asked about.
var words = []string{
	"", "a", "0", "-", "a-", "-a", "a-b", "a--b", "a-b-c", "xn--a", "a_b", "A", "aB", "a.b", "a..b", "a.b.", ".a.b", "a-.b", "a.-b", "é", "\u212a", "a\u212a", "terraform", "terraform-a", "terraform-provider-a", "registry.terraform.io",
	"127.0.0.1", "a.b:8443", "1.2.3", "01.2.3", "1.02.3", "1.2.03", "0.0.0", "1.2", "1.2.3.4", "1.2.", ".1.2", "1..2", "1.2.3-a", "1.2.3+a", "v1.2.3", "1.2.123456789", "1.2.1234567890", "1.2.12345678901234567890", "a/b", "a b",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 63) + ".b", strings.Repeat("a", 64) + ".b",
	strings.Repeat("a.", 126) + "b", strings.Repeat("a.", 127) + "b", strings.Repeat("9.", 2) + "9",
}

// checkPlain checks that what is accepted without the clients' libraries is accepted by
// them, and unchanged.
func checkPlain(t *testing.T, s string) {
	t.Helper()
	if isPlain(s) {
		module, err := tfaddr.ParseModuleSource("registry.example.com/" + s + "/" + s + "/" + strings.ReplaceAll(s, "-", ""))
		if want := (ModuleAddress{s, s, strings.ReplaceAll(s, "-", "")}); err != nil || (ModuleAddress{module.Package.Namespace, module.Package.Name, module.Package.TargetSystem}) != want {
			t.Errorf("modules: %q is %+v, %v", s, module, err)
		}
		typ := "a"
		if !strings.HasPrefix(s, "terraform") {
			typ = s
		}
		provider, err := tfaddr.ParseProviderSource("registry.example.com/" + s + "/" + typ)
		if err != nil || provider.Namespace != s || provider.Type != typ {
			t.Errorf("providers: %q is %+v, %v", s, provider, err)
		}
	}
	if isPlainHostname(s) {
		if host, err := svchost.ForComparison(svchost.ForDisplay(s)); err != nil || string(host) != s {
			t.Errorf("hostnames: %q is %q, %v", s, host, err)
		}
	}
	if isRelease(s) {
		if v, err := goversion.NewVersion(s); err != nil || v.String() != s || !grammar().MatchString(s) || len(s) > MaxVersionLength {
			t.Errorf("versions: %q is %v, %v", s, v, err)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, s := range words {
		checkPlain(t, s)
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range words {
		f.Add(s)
	}
	f.Fuzz(checkPlain)
}

// TestPlainMakesNoGarbage holds the parsers of what most requests have to their cost.
func TestPlainMakesNoGarbage(t *testing.T) {
	for name, parse := range map[string]func() error{
		"module":   func() error { _, err := ParseModuleAddress("acme", "vpc-2", "aws"); return err },
		"provider": func() error { _, err := ParseProviderAddress("acme", "widget-x"); return err },
		"mirrored": func() error { _, err := ParseMirroredAddress("registry.terraform.io", "hashicorp", "aws"); return err },
		"version":  func() error { _, err := LookupVersion("1.20.300"); return err },
		"platform": func() error { _, err := ParsePlatform("linux", "amd64"); return err },
	} {
		if got := testing.AllocsPerRun(100, func() {
			if err := parse(); err != nil {
				t.Error(err)
			}
		}); got > 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
