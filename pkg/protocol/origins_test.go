package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// origins have versions, and each of them for linux and darwin. They count what
// they are asked.
type origins struct {
	versions []registry.Version
	asked    int
}

func (o *origins) Versions(context.Context, registry.ProviderAddress) []registry.Version {
	o.asked++
	return o.versions
}

func (o *origins) Packages(_ context.Context, _ registry.ProviderAddress, _ registry.Version, has func(registry.Platform) bool) (offers []Offer) {
	o.asked++
	for _, p := range []registry.Platform{linux, darwin} {
		if len(o.versions) > 0 && !has(p) {
			offers = append(offers, Offer{Platform: p, URL: "https://origin.example.com/" + p.String() + ".zip", SHA256: "5a"})
		}
	}
	return offers
}

// What origins have is offered beside what is here. What is here counts: its
// packages, that it was withdrawn, and its build metadata.
func TestOrigins(t *testing.T) {
	const (
		path     = mirrorPath + "registry.terraform.io/acme/widget/"
		here     = `"linux_amd64":{"url":"https://bucket.example.com/registry/mirror/registry.terraform.io/acme/widget/1.0.0/b2d6f7/terraform-provider-widget_1.0.0_linux_amd64.zip?` + signature + `","hashes":["h1:c0ffee=","zh:b2d6f7"]}`
		atOrigin = `"linux_amd64":{"url":"https://origin.example.com/linux_amd64.zip","hashes":["zh:5a"]}`
		darwinAt = `"darwin_arm64":{"url":"https://origin.example.com/darwin_arm64.zip","hashes":["zh:5a"]}`
		missing  = "" // status 404
	)
	withdraw := func(m *memory) {
		m.provider.Standing.State = registry.Withdrawn
		m.providerVersions[1].Standing.State = registry.Withdrawn
	}
	build := func(m *memory) {
		m.provider.Version = registrytest.Version(t, "1.0.0+here")
		m.providerVersions[1].Version = registrytest.Version(t, "1.0.0+here")
	}
	empty := func(m *memory) { m.err = registry.ErrNotFound }
	for name, test := range map[string]struct {
		catalog func(*memory)
		origin  string // has this version
		name    string // of the document
		want    string
	}{
		"index, of both":                        {nil, "1.1.0", "index.json", `{"versions":{"0.9.0":{},"1.0.0":{},"1.1.0":{}}}`},
		"index, of the same":                    {nil, "1.0.0", "index.json", `{"versions":{"0.9.0":{},"1.0.0":{}}}`},
		"index, of the origin":                  {empty, "1.1.0", "index.json", `{"versions":{"1.1.0":{}}}`},
		"index, of neither":                     {empty, "", "index.json", missing},
		"index, without the origin":             {nil, "", "index.json", `{"versions":{"0.9.0":{},"1.0.0":{}}}`},
		"index, of a withdrawn version":         {withdraw, "1.0.0", "index.json", `{"versions":{"0.9.0":{}}}`},
		"index, of other build metadata":        {build, "1.0.0+there", "index.json", `{"versions":{"0.9.0":{},"1.0.0+here":{}}}`},
		"version, of both":                      {nil, "1.0.0", "1.0.0.json", `{"archives":{` + darwinAt + `,` + here + `}}`},
		"version, of the origin":                {empty, "1.0.0", "1.0.0.json", `{"archives":{` + darwinAt + `,` + atOrigin + `}}`},
		"version, of neither":                   {empty, "", "1.0.0.json", missing},
		"version, withdrawn":                    {withdraw, "1.0.0", "1.0.0.json", `{"archives":{` + here + `}}`},
		"version, of other build metadata":      {build, "1.0.0+there", "1.0.0+there.json", missing},
		"version, withdrawn, of other":          {func(m *memory) { withdraw(m); build(m) }, "1.0.0", "1.0.0.json", missing},
		"version, of the origin's own, a build": {empty, "1.0.0+there", "1.0.0+there.json", `{"archives":{` + darwinAt + `,` + atOrigin + `}}`},
	} {
		m, o := withMirror(t, "registry.terraform.io"), &origins{}
		m.provider.Packages = m.provider.Packages[:1]
		if test.catalog != nil {
			test.catalog(m)
		}
		if test.origin != "" {
			o.versions = []registry.Version{registrytest.Version(t, test.origin)}
		}
		config := open(m)
		config.Origins = o
		r := ask(t, New(config), "GET", path+test.name)
		switch {
		case test.want == missing && r.StatusCode != http.StatusNotFound:
			t.Errorf("%s: answered %d", name, r.StatusCode)
		case test.want != missing && body(t, r) != compact(t, test.want):
			t.Errorf("%s: it is not %s", name, test.want)
		}
	}
}

// Origins are asked for nobody who may not read, and nothing when the catalog
// cannot be read.
func TestOriginsAreNotAsked(t *testing.T) {
	for want, config := range map[int]Config{
		http.StatusUnauthorized:        closed(withMirror(t, "registry.terraform.io"), io.Discard),
		http.StatusInternalServerError: open(&memory{err: errors.New("the disk is broken")}),
	} {
		o := &origins{}
		config.Origins = o
		for _, name := range []string{"index.json", "1.0.0.json"} {
			r := ask(t, New(config), "GET", mirrorPath+"registry.terraform.io/acme/widget/"+name)
			if r.StatusCode != want || o.asked > 0 {
				t.Errorf("%s: answered %d, after %d questions, want %d", name, r.StatusCode, o.asked, want)
			}
		}
	}
}
