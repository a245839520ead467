package protocol

import (
	"net/http"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
)

// The details of a version have its source, also if it is withdrawn. The list of a
// module's versions has the source of the newest version with one.
func TestSources(t *testing.T) {
	const old, source = "https://git.example.com/acme/old", "https://git.example.com/acme/-/new?a=1&b=2"
	m := newMemory(t)
	m.module.Archive.Source, m.module.Standing = source, registry.Standing{State: registry.Withdrawn}
	m.provider.Packages[0].Source, m.provider.Standing = source, registry.Standing{State: registry.Withdrawn}
	m.moduleVersions[0].Source, m.moduleVersions[1].Source = "https://git.example.com/acme/oldest", old
	h := New(open(m))
	for path, want := range map[string]string{
		"/v1/modules/Acme/vpc/aws/v1.2+build.5":    `"source":"` + source + `"`,
		"/v1/modules/acme/vpc/aws/1.2.0%2Bbuild.5": `"source":"` + source + `"`,
		"/v1/providers/acme/widget/1.0":            `"source":"` + source + `"`,
		"/v1/modules/acme/vpc/aws/versions":        `"source":"` + old + `"`,
	} {
		if r := ask(t, h, "GET", path); r.StatusCode != http.StatusOK {
			t.Errorf("%s is answered %d", path, r.StatusCode)
		} else if got := body(t, r); !strings.Contains(got, want) {
			t.Errorf("%s is\n%s, without %s", path, got, want)
		}
	}
}

// A provider version without packages to serve has no details.
func TestDetailsOfWhatIsNotServed(t *testing.T) {
	m := newMemory(t)
	m.provider.Release = nil
	expectError(t, "not served yet", ask(t, New(open(m)), "GET", everyRoute[9]), http.StatusNotFound, "provider acme/widget has no version 1.0.0")
}
