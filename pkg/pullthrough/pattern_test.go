package pullthrough

import (
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
)

func address(t *testing.T, s string) registry.ProviderAddress {
	t.Helper()
	parts := strings.Split(s, "/")
	a, err := registry.ParseMirroredAddress(parts[0], parts[1], parts[2])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		patterns, address string
		want              bool
	}{
		{"registry.terraform.io/hashicorp/*", "registry.terraform.io/hashicorp/time", true},
		{"registry.terraform.io/hashicorp/time", "registry.terraform.io/hashicorp/time", true},
		{"registry.terraform.io/*/*", "registry.terraform.io/acme/widget", true},
		{"registry.terraform.io/*/time", "registry.terraform.io/acme/time", true},
		{"Registry.Terraform.io/hashicorp/*", "registry.terraform.io/hashicorp/time", true},
		{"a.example/x/y, registry.terraform.io/hashicorp/*", "registry.terraform.io/hashicorp/time", true},
		{"", "registry.terraform.io/hashicorp/time", false},
		{"registry.terraform.io/hashicorp/*", "registry.terraform.io/hashicorp-evil/time", false},
		{"registry.terraform.io/hashicorp/*", "registry.opentofu.org/hashicorp/time", false},
		{"registry.terraform.io/hashicorp/*", "registry.terraform.io.evil.example/hashicorp/time", false},
		{"registry.terraform.io/hashicorp/time", "registry.terraform.io/hashicorp/times", false},
		{"registry.terraform.io/*/time", "registry.terraform.io/hashicorp/timer", false},
	} {
		patterns, err := ParsePatterns(tt.patterns)
		if err != nil {
			t.Errorf("%q: %v", tt.patterns, err)
		}
		p := New(Config{Patterns: patterns})
		if got := p.pulls(address(t, tt.address)); got != tt.want {
			t.Errorf("%q pulls %s: %v, want %v", tt.patterns, tt.address, got, tt.want)
		}
		if p.pulls(registry.ProviderAddress{Namespace: "hashicorp", Type: "time"}) {
			t.Errorf("%q pulls a provider of the registry itself", tt.patterns)
		}
	}
}

func TestPatternsThatAreNone(t *testing.T) {
	for _, s := range []string{
		"*", "*/*/*", "registry.terraform.io", "registry.terraform.io/hashicorp", "registry.terraform.io/hashicorp/time/1",
		"*.terraform.io/hashicorp/*", "registry.terraform.io/hashi*/time", "registry.terraform.io/hashicorp/ti*", "registry.terraform.io//time",
		"example.com:8443/acme/*", "localhost/acme/*", "registry.terraform.io/Hashicorp/*", "https://registry.terraform.io/hashicorp/*",
	} {
		if patterns, err := ParsePatterns(s); err == nil {
			t.Errorf("%q was read as %v", s, patterns)
		}
	}
}

func TestPlatforms(t *testing.T) {
	if got, err := ParsePlatforms("linux_amd64, darwin_arm64"); err != nil || len(got) != 2 || got[1].String() != "darwin_arm64" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ParsePlatforms("all"); err != nil || got != nil {
		t.Errorf("all: %v, %v", got, err)
	}
	if got, err := ParsePlatforms(DefaultPlatforms); err != nil || len(got) == 0 {
		t.Errorf("by default: %v, %v", got, err)
	}
	for _, s := range []string{"", "linux", "Linux_amd64", "linux_amd64,", "linux_amd64;darwin_arm64"} {
		if got, err := ParsePlatforms(s); err == nil || !strings.Contains(err.Error(), "all") {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}
