// Package hostname knows hosts by their names alone.
package hostname

import (
	"net/netip"
	"strings"
)

// IsLoopback says whether a host of a URL is the client's own machine.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}
