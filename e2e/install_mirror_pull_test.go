package e2e

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/awstest"
)

// unreachable is an origin that no function connects to, because its address is not public.
const unreachable = "127.0.0.1"

// mirrorPath is where the mirror has a provider.
func mirrorPath(hostname, provider string) string {
	return "/v1/mirror/" + hostname + "/" + provider + "/"
}

// While an origin cannot be reached, a mirror that pulls through serves what it has, and says that the rest is not
// there. The function fetch does all of it, with one read of the catalog.
func TestPullingMirrorWithoutItsOrigin(t *testing.T) {
	t.Parallel()
	s := startStackWith(t, awstest.Config{Domain: ownHostname, Upstreams: unreachable + "/*/*"})
	const file = "acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
	mirrored, own := providerZip(t, "widget", "1.0.0", "mirrored"), providerZip(t, "widget", "1.0.0", "own")
	s.publish(t, "mirror/"+unreachable+"/"+file, mirrored)
	s.publish(t, "providers/"+file, own)
	var rows []string
	for _, c := range []struct {
		name, path string
		status     int
		body       []byte // of the archive that it names
	}{
		{"versions in the mirror", mirrorPath(unreachable, "acme/widget") + "index.json", 200, nil},
		{"a version in the mirror", mirrorPath(unreachable, "acme/widget") + "1.0.0.json", 200, mirrored},
		{"a version of the registry's own", mirrorPath(ownHostname, "acme/widget") + "1.0.0.json", 200, own},
		{"a provider that only its origin may have", mirrorPath(unreachable, "acme/other") + "index.json", 404, nil},
		{"a version that only its origin may have", mirrorPath(unreachable, "acme/widget") + "2.0.0.json", 404, nil},
		{"a provider that is not pulled through", mirrorPath("registry.terraform.io", "acme/other") + "index.json", 404, nil},
	} {
		a := s.ask(t, http.MethodGet, c.path)
		all := s.Requests()
		last := all[len(all)-1]
		if a.status != c.status || last.Function != "fetch" {
			t.Errorf("%s is answered by %s with %d %s, want fetch and %d", c.path, last.Function, a.status, a.body, c.status)
		}
		if c.body != nil {
			s.checkArchive(t, a, c.body)
		}
		rows = append(rows, row(c.name, fmt.Sprint(a.status), requested(last.Calls)))
	}
	checkTable(t, requestsFile, "pulling", rows)
	if log := s.Logs("fetch"); !strings.Contains(log, unreachable+": it is not a public address") {
		t.Errorf("the log of fetch does not say that it refused to connect: %s", log)
	}
}

// checkArchive checks the one archive that a version's document has.
func (s *stack) checkArchive(t testing.TB, a answer, body []byte) {
	t.Helper()
	var document mirrorVersion
	a.decode(t, &document)
	if got := s.fetch(t, document.Archives["linux_amd64"].URL); got.status != http.StatusOK || string(got.body) != string(body) {
		t.Errorf("the archive: status %d, %d bytes, want %d", got.status, len(got.body), len(body))
	}
}

// wantedMessage is the message for a package of version 1.0.0.
func wantedMessage(provider string) string {
	namespace, kind := path.Split(provider)
	return fmt.Sprintf(`{"provider":{"hostname":%q,"namespace":%q,"type":%q},"version":"1.0.0","platform":"linux_amd64"}`, unreachable, path.Clean(namespace), kind)
}

// A package is tried three times, beside the others, and then given up. A package that lies in the inbox already is
// not fetched. The queue drops a message that it got before.
func TestPackagesThatAreWanted(t *testing.T) {
	t.Parallel()
	s := startStackWith(t, awstest.Config{Upstreams: unreachable + "/*/*"})
	s.publish(t, "mirror/"+unreachable+"/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", providerZip(t, "widget", "1.0.0", "x"))
	for range 2 {
		s.SendWanted("missing", wantedMessage("acme/missing"))
		s.SendWanted("there", wantedMessage("acme/widget"))
	}
	s.SendWanted("unreadable", "fetch it")
	s.Rest(t)
	runs := map[string][]awstest.Invocation{}
	for _, run := range s.Fetches() {
		runs[run.Body] = append(runs[run.Body], run)
	}
	for body, want := range map[string]struct {
		tries    int
		requests string
	}{
		wantedMessage("acme/widget"):  {1, "1 s3 HeadObject"},
		wantedMessage("acme/missing"): {3, "1 s3 HeadObject, 1 sqs ChangeMessageVisibility"},
		"fetch it":                    {3, "1 sqs ChangeMessageVisibility"},
	} {
		if len(runs[body]) != want.tries {
			t.Errorf("%s was tried %d times, want %d", body, len(runs[body]), want.tries)
		}
		for _, run := range runs[body] {
			if got := requested(run.Calls); got != want.requests || run.Failed != (want.tries > 1) {
				t.Errorf("%s: failed %t, with %s, want %s", body, run.Failed, got, want.requests)
			}
		}
	}
	if dead := s.FetchDeadLetters(); len(dead) != 2 || len(s.DeadLetters()) != 0 {
		t.Errorf("the dead letters are %v and %v", dead, s.DeadLetters())
	}
}
