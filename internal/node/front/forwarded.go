package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forwardedFor is where proxies write the address from which a request came to them,
// each after what was there already.
const forwardedFor = "X-Forwarded-For"

// behind serves next, to which a request comes from the client whom the proxies name
// through which it came, where an operator trusts these. What was written before
// them, anybody can have written.
func behind(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	trusted := func(addr netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !trusted(plain(peer.Addr())) {
			next.ServeHTTP(w, r)
			return
		}
		client := plain(peer.Addr())
		named := strings.Split(strings.Join(r.Header.Values(forwardedFor), ","), ",")
		for _, text := range slices.Backward(named) {
			addr, ok := parseForwarded(text)
			if !ok {
				break
			}
			if client = addr; !trusted(addr) {
				break
			}
		}
		// Not a copy's: by its own request the server knows what became of the body.
		r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
		next.ServeHTTP(w, r)
	})
}

// parseForwarded reads an address as proxies write it: some add a port.
func parseForwarded(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return plain(addr), true
	}
	withPort, err := netip.ParseAddrPort(text)
	return plain(withPort.Addr()), err == nil
}

func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
