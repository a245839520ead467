package access

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestClaims has every rule of patterns, with what does not fit.
func TestClaims(t *testing.T) {
	const branch = `"repo:acme/widget:ref:refs/heads/main"`
	for _, tt := range []struct {
		pattern, value string // as JSON
		fits           bool
	}{
		{"acme", `"acme"`, true},
		{"acme", `"Acme"`, false},
		{"acme", `"acme "`, false},
		{"acme", `"acme-evil"`, false},
		{"acme", `"acm"`, false},
		{"acme", `""`, false},
		{"acme", `null`, false},
		{"acme", `{"acme":"acme"}`, false},
		{"acme", `["other","acme"]`, true},
		{"acme", `["acme-evil"]`, false},
		{"acme", `[["acme"]]`, false},
		{"acme", `[]`, false},
		{"true", `true`, true},
		{"true", `false`, false},
		{"true", `"true"`, true},
		{"1", `1`, true},
		{"1", `1.0`, false},
		{"12345678901234567890", `12345678901234567890`, true},
		{"12345678901234567891", `12345678901234567890`, false},
		{"*", `true`, false},
		{"*", `1`, false},

		{"repo:acme/*", branch, true},
		{"repo:acme/*", `"repo:acme/widget"`, true},
		{"repo:acme/*", `"repo:acme-evil/x"`, false},
		{"repo:acme/*", `"repo:acme-evil/widget:ref:refs/heads/main"`, false},
		{"repo:acme/*", `"repo:acme/"`, false},
		{"repo:acme/*", `"repo:acme"`, false},
		{"repo:acme/*", `"repo:acme//x"`, false},
		{"repo:acme/*", `"repo:acme:x"`, false},
		{"repo:acme:*", `"repo:acme::x"`, false},
		{"repo:acme:*", `"repo:acme:/x"`, false},
		{"repo:acme/*", `"xrepo:acme/widget"`, false},
		{"repo:acme/*", `"evil/repo:acme/widget"`, false},
		{"repo:acme/*", `"repo:evil/x:repo:acme/widget"`, false},
		{"repo:acme/*", `"REPO:acme/widget"`, false},
		{"repo:acme/*:ref:refs/heads/main", branch, true},
		{"repo:acme/*:ref:refs/heads/main", `"repo:acme/widget:ref:refs/heads/evil"`, false},
		{"repo:acme/*:ref:refs/heads/main", `"repo:acme/widget:ref:refs/heads/main/x"`, false},
		{"repo:acme/*:ref:refs/heads/main", `"repo:acme/widget:ref:refs/heads/main-evil"`, false},
		{"repo:acme/*:ref:refs/heads/main", `"repo:acme/widget:environment:x:ref:refs/heads/main"`, false},
		{"repo:acme/*:ref:refs/heads/main", `"repo:acme/a/b:ref:refs/heads/main"`, false},
		{"repo:acme/widget:*", branch, true},
		{"repo:acme/widget:*", `"repo:acme/widget:pull_request"`, true},
		{"repo:acme/widget:*", `"repo:acme/widget-evil:pull_request"`, false},
		{"repo:acme/widget:*", `"repo:acme/widget"`, false},
		{"repo:acme/widget:ref:refs/heads/release/*", `"repo:acme/widget:ref:refs/heads/release/1"`, true},
		{"repo:acme/widget:ref:refs/heads/release/*", `"repo:acme/widget:ref:refs/heads/release"`, false},
		{"*", `"anything:at/all"`, true},
		{"*", `""`, false},
		{"*", `"/x"`, false},
		{"*/x", `"a/x"`, true},
		{"*/x", `"a/b/x"`, false},
		{"project_path:acme/infra/*", `"project_path:acme/infra/net:ref_type:branch:ref:main"`, true},
		{"project_path:acme/infra/*", `"project_path:acme/infrastructure/net:ref_type:branch:ref:main"`, false},
	} {
		claim, err := ParseClaim("sub=" + tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(strings.NewReader(`{"sub":` + tt.value + `}`))
		decoder.UseNumber()
		var claims Claims
		if err := decoder.Decode(&claims); err != nil {
			t.Fatal(err)
		}
		if got := (Rule{Claims: []Claim{claim}}).Fits(claims); got != tt.fits {
			t.Errorf("%s fits %s: %v", tt.pattern, tt.value, got)
		}
	}
	if (Rule{}).Fits(Claims{"sub": "x"}) {
		t.Error("a rule without claims fits")
	}
	if (Rule{Claims: []Claim{{"sub", "x"}, {"ref", "main"}}}).Fits(Claims{"sub": "x"}) {
		t.Error("a rule fits although one claim is missing")
	}
}

func TestWhatIsNoClaim(t *testing.T) {
	for _, text := range []string{"", "sub", "=x", "sub=", "sub=repo:acme*", "sub=*x", "sub=a/**", "sub=repo:acme/wid*:x", "su\nb=x", "sub=a\u202eb", "sub=a\xff", "sub=" + strings.Repeat("a", maxText+1)} {
		if claim, err := ParseClaim(text); err == nil {
			t.Errorf("%.60q is the claim %v", text, claim)
		}
	}
	if _, err := ParseClaim("repository_owner"); err == nil || !strings.Contains(err.Error(), "write NAME=PATTERN") {
		t.Errorf("the error does not say how a claim is written: %v", err)
	}
	if _, err := ParseClaim("sub=" + strings.Repeat("a", maxText)); err != nil {
		t.Errorf("the longest pattern: %v", err)
	}
	if claim, err := ParseClaim("cognito:groups=a=b"); err != nil || claim != (Claim{"cognito:groups", "a=b"}) || claim.String() != "cognito:groups=a=b" {
		t.Errorf("%+v, %v", claim, err)
	}
}

func rule(t *testing.T, change func(*Rule)) Rule {
	t.Helper()
	scopes, err := ParseScopes([]string{"read providers:acme/*"})
	if err != nil {
		t.Fatal(err)
	}
	r := Rule{
		Name: "acme", Use: ForPipelines, Issuer: "https://token.actions.githubusercontent.com", Audience: "https://registry.example.com",
		Claims: []Claim{{"repository_owner", "acme"}}, Scopes: scopes, Lifetime: Duration(15 * time.Minute),
	}
	change(&r)
	return r
}

func claims(texts ...string) func(*Rule) {
	return func(r *Rule) {
		r.Claims = nil
		for _, text := range texts {
			name, pattern, _ := strings.Cut(text, "=")
			r.Claims = append(r.Claims, Claim{name, pattern})
		}
	}
}

func TestRules(t *testing.T) {
	gitlab := func(text string) func(*Rule) {
		return func(r *Rule) { claims(text)(r); r.Issuer = "https://gitlab.com" }
	}
	people := func(r *Rule) {
		r.Use, r.Issuer, r.Audience, r.Lifetime = ForPeople, "", "", Duration(90*24*time.Hour)
		r.Claims = []Claim{{"groups", "platform"}}
	}
	for _, change := range []func(*Rule){
		func(*Rule) {}, claims("sub=repo:acme/*"), claims("sub=repo:acme/widget:*"), claims("repository=acme/*"), claims("repository_id=1"), claims("ref=x", "repository_owner=acme"),
		gitlab("namespace_path=acme"), gitlab("sub=project_path:acme/*"), gitlab("project_id=1"),
		func(r *Rule) { r.Claims = manyClaims(maxClaims) }, func(r *Rule) { r.Scopes = manyScopes(t, MaxScopes) },
		func(r *Rule) { r.Uploads = []string{"acme", "labs"} }, func(r *Rule) { r.Scopes, r.Uploads = nil, []string{"acme"} },
		func(r *Rule) { r.Lifetime = Duration(MinLifetime) }, func(r *Rule) { r.Lifetime = Duration(MaxPipelineLifetime) },
		func(r *Rule) { people(r); r.Lifetime = Duration(MaxPersonLifetime) },
		func(r *Rule) { r.Issuer = "https://gitlab.example.com"; r.Claims = []Claim{{"ref", "main"}} },
		func(r *Rule) { r.Issuer = "https://gitlab.example.com:8443/x" },
		func(r *Rule) {
			r.Issuer = "https://agent.buildkite.com"
			r.Claims = []Claim{{"sub", "organization:acme:*"}}
		},
		func(r *Rule) {
			r.Issuer = "https://app.terraform.io"
			r.Claims = []Claim{{"terraform_organization_name", "acme"}}
		},
		func(r *Rule) { r.Issuer = "https://accounts.google.com"; r.Claims = []Claim{{"hd", "example.com"}} },
		people, func(r *Rule) { people(r); r.Claims = []Claim{{"sub", "*"}} },
	} {
		if r := rule(t, change); r.Validate() != nil {
			t.Errorf("%+v: %v", r, r.Validate())
		}
	}
	for want, changes := range map[string][]func(*Rule){
		"everybody can have an identity": {
			claims("ref=refs/heads/main"), claims("sub=repo:*/widget:ref:x"), claims("sub=repo:*"), claims("sub=*:acme"), claims("repository=*/widget"), claims("actor=alice"),
			claims("sub=environment:prod"), claims("sub=repo:"), gitlab("sub=project_path:"), claims("workflow=x", "repository_owner=*"), gitlab("ref=main"), gitlab("sub=project_path:*/x"), gitlab("namespace_path=*/x"), gitlab("repository_owner=acme"),
			func(r *Rule) { r.Issuer += "/"; r.Claims = []Claim{{"ref", "x"}} },
			func(r *Rule) {
				r.Issuer = "https://agent.buildkite.com"
				r.Claims = []Claim{{"pipeline_slug", "release"}}
			},
			func(r *Rule) {
				r.Issuer = "https://agent.buildkite.com"
				r.Claims = []Claim{{"sub", "organization:*:pipeline:x"}}
			},
			func(r *Rule) {
				r.Issuer = "https://app.terraform.io"
				r.Claims = []Claim{{"terraform_workspace_name", "prod"}}
			},
			func(r *Rule) {
				r.Issuer = "https://app.terraform.io"
				r.Claims = []Claim{{"sub", "organization:*"}}
			},
			func(r *Rule) {
				r.Issuer = "https://accounts.google.com"
				r.Claims = []Claim{{"email_verified", "true"}}
			},
		},
		"trusts everybody": {claims("sub=*"), claims("sub=*", "ref=*/*"), claims("sub=*:*")},
		"1 to 20 claims":   {claims(), func(r *Rule) { r.Claims = manyClaims(maxClaims + 1) }},
		"next to other":    {claims("sub=acme*")},
		"not a name":       {func(r *Rule) { r.Name = "" }, func(r *Rule) { r.Name = "Acme" }, func(r *Rule) { r.Name = "a b" }, func(r *Rule) { r.Name = "-a" }},
		"not an issuer": {
			func(r *Rule) { r.Issuer = "" }, func(r *Rule) { r.Issuer = "http://gitlab.example.com" }, func(r *Rule) { r.Issuer = "gitlab.com" },
			func(r *Rule) { r.Issuer = "https://u:p@gitlab.com" }, func(r *Rule) { r.Issuer = "https://gitlab.com?x" },
			func(r *Rule) { r.Issuer = "https://gitlab.example.com#x" }, func(r *Rule) { r.Issuer = "https:///x" }, func(r *Rule) { r.Issuer = "https://[::1" }, func(r *Rule) { r.Issuer = "https://" + strings.Repeat("a", maxText) },
		},
		"no audience":                       {func(r *Rule) { r.Audience = "" }, func(r *Rule) { r.Audience = "a\nb" }},
		"scopes":                            {func(r *Rule) { r.Scopes = nil }, func(r *Rule) { r.Scopes = manyScopes(t, MaxScopes+1) }},
		"lifetime":                          {func(r *Rule) { r.Lifetime = 0 }, func(r *Rule) { r.Lifetime = Duration(MinLifetime - 1) }, func(r *Rule) { r.Lifetime = Duration(MaxPipelineLifetime + 1) }, func(r *Rule) { people(r); r.Lifetime = Duration(MaxPersonLifetime + 1) }},
		"for pipelines":                     {func(r *Rule) { r.Use = "x" }},
		"uploads: \"*\" is not a namespace": {func(r *Rule) { r.Uploads = []string{"acme", "*"} }},
		"uploads: there must be 1 to 20":    {func(r *Rule) { r.Uploads = make([]string, MaxNamespaces+1) }},
		"lets nobody upload":                {func(r *Rule) { people(r); r.Uploads = []string{"acme"} }},
		"neither issuer nor":                {func(r *Rule) { people(r); r.Issuer = "https://gitlab.com" }, func(r *Rule) { people(r); r.Audience = "x" }},
	} {
		for i, change := range changes {
			if err := rule(t, change).Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d: %v", want, i, err)
			}
		}
	}
}

func manyClaims(n int) []Claim {
	all := make([]Claim, n)
	for i := range all {
		all[i] = Claim{"repository_owner", "acme"}
	}
	return all
}

func manyScopes(t *testing.T, n int) Scopes {
	t.Helper()
	var all Scopes
	for i := range n {
		scope, err := ParseScope(fmt.Sprintf("read providers:acme-%d/*", i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, scope)
	}
	return all
}

// TestOwners has every issuer that gives everybody an identity, every claim of it that
// names the owner, and values of these claims that name nobody.
func TestOwners(t *testing.T) {
	for issuer, rows := range map[string]string{
		"https://token.actions.githubusercontent.com": `sub=repo:acme/* repository=acme/widget repository_owner=acme repository_id=1
			repository_owner_id=1 enterprise=acme enterprise_id=1`,
		"https://gitlab.com":          `sub=project_path:acme/* project_path=acme/widget project_id=1 namespace_path=acme namespace_id=1`,
		"https://agent.buildkite.com": `sub=organization:acme:* organization_slug=acme organization_id=1 pipeline_id=1`,
		"https://app.terraform.io": `sub=organization:acme:* terraform_organization_name=acme terraform_organization_id=1
			terraform_workspace_id=1`,
		"https://accounts.google.com": `sub=1 email=deploy@acme.example hd=acme.example`,
	} {
		for claim := range strings.FieldsSeq(rows) {
			change := func(claim string) func(*Rule) {
				return func(r *Rule) { claims(claim)(r); r.Issuer = issuer }
			}
			if err := rule(t, change(claim)).Validate(); err != nil {
				t.Errorf("%s, %s: %v", issuer, claim, err)
			}
			name, _, _ := strings.Cut(claim, "=")
			for _, other := range []string{"*/acme", "acme_" + claim} {
				if other == "*/acme" {
					other = name + "=" + other
				}
				if err := rule(t, change(other)).Validate(); err == nil || !strings.Contains(err.Error(), "everybody can have an identity") {
					t.Errorf("%s, %s: %v", issuer, other, err)
				}
			}
		}
	}
}

func TestGives(t *testing.T) {
	scopes, err := ParseScopes([]string{"read providers:acme/*", "read modules:*"})
	if err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]Rule{
		"read providers:acme/*, read modules:*":                       {Scopes: scopes},
		"upload to acme, labs":                                        {Uploads: []string{"acme", "labs"}},
		"read providers:acme/*, read modules:*, upload to acme, labs": {Scopes: scopes, Uploads: []string{"acme", "labs"}},
	} {
		if got := r.Gives(); got != want {
			t.Errorf("it gives %s, want %s", got, want)
		}
	}
}

func TestGranted(t *testing.T) {
	widget, _ := ParseScopes([]string{"read providers:acme/*", "read modules:*"})
	rules := []Rule{
		rule(t, func(*Rule) {}),
		rule(t, func(r *Rule) {
			r.Name, r.Scopes, r.Lifetime = "main", widget, Duration(time.Minute)
			r.Claims = append(r.Claims, Claim{"ref", "main"})
		}),
		rule(t, func(r *Rule) {
			r.Name = "long" // and comes after a shorter one
			r.Claims = []Claim{{"ref", "main"}}
		}),
		rule(t, func(r *Rule) {
			r.Name, r.Scopes, r.Uploads = "release", nil, []string{"acme", "labs"}
			r.Claims = []Claim{{"ref_type", "tag"}}
		}),
		rule(t, func(r *Rule) {
			r.Name, r.Uploads = "both", []string{"labs", "x"}
			r.Claims = []Claim{{"ref_type", "tag"}}
		}),
		rule(t, func(r *Rule) { r.Name = "other"; r.Claims = []Claim{{"repository_owner", "other"}} }),
	}
	for _, tt := range []struct {
		claims Claims
		want   string
	}{
		{Claims{"repository_owner": "acme", "ref": "x"}, "[acme] read providers:acme/* [] 15m0s"},
		{Claims{"repository_owner": "acme", "ref": "main"}, "[acme main long] read providers:acme/*, read modules:* [] 1m0s"},
		{Claims{"ref_type": "tag"}, "[release both] read providers:acme/* [acme labs x] 15m0s"},
		{Claims{"repository_owner": "stranger"}, "[]  [] 0s"},
		{nil, "[]  [] 0s"},
	} {
		g := Granted(rules, tt.claims)
		if got := "[" + strings.Join(g.Rules, " ") + "] " + g.Scopes.String() + " [" + strings.Join(g.Uploads, " ") + "] " + g.Lifetime.String(); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.claims, got, tt.want)
		}
	}
}

func TestRuleAsText(t *testing.T) {
	r := rule(t, func(*Rule) {})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Rule
	if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(again, r) || !strings.Contains(string(data), `"lifetime":"15m0s"`) {
		t.Errorf("%s is read as %+v, %v", data, again, err)
	}
	if err := json.Unmarshal([]byte(`{"lifetime":"for ever"}`), &again); err == nil {
		t.Error("a text that is not a lifetime was read")
	}
}

// A pattern without a wildcard fits itself alone. With one, it fits only values that
// begin with the letters before the wildcard.
func FuzzClaim(f *testing.F) {
	f.Add("repo:acme/*", "repo:acme-evil/x")
	f.Add("repo:acme/*:ref:x", "repo:acme/widget:ref:x")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		claim, err := ParseClaim("sub=" + pattern)
		if err != nil {
			return
		}
		fits := claim.fits(value)
		letters, _, wild := strings.Cut(pattern, wildcard)
		if fits && !strings.HasPrefix(value, letters) || !wild && fits != (pattern == value) {
			t.Fatalf("%q fits %q: %v", pattern, value, fits)
		}
	})
}
