package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
)

func TestTrustAdd(t *testing.T) {
	for line, test := range map[string]struct{ rule, says string }{
		"--github --audience https://r.example --claim repository_owner=acme --scope": {
			`{"name":"x","use":"pipelines","issuer":"https://token.actions.githubusercontent.com","audience":"https://r.example","claims":[{"name":"repository_owner","pattern":"acme"}],"scopes":["read *"],"lifetime":"15m0s"}`,
			"the rule x gives pipelines tokens that are valid for 15m\n",
		},
		"--gitlab --audience a --claim namespace_path=acme --claim ref_protected=true --lifetime 1h --scope": {
			`{"name":"x","use":"pipelines","issuer":"https://gitlab.com","audience":"a","claims":[{"name":"namespace_path","pattern":"acme"},{"name":"ref_protected","pattern":"true"}],"scopes":["read *"],"lifetime":"1h0m0s"}`,
			"the rule x gives pipelines tokens that are valid for 1h\n",
		},
		"--issuer https://ci.example --audience a --claim sub=build --scope": {
			`{"name":"x","use":"pipelines","issuer":"https://ci.example","audience":"a","claims":[{"name":"sub","pattern":"build"}],"scopes":["read *"],"lifetime":"15m0s"}`,
			"the rule x gives pipelines tokens that are valid for 15m\n",
		},
		"--login --claim groups=platform --scope": {
			`{"name":"x","use":"people","claims":[{"name":"groups","pattern":"platform"}],"scopes":["read *"],"lifetime":"2160h0m0s"}`,
			"the rule x gives people tokens that are valid for 90d\n",
		},
	} {
		asked := startStack(t, `{"rule":`+test.rule+`}`)
		out, _, err := run(t, append(append([]string{"trust", "add", "x"}, strings.Fields(line)...), "read *")...)
		if err != nil || out != test.says {
			t.Errorf("%s: %q, %v", line, out, err)
			continue
		}
		if want := `acme-registry-login/invocations {"access":{"add_rule":` + test.rule + `}}`; (*asked)[0] != want {
			t.Errorf("%s: asked\n%s, want\n%s", line, (*asked)[0], want)
		}
	}
}

// A rule that would trust strangers is refused before anybody is asked.
func TestTrustAddRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"--github --claim repository_owner=acme":                         "audience",
		"--github --audience a --claim repository_owner=*":               "everybody",
		"--github --audience a --claim environment=production":           "repository_owner=acme",
		"--issuer http://ci.example --audience a --claim a=b":            "https://",
		"--login --claim a=b --lifetime 367d":                            "lifetime",
		"--issuer https://ci.example --audience a --claim a=b*":          "*",
		"--github --audience a --claim repository_id=1 --lifetime 2d":    "lifetime",
		"--github --audience a --claim repository_id=1 --lifetime never": "--lifetime",
	} {
		asked := startStack(t)
		_, _, err := run(t, append(append([]string{"trust", "add", "x"}, strings.Fields(line)...), "--scope", "read *")...)
		if err == nil || !strings.Contains(err.Error(), want) || len(*asked) > 0 {
			t.Errorf("%s: %v, and asked %q; want %q", line, err, *asked, want)
		}
	}
}

const oneRule = `{"name":"github","use":"pipelines","issuer":"https://ci.example","audience":"a","claims":[{"name":"sub","pattern":"b"},{"name":"c","pattern":"d"}],"scopes":["read *"],"uploads":["acme","labs"],"lifetime":"15m0s"}`

// The rules of a single node say who may upload; those of a deployment do not.
func TestTrustUploads(t *testing.T) {
	line := strings.Fields("trust add x --github --audience a --claim repository=acme/x --upload acme --upload labs")
	asked := startStack(t)
	_, _, err := run(t, line...)
	if want := "--upload is for a single node: on AWS, pipelines upload with an IAM role, whose trust policy says which pipelines may; docs/ci.md says more"; err == nil || err.Error() != want || len(*asked) > 0 {
		t.Errorf("%v, and asked %q", err, *asked)
	}
	for _, test := range []struct {
		scopes, uploads []string
		want            string
	}{
		{nil, []string{"acme"}, "access keys"},
		{[]string{"read *"}, []string{"acme"}, "tokens and access keys"},
		{[]string{"read *"}, nil, "tokens"},
	} {
		r := ruleFlags{github: true, audience: "a", claims: []string{"repository=acme/x"}, scopes: test.scopes, uploads: test.uploads}
		rule, err := r.rule("x")
		if err != nil || grants(rule) != test.want {
			t.Errorf("%q and %q: gives %s, %v, want %s", test.scopes, test.uploads, grants(rule), err, test.want)
		}
	}
	for want, more := range map[string]string{
		"say --scope or --upload": "",
		`uploads: "acme*" is not a namespace: write all of it, up to 64 lower-case letters, digits, hyphens and underscores, and no *`: "--upload acme*",
	} {
		asked := startStack(t)
		_, _, err := run(t, strings.Fields("trust add x --github --audience a --claim repository=acme/x "+more)...)
		if err == nil || err.Error() != want || len(*asked) > 0 {
			t.Errorf("%q: %v, want %s", more, err, want)
		}
	}
	startStack(t)
	if _, _, err := run(t, strings.Fields("trust add x --login --claim groups=x --upload acme")...); err == nil ||
		err.Error() != `a rule for people lets nobody upload: make an uploader for who does, with "larder uploader create"` {
		t.Errorf("for people: %v", err)
	}
}

func TestTrustList(t *testing.T) {
	startStack(t, `{"rules":{"rules":[`+oneRule+`]}}`)
	out, _, err := run(t, "trust", "list")
	want := "NAME    FOR        ISSUER              AUDIENCE  CLAIMS      SCOPES  UPLOADS     LIFETIME\n" +
		"github  pipelines  https://ci.example  a         sub=b, c=d  read *  acme, labs  15m\n"
	if err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	startStack(t, `{"rules":{"rules":[`+oneRule+`]}}`)
	out, _, err = run(t, "trust", "list", "--json")
	var document struct{ Rules []access.Rule }
	if err != nil || json.Unmarshal([]byte(out), &document) != nil || len(document.Rules) != 1 || document.Rules[0].Name != "github" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTrustRemove(t *testing.T) {
	const (
		removed = "the rule github is removed\n"
		tokens  = "tokens that it gave are valid until they expire, in 15m at the latest: \"larder token list --all\" lists them, and \"larder token revoke\" ends them\n"
		keys    = "access keys that it gave are valid until they expire, in an hour at the latest: \"larder keys rotate-access\" ends them\n"
	)
	for rule, want := range map[string]string{
		oneRule: removed + tokens + keys,
		strings.Replace(oneRule, `"uploads":["acme","labs"],`, "", 1): removed + tokens,
		strings.Replace(oneRule, `"scopes":["read *"],`, "", 1):       removed + keys,
	} {
		asked := startStack(t, `{"rule":`+rule+`}`)
		out, _, err := run(t, "trust", "remove", "github")
		if err != nil || accessRequest(t, (*asked)[0]).RemoveRule.Name != "github" {
			t.Fatalf("asked %q: %v", *asked, err)
		}
		if out != want {
			t.Errorf("%s: said\n%s\nwant\n%s", rule, out, want)
		}
	}
	secret, _ := access.NewToken()
	asked := startStack(t, `{"rule":`+oneRule+`}`)
	if _, _, err := run(t, "trust", "remove", secret); err == nil || strings.Contains(err.Error(), secret) || len(*asked) > 0 {
		t.Errorf("a token: %v, and asked %q", err, *asked)
	}
}
