package upstream

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// newTransport is the transport of production.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: refusePrivate}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    maxAtOnce,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // an archive is hashed as it is sent
	}
}

// refusePrivate gets the address of each connection before it is opened, after name
// resolution.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("refused to connect to %q: it is no address", address)
	}
	if !isPublic(parsed.Addr()) {
		return fmt.Errorf("refused to connect to %s: it is not a public address", parsed.Addr())
	}
	return nil
}

// globalUnicast is all of IPv6 that is assigned as public. Addresses that wrap IPv4
// (mapped, compatible, NAT64), and local and multicast ones, are outside of it.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// special is the blocks among them that are not public, by the IANA registries of
// special-purpose addresses for IPv4 and IPv6.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared: carriers, and some clouds' metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's platform, in no registry
	"169.254.0.0/16",   // link-local, with the metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
	"2001::/23",        // protocol assignments; Teredo, which wraps IPv4
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4, which wraps IPv4
	"3fff::/20",        // documentation
)

func prefixes(texts ...string) (parsed []netip.Prefix) {
	for _, text := range texts {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}

// isPublic says whether an address is on the public internet. An address with a zone is not:
// no prefix contains it.
func isPublic(a netip.Addr) bool {
	if !a.Is4() && !globalUnicast.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
