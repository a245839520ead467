package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// withStandings is newMemory with other words on its versions.
func withStandings(t *testing.T) *memory {
	t.Helper()
	m := newMemory(t)
	m.moduleVersions[0].Standing = registry.Standing{State: registry.Withdrawn, Message: "it deletes too much"}
	m.moduleVersions[1].Standing = registry.Standing{State: registry.Deprecated, Message: "use 1.2.0"}
	m.providerVersions[0].Standing = registry.Standing{State: registry.Deprecated, Message: `use 1.0.0 & "later"`}
	m.providerVersions[1].Standing = registry.Standing{State: registry.Withdrawn, Message: "it leaks"}
	return m
}

// Withdrawn versions are not in a list. A list has warnings about them, and about deprecated
// ones, where the protocol has a place for it.
func TestStandingsInLists(t *testing.T) {
	h := New(open(withStandings(t)))
	for path, want := range map[string]string{
		"/v1/modules/acme/vpc/aws/versions": `{"modules":[{"versions":[
			{"version":"1.0.0","deprecation":{"reason":"use 1.2.0"}},
			{"version":"1.2.0+build.5"}]}]}`,
		"/v1/providers/acme/widget/versions": `{"versions":[
			{"version":"0.9.0","protocols":["5.1","6.0"],"platforms":[{"os":"darwin","arch":"arm64"},{"os":"linux","arch":"amd64"}]}],
			"warnings":["acme/widget 1.0.0 is withdrawn: it leaks","acme/widget 0.9.0 is deprecated: use 1.0.0 & \"later\""]}`,
	} {
		if got := compact(t, body(t, ask(t, h, "GET", path))); got != compact(t, want) {
			t.Errorf("%s is\n%s, want\n%s", path, got, compact(t, want))
		}
	}
}

// Whoever has a withdrawn version locked can download it.
func TestWithdrawnVersionsCanBeDownloaded(t *testing.T) {
	m := withStandings(t)
	m.module.Standing = registry.Standing{State: registry.Withdrawn}
	m.provider.Standing = registry.Standing{State: registry.Withdrawn}
	h := New(open(m))
	for path, status := range map[string]int{everyRoute[2]: 204, everyRoute[4]: 200} {
		if got := ask(t, h, "GET", path).StatusCode; got != status {
			t.Errorf("%s is answered %d, want %d", path, got, status)
		}
	}
}

// The list of a provider whose versions are all withdrawn is empty: so its users read the
// warnings, and not "not found".
func TestAllVersionsWithdrawn(t *testing.T) {
	m := withStandings(t)
	m.providerVersions[0].Standing = registry.Standing{State: registry.Withdrawn}
	want := `{"versions":[],"warnings":["acme/widget 1.0.0 is withdrawn: it leaks"]}`
	if got := compact(t, body(t, ask(t, New(open(m)), "GET", everyRoute[3]))); got != compact(t, want) {
		t.Errorf("the list is %s, want %s", got, want)
	}
}

// Clients print every warning at every init: there are not too many of them.
func TestWarningsAreBounded(t *testing.T) {
	m := newMemory(t)
	m.providerVersions = nil
	for minor := range maxWarnings + 3 {
		m.providerVersions = append(m.providerVersions, registry.Listed{
			Version: registrytest.Version(t, fmt.Sprintf("1.%d.0", minor)), Platforms: []registry.Platform{linux},
			Standing: registry.Standing{State: registry.Deprecated, Message: "too old"},
		})
	}
	var document struct{ Warnings []string }
	if err := json.Unmarshal([]byte(body(t, ask(t, New(open(m)), "GET", everyRoute[3]))), &document); err != nil {
		t.Fatal(err)
	}
	if got := document.Warnings; len(got) != maxWarnings+1 || !strings.HasPrefix(got[0], "acme/widget 1.22.0 ") ||
		!slices.Contains(got, "3 older versions of acme/widget are deprecated or withdrawn, too") {
		t.Errorf("the warnings are %q", got)
	}
}
