package mcpserver

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// checkOrigin refuses a page of another site. Only browsers send an Origin, and none of them
// has business here but with a page of the registry itself. A name that leads to the registry's
// address, though it is another's, does not help either: then Host is that name, and not the
// registry's.
func checkOrigin(origins []string, asked, host string) error {
	if len(origins) == 0 {
		return nil
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.Scheme != "https" && u.Scheme != "http" ||
		plain(u.Host) != plain(asked) || name(u.Host) != name(host) {
		return &RefusedError{http.StatusForbidden, "a page of another site may not ask this registry"}
	}
	return nil
}

// plain is a host with its port, unless that is the usual one.
func plain(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ":443")
}

// name is a host without its port.
func name(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(host)
}
