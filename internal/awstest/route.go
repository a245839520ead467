package awstest

import (
	"strings"
)

// route is a route of an HTTP API, such as "ANY /v1/{name}/versions".
type route struct {
	key      string
	method   string // or ANY
	segments []string
	function string
}

const defaultRoute = "$default"

// routes are those of an API.
type routes struct {
	paths    []route
	fallback *route // nil: what has no route is not found
}

func newRoutes(functions map[string]string) routes {
	var all routes
	for key, function := range functions {
		r := route{key: key, function: function}
		if key == defaultRoute {
			all.fallback = &r
			continue
		}
		method, path, _ := strings.Cut(key, " ")
		r.method, r.segments = method, strings.Split(path, "/")
		all.paths = append(all.paths, r)
	}
	return all
}

// find returns the route of a request, and the values of its parameters. The path is as the
// client wrote it: an encoded slash does not separate segments. Of several routes it returns the
// one with the fewest parameters.
func (all routes) find(method, escapedPath string) (found *route, parameters map[string]string) {
	segments := strings.Split(escapedPath, "/")
	for _, r := range all.paths {
		if r.method != "ANY" && r.method != method {
			continue
		}
		if values, ok := r.match(segments); ok && (found == nil || len(values) < len(parameters)) {
			found, parameters = &r, values
		}
	}
	if found == nil {
		found = all.fallback
	}
	return found, parameters
}

func (r route) match(segments []string) (map[string]string, bool) {
	if len(segments) != len(r.segments) {
		return nil, false
	}
	values := map[string]string{}
	for i, want := range r.segments {
		name, isParameter := strings.CutPrefix(want, "{")
		switch {
		case isParameter && segments[i] != "":
			values[strings.TrimSuffix(name, "}")] = segments[i]
		case segments[i] != want:
			return nil, false
		}
	}
	return values, true
}
