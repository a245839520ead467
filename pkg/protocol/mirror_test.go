package protocol

import (
	"net/http"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
)

// withMirror is newMemory whose provider has another origin.
func withMirror(t *testing.T, hostname string) *memory {
	t.Helper()
	m := newMemory(t)
	m.provider.Address.Hostname = hostname
	return m
}

// The clients ask in lower case and in punycode; a person may not.
func TestMirrorHostnames(t *testing.T) {
	for hostname, asked := range map[string][]string{
		"registry.terraform.io":   {"registry.terraform.io", "Registry.Terraform.IO"},
		"xn--bcher-kva.example":   {"xn--bcher-kva.example", "b%C3%BCcher.example", "B%C3%9CCHER.example"},
		"registry.opentofu.org":   {"registry.opentofu.org", "registry.opentofu.org:443"},
		"registry.terraform.io.x": {},
	} {
		h := New(open(withMirror(t, hostname)))
		for _, name := range asked {
			want := http.StatusOK
			if strings.Contains(name, ":") {
				want = http.StatusNotFound
			}
			for _, document := range []string{"index.json", "1.0.0.json"} {
				if r := ask(t, h, "GET", mirrorPath+name+"/acme/widget/"+document); r.StatusCode != want || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s/%s is answered %d, %s; want %d", name, document, r.StatusCode, r.Header.Get("Content-Type"), want)
				}
			}
		}
		expectError(t, hostname, ask(t, h, "GET", mirrorPath+"registry.example.com/acme/widget/index.json"), http.StatusNotFound,
			"there is no provider registry.example.com/acme/widget")
	}
}

// Providers of another registry are not this one's, and the other way round.
func TestMirrorAndRegistryAreApart(t *testing.T) {
	own, mirrored := New(open(newMemory(t))), New(open(withMirror(t, "registry.terraform.io")))
	for path, h := range map[string]http.Handler{
		mirrorPath + "registry.terraform.io/acme/widget/index.json": own,
		mirrorPath + "registry.terraform.io/acme/widget/1.0.0.json": own,
		everyRoute[3]: mirrored,
		everyRoute[4]: mirrored,
		everyRoute[5]: mirrored,
		everyRoute[6]: mirrored,
	} {
		if r := ask(t, h, "GET", path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered %d", path, r.StatusCode)
		}
	}
}

// The mirror of a registry without a hostname does not have the registry's own providers.
func TestMirrorWithoutAHostname(t *testing.T) {
	config := open(newMemory(t))
	config.Hostname = ""
	if r := ask(t, New(config), "GET", everyRoute[5]); r.StatusCode != http.StatusNotFound {
		t.Errorf("answered %d", r.StatusCode)
	}
}

// A withdrawn version is not in the index, but has a document. A version without packages to
// serve has no document.
func TestMirrorFollowsTheCatalog(t *testing.T) {
	m := newMemory(t)
	m.providerVersions[1].Standing = registry.Standing{State: registry.Withdrawn}
	h := New(open(m))
	if got := body(t, ask(t, h, "GET", everyRoute[5])); got != compact(t, `{"versions":{"0.9.0":{}}}`) {
		t.Errorf("the index is %s", got)
	}
	if r := ask(t, h, "GET", everyRoute[6]); r.StatusCode != http.StatusOK {
		t.Errorf("the withdrawn version is answered %d", r.StatusCode)
	}
	m.providerVersions[0].Standing = registry.Standing{State: registry.Withdrawn}
	if r := ask(t, h, "GET", everyRoute[5]); r.StatusCode != http.StatusOK || body(t, r) != compact(t, `{"versions":{}}`) {
		t.Errorf("where all are withdrawn, the index is answered %d", r.StatusCode)
	}
	m.provider.Release = nil
	expectError(t, "not served yet", ask(t, h, "GET", everyRoute[6]), http.StatusNotFound, "there is no version 1.0.0 of registry.example.com/acme/widget")
}
