package access

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestScopes has every rule of scopes, with what it denies.
func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		scopes   string // with commas between them
		resource Resource
		allowed  bool
	}{
		{"", Resource{Providers, "acme/widget"}, false},

		{"read providers:acme/widget", Resource{Providers, "acme/widget"}, true},
		{"read providers:acme/widget", Resource{Providers, "acme/widgets"}, false},
		{"read providers:acme/widget", Resource{Providers, "acme/widge"}, false},
		{"read providers:acme/widget", Resource{Providers, "acme-evil/widget"}, false},
		{"read providers:acme/widget", Resource{Providers, "other/widget"}, false},
		{"read providers:acme/widget", Resource{Modules, "acme/widget/aws"}, false},
		{"read providers:acme/widget", Resource{Mirror, "example.com/acme/widget"}, false},
		{"read providers:acme/widget", Resource{Modules, "acme/widget"}, false},
		{"read providers:ACME/Widget", Resource{Providers, "acme/widget"}, true},

		{"read providers:acme/*", Resource{Providers, "acme/widget"}, true},
		{"read providers:acme/*", Resource{Providers, "acme-evil/widget"}, false},
		{"read providers:acme/*", Resource{Providers, "acm/widget"}, false},
		{"read providers:acme/*", Resource{Providers, "acme"}, false},
		{"read providers:acme/*", Resource{Providers, "acme/widget/x"}, false},
		{"read providers:acme/*", Resource{Providers, ""}, false},
		{"read providers:acme/*", Resource{Modules, "acme/vpc/aws"}, false},
		{"read providers:acme/*", Resource{Mirror, "acme/a/b"}, false},
		{"read providers:*/widget", Resource{Providers, "acme/widget"}, true},
		{"read providers:*/widget", Resource{Providers, "acme/gadget"}, false},
		{"read providers:*", Resource{Providers, "acme/widget"}, true},
		{"read providers:*", Resource{Modules, "acme/vpc/aws"}, false},
		{"read providers:*", Resource{Mirror, "registry.terraform.io/hashicorp/time"}, false},
		{"read providers:*/*", Resource{Providers, "acme/widget"}, true},

		{"read modules:acme/vpc/aws", Resource{Modules, "acme/vpc/aws"}, true},
		{"read modules:acme/vpc/aws", Resource{Modules, "Acme/VPC/aws"}, true},
		{"read modules:Acme/VPC/aws", Resource{Modules, "acme/vpc/aws"}, true},
		{"read modules:acme/vpc/aws", Resource{Modules, "acme/vpc/azurerm"}, false},
		{"read modules:acme/vpc/*", Resource{Modules, "acme/vpc/azurerm"}, true},
		{"read modules:acme/vpc/*", Resource{Modules, "acme/subnet/aws"}, false},
		{"read modules:acme/*", Resource{Modules, "acme/subnet/aws"}, true},
		{"read modules:acme/*", Resource{Modules, "acme-evil/subnet/aws"}, false},
		{"read modules:acme/*/aws", Resource{Modules, "acme/subnet/aws"}, true},
		{"read modules:acme/*/aws", Resource{Modules, "acme/subnet/azurerm"}, false},
		{"read modules:*", Resource{Modules, "acme/subnet/aws"}, true},
		{"read modules:*", Resource{Providers, "acme/widget"}, false},

		{"read mirror:*", Resource{Mirror, "registry.terraform.io/hashicorp/time"}, true},
		{"read mirror:*", Resource{Providers, "acme/widget"}, false}, // the registry's own, also through the mirror
		{"read mirror:registry.terraform.io/*", Resource{Mirror, "registry.terraform.io/hashicorp/time"}, true},
		{"read mirror:registry.terraform.io/*", Resource{Mirror, "registry.terraform.io.evil/hashicorp/time"}, false},
		{"read mirror:registry.terraform.io/hashicorp/*", Resource{Mirror, "registry.terraform.io/hashicorp/time"}, true},
		{"read mirror:registry.terraform.io/hashicorp/*", Resource{Mirror, "registry.terraform.io/acme/time"}, false},
		{"read mirror:registry.terraform.io/hashicorp/*", Resource{Mirror, "registry.opentofu.org/hashicorp/time"}, false},

		{"read modules:acme/*,read providers:other/*", Resource{Providers, "other/widget"}, true},
		{"read modules:acme/*,read providers:other/*", Resource{Providers, "acme/widget"}, false},

		{"read *", Resource{Providers, "acme/widget"}, true},
		{"read *", Resource{Modules, "acme/vpc/aws"}, true},
		{"read *", Resource{Mirror, "registry.terraform.io/hashicorp/time"}, true},
	} {
		var scopes Scopes
		if tt.scopes != "" {
			var err error
			if scopes, err = ParseScopes(strings.Split(tt.scopes, ",")); err != nil {
				t.Fatal(err)
			}
		}
		if got := scopes.Allow(tt.resource); got != tt.allowed {
			t.Errorf("%q allows %s: %v", tt.scopes, tt.resource, got)
		}
	}
	for _, short := range []Scope{{Providers, nil}, {Providers, []string{"acme"}}} { // which nobody can write
		if (Scopes{short}).Allow(Resource{Providers, "acme/widget"}) {
			t.Errorf("%q allows something", short)
		}
	}
	if (Scopes{{}}).Allow(Resource{}) || (Scopes{{}}).Allow(Resource{Providers, "acme/widget"}) {
		t.Error("the zero Scope allows something")
	}
}

func TestWhatIsNoScope(t *testing.T) {
	for text, want := range map[string]string{
		"":                                             "begins with read",
		"read":                                         "begins with read",
		"read ":                                        "for modules:",
		"Read *":                                       "begins with read",
		"write providers:*":                            "begins with read",
		" read *":                                      "begins with read",
		"read  providers:*":                            "for modules:",
		"read *:*":                                     "for modules:",
		"read **":                                      "for modules:",
		"read providers":                               "for modules:",
		"read provider:acme/*":                         "for modules:",
		"read providers:":                              "no part",
		"read providers:acme":                          "has 2 parts",
		"read providers:acme/":                         "no part",
		"read providers:/widget":                       "no part",
		"read providers:acme/w/x":                      "has 2 parts",
		"read providers:acme/*/*":                      "has 2 parts",
		"read providers:acme*":                         "whole part",
		"read providers:acme/w*":                       "whole part",
		"read providers:acme-*/widget":                 "whole part",
		"read providers:acme/wid get":                  "no part",
		"read providers:acme/wíd":                      "no part",
		"read providers:acme/a`":                       "no part",
		"read providers:acme/a{":                       "no part",
		"read providers:acme/a:":                       "no part",
		"read providers:acme/a@":                       "no part",
		"read providers:acme/a,":                       "no part",
		"read providers:acme/*\n":                      "whole part",
		"read modules:acme/vpc":                        "has 3 parts",
		"read modules:acme/*/":                         "no part",
		"read mirror:example.com:8443/acme/widget":     "no part",
		"read providers:" + strings.Repeat("a", 400):   "begins with read",
		"read providers:acme/*, read modules:acme/*":   "whole part",
		"read providers:acme/widget;read modules:acme": "no part",
	} {
		if scope, err := ParseScope(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "write one like") {
			t.Errorf("%q: %+v, %v; want %q", text, scope, err, want)
		}
	}
	if _, err := ParseScopes(nil); err == nil {
		t.Error("no scopes are scopes")
	}
	many := make([]string, MaxScopes+1)
	for i := range many {
		many[i] = "read *"
	}
	if _, err := ParseScopes(many); err == nil {
		t.Error("too many scopes are scopes")
	}
	for name, texts := range map[string][]string{
		"the most":         many[1:],
		"the longest":      {"read providers:acme/" + strings.Repeat("a", maxScope-len("read providers:acme/"))},
		"of every letter":  {"read providers:az/09-_."},
		"of upper letters": {"read providers:AZ/w"},
	} {
		if _, err := ParseScopes(texts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseScopes([]string{"read *", "read"}); err == nil {
		t.Error("a text that is not a scope is accepted beside one that is")
	}
	if _, err := ParseScope("read providers:acme/" + strings.Repeat("a", maxScope+1-len("read providers:acme/"))); err == nil {
		t.Error("a scope is longer than the longest")
	}
}

func TestScopesAsText(t *testing.T) {
	scopes, err := ParseScopes([]string{"read providers:Acme/*", "read *", "read providers:acme/*"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(scopes)
	if want := `["read providers:acme/*","read *"]`; err != nil || string(data) != want {
		t.Errorf("%s, %v, want %s", data, err, want)
	}
	var again Scopes
	if err := json.Unmarshal(data, &again); err != nil || again.String() != "read providers:acme/*, read *" {
		t.Errorf("%v, %v", again, err)
	}
	if err := json.Unmarshal([]byte(`["read everything"]`), &again); err == nil {
		t.Error("a text that is not a scope was read")
	}
}

func FuzzParseScope(f *testing.F) {
	for _, text := range []string{"read *", "read providers:acme/*", "read modules:a/*/aws", "read mirror:*"} {
		f.Add(text, "acme/widget")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		scope, err := ParseScope(text)
		if err != nil {
			return
		}
		again, err := ParseScope(scope.String())
		if err != nil || again.String() != scope.String() {
			t.Fatalf("%q is %q, which is read as %q, %v", text, scope, again, err)
		}
		for kind := range parts {
			r := Resource{kind, path}
			one, same := Scopes{scope}.Allow(r), Scopes{again}.Allow(r)
			if one != same || one && scope.kind != anything && scope.kind != kind {
				t.Fatalf("%q and %s", text, r)
			}
		}
	})
}
