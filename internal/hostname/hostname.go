// Package hostname says what there is to know of a host from its name alone.
package hostname

import (
	"net/netip"
	"strings"
)

// IsLoopback says whether a host, as it stands in a URL, is the machine itself that
// asks for it.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
