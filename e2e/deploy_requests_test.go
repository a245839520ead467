package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"

	"slices"
	"strings"

	"testing"

	"github.com/larder-registry/larder/internal/awstest"
)

// An answer that a client installs by reads the catalog once, and makes no other request to AWS. Details read a version
// and its listing, and the documentation. These are the usual requests.
func TestRequestsToAWSOfAnswers(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	publishWire(t, s.registry)
	var rows []string
	for _, ask := range []struct{ name, path string }{
		{"discovery", "/.well-known/terraform.json"},
		{"a path that is no route", "/v1/nothing"},
		{"versions of a module", sharedModule + "versions"},
		{"download of a module", sharedModule + "1.2.0/download"},
		{"newest version of a module", sharedModule + "download"},
		{"details of a module", sharedModule + "1.2.0"},
		{"the same again", sharedModule + "1.2.0"},
		{"details of the newest version", strings.TrimSuffix(sharedModule, "/")},
		{"versions of a provider", sharedProvider + "versions"},
		{"download of a provider", sharedProvider + "1.0.0/download/linux/amd64"},
		{"details of a provider", sharedProvider + "1.0.0"},
		{"a list", "/v1/modules"},
		{"a search", "/v1/modules/search?q=network"},
		{"a list of providers", "/v1/providers"},
		{"versions in the mirror", sharedMirror + "index.json"},
		{"a version in the mirror", sharedMirror + "1.0.0.json"},
		{"what is not there", "/v1/modules/nobody/network/aws/versions"},
		{"what cannot be there", "/v1/modules/-/network/aws/versions"},
	} {
		a := s.ask(t, http.MethodGet, ask.path)
		all := s.Requests()
		rows = append(rows, row(ask.name, fmt.Sprint(a.status), requested(all[len(all)-1].Calls)))
	}
	checkTable(t, requestsFile, "answers", rows)
}

// What publishing costs in requests to AWS, upload by upload on a registry that was empty.
func TestRequestsToAWSOfUploads(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	const widget, mirrored = "providers/acme/widget/terraform-provider-widget_1.0.0_", "mirror/registry.terraform.io/acme/widget/"
	var rows []string
	for _, upload := range []struct {
		name, key string
		body      []byte
		status    string
	}{
		{"the very first, a module", "modules/acme/label/null/1.0.0.tar.gz", tinyModule(t, "1.0.0"), published},
		{"a module", "modules/acme/label/null/1.1.0.tar.gz", tinyModule(t, "1.1.0"), published},
		{"the same bytes again", "modules/acme/label/null/1.1.0.tar.gz", tinyModule(t, "1.1.0"), published},
		{"other bytes", "modules/acme/label/null/1.1.0.tar.gz", tinyModule(t, "other"), rejected},
		{"a provider package", widget + "linux_amd64.zip", providerZip(t, "widget", "1.0.0", "amd64"), published},
		{"one more of its version", widget + "linux_arm64.zip", providerZip(t, "widget", "1.0.0", "arm64"), published},
		{"a package for the mirror", mirrored + "terraform-provider-widget_1.0.0_linux_amd64.zip", providerZip(t, "widget", "1.0.0", "mirror"), published},
		{"its document", mirrored + "1.0.0.json", []byte(`{"archives":{}}`), ignored},
		{"a stray file", "providers/acme/widget/README.md", []byte("stray"), ignored},
	} {
		s.Rest(t)
		before := len(s.Invocations())
		s.expect(t, s.put(t, upload.key, upload.body), upload.status)
		s.Rest(t)
		runs := s.Invocations()[before:]
		if len(runs) != 1 {
			t.Fatalf("%s: publish ran %d times, want once", upload.name, len(runs))
		}
		rows = append(rows, row(upload.name, upload.status, requested(runs[0].Calls)))
	}
	checkTable(t, requestsFile, "uploads", rows)
}

// What operators' requests cost in requests to AWS, on a registry with one version of a module and one of a provider.
func TestRequestsToAWSOfOperators(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	s.publish(t, "modules/acme/label/null/1.0.0.tar.gz", tinyModule(t, "1.0.0"))
	s.publish(t, "providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", providerZip(t, "widget", "1.0.0", "x"))
	s.Rest(t)
	var rows []string
	for _, args := range [][]string{
		{"deprecate", "acme/widget", "1.0.0", "--message", "no"},
		{"withdraw", "acme/label/null", "1.0.0"},
		{"restore", "acme/label/null", "1.0.0"},
		{"keys"},
		{"keys", "resign"},
		{"reindex"},
		{"verify", "--quick"},
		{"verify"},
	} {
		before := len(s.Invocations())
		s.operate(t, args...)
		runs := s.Invocations()[before:]
		if len(runs) != 1 {
			t.Fatalf("%v: publish ran %d times, want once", args, len(runs))
		}
		words := slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word != "resign" && word != "--quick" && word != args[0] })
		rows = append(rows, row("`larder "+strings.Join(words, " ")+"`", requested(runs[0].Calls)))
	}
	checkTable(t, requestsFile, "operators", rows)
}

// What tokens cost in requests to AWS: to read with a token, to get one, and for operators.
func TestRequestsToAWSOfTokens(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := startStackWith(t, awstest.Config{Closed: true, Upstreams: unreachable + "/*/*", Trusted: readFile(t, ca.file)})
	publishWire(t, s.registry)
	checkTable(t, requestsFile, "reading with a token", s.readWithTokens(t))
	checkTable(t, requestsFile, "operators of tokens", s.operateTokens(t))

	i := startIssuer(t, ca)
	s.operate(t, "trust", "add", "ci", "--issuer", i.url, "--audience", "test", "--claim", "repository_owner=acme", "--scope", "read *")
	var rows []string
	for _, owner := range []string{"acme", "other"} {
		a := s.exchange(t, i, owner)
		rows = append(rows, row("a repository of "+owner, fmt.Sprint(a.status), s.lastRequested()))
	}
	checkTable(t, requestsFile, "pipelines", rows)
}

// lastRequested is which requests the last answer took.
func (s *stack) lastRequested() string {
	all := s.Requests()
	return requested(all[len(all)-1].Calls)
}

// readWithTokens reads everything with a token of its own, which was not used before.
func (s *stack) readWithTokens(t testing.TB) (rows []string) {
	t.Helper()
	for n, ask := range []struct{ name, path, scope string }{
		{"versions of a module", sharedModule + "versions", "read *"},
		{"download of a module", sharedModule + "1.2.0/download", "read *"},
		{"newest version of a module", sharedModule + "download", "read *"},
		{"details of a module", sharedModule + "1.2.0", "read *"},
		{"versions of a provider", sharedProvider + "versions", "read *"},
		{"download of a provider", sharedProvider + "1.0.0/download/linux/amd64", "read *"},
		{"details of a provider", sharedProvider + "1.0.0", "read *"},
		{"a search", "/v1/modules/search?q=network", "read *"},
		{"versions in the mirror", sharedMirror + "index.json", "read *"},
		{"a version in the mirror", sharedMirror + "1.0.0.json", "read *"},
		{"what is not there", "/v1/modules/nobody/network/aws/versions", "read *"},
		{"what the token has no scope for", sharedModule + "versions", "read modules:other/*"},
	} {
		token := s.newToken(t, fmt.Sprint("reader ", n), ask.scope)
		a := s.askAs(t, token, ask.path)
		rows = append(rows, row(ask.name, "good", fmt.Sprint(a.status), s.lastRequested()))
	}
	for _, shown := range []struct{ name, token string }{
		{"unknown", unknownToken}, {"none that could be good", "not-a-token"}, {"none", ""},
	} {
		a := s.askAs(t, shown.token, sharedModule+"versions")
		rows = append(rows, row("versions of a module", shown.name, fmt.Sprint(a.status), s.lastRequested()))
	}
	return rows
}

// operateTokens runs the operators' commands for tokens and rules, in a registry that has some already.
func (s *stack) operateTokens(t testing.TB) (rows []string) {
	t.Helper()
	for _, args := range [][]string{
		{"token", "create", "--name", "one", "--scope", "read *"},
		{"token", "list"},
		{"token", "revoke", "one"},
		{"trust", "add", "people", "--login", "--claim", "groups=platform", "--scope", "read *"},
		{"trust", "list"},
		{"trust", "remove", "people"},
	} {
		before := len(s.Asked())
		s.operate(t, args...)
		runs := s.Asked()[before:]
		if len(runs) != 1 {
			t.Fatalf("%v: login ran %d times, want once", args, len(runs))
		}
		rows = append(rows, row("`larder "+strings.Join(args[:2], " ")+"`", requested(runs[0].Calls)))
	}
	return rows
}

// requested is the requests to AWS and their numbers, in one line.
func requested(calls []awstest.Call) string {
	counts := awstest.Requests(calls)
	if len(counts) == 0 {
		return "none"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[name], strings.Replace(name, ":", " ", 1)))
	}
	return strings.Join(all, ", ")
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// requestsFile lists the requests to AWS.
const requestsFile = "../docs/aws-requests.md"

// checkTable wants a table of a page of the docs to have these rows, under a head of two lines.
func checkTable(t testing.TB, page, name string, rows []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(text), "<!-- "+name+" -->\n")
	table, _, ends := strings.Cut(rest, "<!-- /"+name+" -->\n")
	lines := strings.SplitAfter(table, "\n")
	if want := strings.Join(rows, ""); !begins || !ends || len(lines) < 3 || strings.Join(lines[2:], "") != want {
		t.Errorf("%s has other rows in its table of %s than\n%s", page, name, want)
	}
}
