package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/control"
)

// startStack makes the environment lead to a deployment that gives one answer
// after the other, and says what it was asked.
func startStack(t *testing.T, answers ...string) (asked *[]string) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions/")+" "+string(body))
		if len(answers) == 0 {
			w.Header().Set("X-Amzn-ErrorType", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": server.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "HOME": t.TempDir(), "LARDER_DATA": "elsewhere",
	} {
		t.Setenv(name, value)
	}
	return asked
}

// run runs a command on the deployment.
func run(t *testing.T, args ...string) (out, beside string, err error) {
	t.Helper()
	var stdout, stderr strings.Builder
	command := newCommand()
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetArgs(append(args, "--stack", "acme-registry", "--region", "eu-central-1"))
	err = command.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func TestDeploymentIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		args             []string
		answer           string
		asked, out, fail string
	}{
		"deprecate": {
			[]string{"deprecate", "acme/widget", "1.0.0", "--message", "use 2"},
			`{"standing":{"subject":"provider acme/widget 1.0.0","state":"deprecated","changed":true}}`,
			`{"standing":{"address":"acme/widget","version":"1.0.0","state":"deprecated","message":"use 2"}}`,
			"provider acme/widget 1.0.0 is deprecated\n", "",
		},
		"rotate": {
			[]string{"keys", "rotate"}, `{"error":"give another key as SigningKeyArn"}`,
			`{"rotate":{}}`, "", "give another key as SigningKeyArn",
		},
		"verify": {
			[]string{"verify", "--quick", "--after", "here"},
			`{"walked":{"steps":{"records":2,"inbox":1},"findings":[{"subject":"module a/b/c 1.0.0","problem":"It is not listed."}]}}`,
			`{"verify":{"after":"here","quick":true}}`,
			"module a/b/c 1.0.0: It is not listed.\n2 versions, 1 upload: not all is well\n", "1 problem: see above",
		},
		"notes": {
			[]string{"verify"},
			`{"walked":{"steps":{"records":2},"notes":[{"subject":"provider acme/widget 1.0.0","problem":"It is signed by key A."}]}}`,
			`{"verify":{}}`,
			"note: provider acme/widget 1.0.0: It is signed by key A.\n2 versions: nothing is wrong, but see the notes above\n", "",
		},
		"distrust": {
			[]string{"keys", "distrust", "aaaa aaaa aaaa aaaa aaaa", "aaaa aaaa aaaa aaaa", "aaaa"}, `{"distrusted":{"fingerprint":"A","changed":true}}`,
			`{"distrust":{"fingerprint":"` + strings.Repeat("aaaa ", 5) + strings.Repeat("aaaa ", 4) + `aaaa"}}`, "the key A is not trusted for new releases any more\n", "",
		},
		"distrusted already": {
			[]string{"keys", "distrust", strings.Repeat("A", 40)}, `{"distrusted":{"fingerprint":"A"}}`,
			`{"distrust":{"fingerprint":"` + strings.Repeat("A", 40) + `"}}`, "the key A was not trusted for new releases already\n", "",
		},
		"distrust, and the registry is an older one": {
			[]string{"keys", "distrust", strings.Repeat("A", 40)}, `{"walked":{"steps":{}}}`,
			`{"distrust":{"fingerprint":"` + strings.Repeat("A", 40) + `"}}`, "", "the registry answered another request: it may be of another version than this larder",
		},
		"resign": {
			[]string{"keys", "resign"}, `{"walked":{"steps":{"records":2},"changed":1}}`,
			`{"resign":{}}`, "2 versions: 1 signed anew\n", "",
		},
		"rotate the access keys": {
			[]string{"keys", "rotate-access"}, `{"access_rotated":{"access_key_id":"LARDER2","env":"/it's here/env"}}`, `{"rotate_access":{}}`,
			"the operator's access key is LARDER2 from now on, and the old one does not work any more; in every shell that uploads, source the new one:\n\n  . '/it'\\''s here/env'\n", "",
		},
		"create an uploader": {
			[]string{"uploader", "create", "acme-ci", "--namespace", "acme", "--namespace", "labs"},
			`{"uploader_created":{"name":"acme-ci","access_key_id":"LARDER1","namespaces":["acme","labs"],"secret_access_key":"s3cret","s3_url":"https://127.0.0.1:9443","region":"us-east-1","bucket":"larder"}}`,
			`{"create_uploader":{"name":"acme-ci","namespaces":["acme","labs"]}}`,
			"AWS_ACCESS_KEY_ID=LARDER1\nAWS_SECRET_ACCESS_KEY=s3cret\nAWS_ENDPOINT_URL_S3=https://127.0.0.1:9443\nAWS_REGION=us-east-1\nLARDER_BUCKET=larder\n", "",
		},
		"create an uploader for a while": {
			[]string{"uploader", "create", "acme-ci", "--namespace", "acme", "--expires", "30d"}, `{"error":"who may upload is up to IAM"}`,
			`{"create_uploader":{"name":"acme-ci","namespaces":["acme"],"lifetime":"720h0m0s"}}`, "", "who may upload is up to IAM",
		},
		"create an uploader, and the registry is an older one": {
			[]string{"uploader", "create", "acme-ci", "--namespace", "acme"}, `{"walked":{"steps":{}}}`,
			`{"create_uploader":{"name":"acme-ci","namespaces":["acme"]}}`, "", "the registry answered another request: it may be of another version than this larder; " +
				"there may be an access key that was not printed: \"larder uploader revoke acme-ci\" ends it, and the name is free again",
		},
		"list uploaders": {
			[]string{"uploader", "list"},
			`{"uploaders":{"uploaders":[{"name":"acme-ci","access_key_id":"LARDER1","namespaces":["acme","labs"],"created":"2026-11-22T12:00:00Z"},` +
				`{"name":"old","access_key_id":"LARDER2","namespaces":["old"],"created":"2025-11-22T12:00:00Z","expires":"2025-12-22T12:00:00Z"}]}}`,
			`{"list_uploaders":{}}`,
			"NAME     ACCESS KEY ID  NAMESPACES  CREATED           EXPIRES\n" +
				"acme-ci  LARDER1        acme, labs  2026-11-22 12:00  never\n" +
				"old      LARDER2        old         2025-11-22 12:00  2025-12-22 12:00 (expired)\n", "",
		},
		"list uploaders as JSON": {
			[]string{"uploader", "list", "--json"}, `{"uploaders":{"uploaders":[]}}`, `{"list_uploaders":{}}`, "{\n  \"uploaders\": []\n}\n", "",
		},
		"revoke an uploader": {
			[]string{"uploader", "revoke", "acme-ci"}, `{"uploader_revoked":{"name":"acme-ci","access_key_id":"LARDER1","namespaces":["acme"],"created":"2026-11-22T12:00:00Z"}}`,
			`{"revoke_uploader":{"which":"acme-ci"}}`, "the access key LARDER1 of the uploader acme-ci is revoked, which takes effect at once\n", "",
		},
		"keys with a problem": {
			[]string{"keys"},
			`{"walked":{"keys":[{"key_id":"1","role":"author"}],"findings":[{"subject":"s","problem":"p"}]}}`,
			`{"keys":{}}`, "KEY ID  FINGERPRINT  ROLE    TRUST  VERSIONS\n1                    author  -      0\n", "1 problem: see above",
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := startStack(t, test.answer)
			out, _, err := run(t, test.args...)
			if want := []string{`acme-registry-publish/invocations {"control":` + test.asked + `}`}; !reflect.DeepEqual(*asked, want) {
				t.Errorf("asked %q, want %q", *asked, want)
			}
			if out != test.out {
				t.Errorf("said %q, want %q", out, test.out)
			}
			if (err != nil) != (test.fail != "") || err != nil && err.Error() != test.fail {
				t.Errorf("%v, want %q", err, test.fail)
			}
		})
	}
}

// What is wrong with an uploader is said before anybody is asked.
func TestUploaderIsNotMade(t *testing.T) {
	for want, args := range map[string][]string{
		"--namespace is missing: a namespace that the uploader may upload to; may be repeated":                            {"acme-ci"},
		`"*" is not a namespace: write all of it, up to 64 lower-case letters, digits, hyphens and underscores, and no *`: {"acme-ci", "--namespace", "*"},
		`"Acme CI" is not a name for an uploader: write up to 63 lower-case letters, digits and hyphens`:                  {"Acme CI", "--namespace", "acme"},
		`--expires: "soon" is not a lifetime: write a number of days, hours or minutes, like 90d, 12h or 30m, or never`:   {"acme-ci", "--namespace", "acme", "--expires", "soon"},
		"too few arguments: use larder uploader create NAME --namespace NAMESPACE [flags]":                                {"--namespace", "acme"},
	} {
		asked := startStack(t, "{}")
		out, _, err := run(t, append([]string{"uploader", "create"}, args...)...)
		if err == nil || err.Error() != want || out != "" || len(*asked) > 0 {
			t.Errorf("%q: printed %q, asked %q: %v, want %s", args, out, *asked, err, want)
		}
	}
}

// A walk that ends in the middle says how to go on.
func TestWalkThatEnds(t *testing.T) {
	startStack(t, `{"walked":{"next":"records:it's here","steps":{"records":7}}}`)
	out, _, err := run(t, "reindex")
	if err == nil || out != "" {
		t.Fatalf("%q, %v", out, err)
	}
	for _, want := range []string{"lambda:InvokeFunction", "after 7 versions", `--after 'records:it'\''s here'`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What parts say of a key adds up.
func TestMergeKeys(t *testing.T) {
	keys := mergeKeys(nil, []control.Key{
		{KeyID: "A", Fingerprint: "AA", Role: control.Current, Versions: []string{"a/b 1.0.0"}},
		{KeyID: "B", Fingerprint: "BB", Role: control.Replaced},
		{KeyID: "C", Fingerprint: "CC", Role: control.Author, Trust: control.Trusted, Namespaces: []string{"a"}},
	})
	keys = mergeKeys(keys, []control.Key{
		{KeyID: "C", Fingerprint: "CC", Role: control.Author, Trust: control.Trusted, Namespaces: []string{"a", "b"}},
	})
	keys = mergeKeys(keys, []control.Key{
		{KeyID: "C", Fingerprint: "CC", Role: control.Author, Trust: control.Revoked},
		{KeyID: "C", Role: control.Author, Versions: []string{"a/b 1.1.0"}},
		{KeyID: "A", Role: control.Replaced, Versions: []string{"a/b 1.2.0"}}, // rotated meanwhile
	})
	want := []control.Key{
		{KeyID: "A", Fingerprint: "AA", Role: control.Replaced, Versions: []string{"a/b 1.0.0", "a/b 1.2.0"}},
		{KeyID: "B", Fingerprint: "BB", Role: control.Replaced},
		{KeyID: "C", Fingerprint: "CC", Role: control.Author, Trust: control.Revoked, Namespaces: []string{"a", "b"}, Versions: []string{"a/b 1.1.0"}},
	}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("%+v, want %+v", keys, want)
	}
}
