package awstest

import (
	"maps"
	"testing"
)

func TestRoutes(t *testing.T) {
	all := newRoutes(map[string]string{
		"ANY /.well-known/terraform.json": "discovery",
		"ANY /v1/{name}/versions":         "versions",
		"GET /v1/{name}/{file}":           "files",
		"$default":                        "fallback",
	})
	for _, c := range []struct {
		method, path, function string
		parameters             map[string]string
	}{
		{"GET", "/.well-known/terraform.json", "discovery", nil},
		{"PUT", "/v1/a/versions", "versions", map[string]string{"name": "a"}},
		{"GET", "/v1/a/versions", "versions", map[string]string{"name": "a"}}, // the one that says more
		{"GET", "/v1/a/b", "files", map[string]string{"name": "a", "file": "b"}},
		{"HEAD", "/v1/a/b", "fallback", nil}, // a route for GET is none for HEAD
		{"GET", "/v1/a%2Fb/versions", "versions", map[string]string{"name": "a%2Fb"}},
		{"GET", "/v1/a%2Fversions", "fallback", nil}, // though it decodes to a route's path
		{"GET", "/v1//versions", "fallback", nil},
		{"GET", "/v1/a/versions/", "fallback", nil},
		{"GET", "/V1/a/versions", "fallback", nil},
		{"GET", "/", "fallback", nil},
	} {
		found, parameters := all.find(c.method, c.path)
		if found == nil || found.function != c.function || !maps.Equal(parameters, c.parameters) {
			t.Errorf("%s %s: %+v with %v, want %s with %v", c.method, c.path, found, parameters, c.function, c.parameters)
		}
	}
	if found, _ := newRoutes(nil).find("GET", "/"); found != nil {
		t.Errorf("without routes, %+v is found", found)
	}
}
