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
			`{"distrust":{"fingerprint":"` + strings.Repeat("A", 40) + `"}}`, "", "the registry gave an answer to something else: it may be of another version than this larder",
		},
		"resign": {
			[]string{"keys", "resign"}, `{"walked":{"steps":{"records":2},"changed":1}}`,
			`{"resign":{}}`, "2 versions: 1 signed anew\n", "",
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
