package registry

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestParseModuleAddress(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, tt := range []struct{ namespace, name, system, want string }{
		{"acme", "vpc", "aws", "acme/vpc/aws"},
		{"Acme", "VPC", "AWS", "acme/vpc/aws"},
		{"a", "b", "0", "a/b/0"},
		{"a_b-c", "x--y", "aws2", "a_b-c/x--y/aws2"},
		{long, long, long, long + "/" + long + "/" + long},
	} {
		a, err := ParseModuleAddress(tt.namespace, tt.name, tt.system)
		if err != nil || a.String() != tt.want {
			t.Errorf("%q, %q, %q: %q, %v; want %q", tt.namespace, tt.name, tt.system, a, err, tt.want)
		}
	}
}

func TestParseModuleAddressRefuses(t *testing.T) {
	long := strings.Repeat("a", 65)
	for _, tt := range [][3]string{
		{"", "vpc", "aws"}, {"acme", "", "aws"}, {"acme", "vpc", ""},
		{long, "vpc", "aws"}, {"acme", long, "aws"}, {"acme", "vpc", long},
		{"-acme", "vpc", "aws"}, {"acme-", "vpc", "aws"}, {"_acme", "vpc", "aws"}, {"acme", "vpc_", "aws"},
		{"acme", "vpc", "a-b"}, {"acme", "vpc", "a_b"},
		{"acme.com", "vpc", "aws"}, {"..", "vpc", "aws"}, {"acme", ".", "aws"},
		{"acme", "vpc", "aws//"}, {"acme", "vpc", "aws//sub"}, {"acme", "vpc", "aws?x=y"}, {"acme", "vpc", "aws//?x"},
		{"acme/vpc", "x", "aws"}, {"acme", "vpc//x", "aws"}, {"acme://", "vpc", "aws"}, {"acme", "vpc/aws", ""},
		{"acmé", "vpc", "aws"}, {"acme", "vpc", "aws\x00"}, {"acme", "v\xffc", "aws"}, {"acme", "v pc", "aws"},
		{"ac\u212ae", "vpc", "aws"}, // the Kelvin sign, a k in lower case
	} {
		if a, err := ParseModuleAddress(tt[0], tt[1], tt[2]); err == nil || a != (ModuleAddress{}) {
			t.Errorf("%q was accepted as %q", tt, a)
		}
	}
}

func TestParseProviderAddress(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, tt := range [][2]string{
		{"acme", "widget"}, {"a", "b"}, {"0", "1"}, {"ac-me", "google-beta"}, {"ac_me", "widget"}, {long, long},
	} {
		a, err := ParseProviderAddress(tt[0], tt[1])
		if err != nil || a.String() != tt[0]+"/"+tt[1] {
			t.Errorf("%q: %q, %v", tt, a, err)
		}
	}
}

func TestParseProviderAddressRefuses(t *testing.T) {
	long := strings.Repeat("a", 65)
	for _, tt := range [][2]string{
		{"", "widget"}, {"acme", ""}, {long, "widget"}, {"acme", long},
		{"Acme", "widget"}, {"acme", "Widget"},
		{"-", "widget"}, {"-acme", "widget"}, {"acme-", "widget"}, {"ac--me", "widget"}, {"_acme", "widget"}, {"acme_", "widget"},
		{"acme", "-widget"}, {"acme", "wid--get"}, {"acme", "wid_get"}, {"acme", "wid.get"}, {"acme.com", "widget"},
		{"acme", "terraform-widget"}, {"acme", "terraform-provider-widget"},
		{"..", "widget"}, {"acme", "."}, {"acme/x", "widget"}, {"acme", "x/widget"}, {"acme", "widget?"}, {"acme", "wid get"},
		{"bücher", "widget"}, {"acme", "wi\u212aget"}, {"xn--bcher-kva", "widget"}, {"acme", "w\x00"}, {"ac\xffme", "widget"},
	} {
		if a, err := ParseProviderAddress(tt[0], tt[1]); err == nil || a != (ProviderAddress{}) {
			t.Errorf("%q was accepted as %q", tt, a)
		}
	}
}

func TestFilenames(t *testing.T) {
	a := ProviderAddress{Namespace: "acme", Type: "widget"}
	v := version(t, "1.0.0-rc.1+b")
	for got, want := range map[string]string{
		a.PackageFilename(v, Platform{"linux", "amd64"}): "terraform-provider-widget_1.0.0-rc.1+b_linux_amd64.zip",
		a.SHA256SUMSFilename(v):                          "terraform-provider-widget_1.0.0-rc.1+b_SHA256SUMS",
		a.SignatureFilename(v):                           "terraform-provider-widget_1.0.0-rc.1+b_SHA256SUMS.sig",
		a.DocsFilename(v):                                "terraform-provider-widget_1.0.0-rc.1+b_docs.zip",
		a.ManifestFilename(v):                            "terraform-provider-widget_1.0.0-rc.1+b_manifest.json",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParsePlatform(t *testing.T) {
	for _, tt := range []struct {
		os, arch string
		ok       bool
	}{
		{"linux", "amd64", true},
		{"plan9", "386", true},
		{"Linux", "amd64", false},
		{"linux", "AMD64", false},
		{"linux", "", false},
		{"", "amd64", false},
		{"linux", "amd_64", false},
		{"linux\n", "amd64", false},
		{"..", "amd64", false},
		{strings.Repeat("a", 33), "amd64", false},
	} {
		p, err := ParsePlatform(tt.os, tt.arch)
		if (err == nil) != tt.ok || tt.ok && p.String() != tt.os+"_"+tt.arch || !tt.ok && p != (Platform{}) {
			t.Errorf("ParsePlatform(%q, %q) = %q, %v", tt.os, tt.arch, p, err)
		}
	}
}

func TestPlatformJSON(t *testing.T) {
	text, err := json.Marshal(Platform{"linux", "amd64"})
	if err != nil || string(text) != `"linux_amd64"` {
		t.Fatalf("marshalled: %s, %v", text, err)
	}
	var back Platform
	if err := json.Unmarshal(text, &back); err != nil || back != (Platform{"linux", "amd64"}) {
		t.Errorf("unmarshalled: %v, %v", back, err)
	}
	for _, bad := range []string{`"linux"`, `"linux_amd64_v1"`, `"_"`, `"Linux_amd64"`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("unmarshalled %s without an error", bad)
		}
	}
}

// plain is what an address may be made of: it becomes part of keys and URLs.
var plain = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

func FuzzParseAddress(f *testing.F) {
	f.Add("acme", "vpc", "aws")
	f.Add("Acme", "VPC", "aws//")
	f.Add("ac\u212ae", "-", "aws?")
	f.Add("xn--a", "terraform-provider-x", "")
	f.Fuzz(func(t *testing.T, first, second, third string) {
		if a, err := ParseModuleAddress(first, second, third); err == nil {
			if !plain.MatchString(a.Namespace) || !plain.MatchString(a.Name) || !plain.MatchString(a.System) {
				t.Errorf("%q, %q, %q is the module %q", first, second, third, a)
			}
		}
		if a, err := ParseProviderAddress(first, second); err == nil {
			if !plain.MatchString(a.Namespace) || !plain.MatchString(a.Type) || a.String() != first+"/"+second {
				t.Errorf("%q, %q is the provider %q", first, second, a)
			}
		}
	})
}

func TestParseHostname(t *testing.T) {
	for written, want := range map[string]string{
		"registry.terraform.io":           "registry.terraform.io",
		"Registry.Terraform.IO":           "registry.terraform.io",
		"bücher.example":                  "xn--bcher-kva.example",
		"xn--bcher-kva.example":           "xn--bcher-kva.example",
		"127.0.0.1":                       "127.0.0.1",
		"":                                "",
		"localhost":                       "",
		"example.com:8443":                "",
		"example.com:443":                 "",
		"https://example.com":             "",
		"example.com/x":                   "",
		"exa mple.com":                    "",
		"..":                              "",
		".example.com":                    "",
		"example..com":                    "",
		"ex\x00ample.com":                 "",
		"ex\xffample.com":                 "",
		strings.Repeat("a.", 130) + "com": "",
	} {
		if got, err := ParseHostname(written); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", written, got, err, want)
		}
	}
}

func TestMirroredAddress(t *testing.T) {
	a, err := ParseMirroredAddress("Registry.Terraform.io", "hashicorp", "time")
	if err != nil || a.String() != "registry.terraform.io/hashicorp/time" || !a.Mirrored() {
		t.Errorf("%q, %v", a, err)
	}
	for _, parts := range [][3]string{{"registry.terraform.io", "Hashicorp", "time"}, {"registry.terraform.io", "hashicorp", "a/b"}, {"", "hashicorp", "time"}, {"a:1", "hashicorp", "time"}} {
		if a, err := ParseMirroredAddress(parts[0], parts[1], parts[2]); err == nil || a.Mirrored() {
			t.Errorf("%q is %q", parts, a)
		}
	}
}
