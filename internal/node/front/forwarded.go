package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forwardedFor is the header in which proxies write the address from which a request came
// to them, each after the others.
const forwardedFor = "X-Forwarded-For"

// behind serves next, which sees as the source of a request the client that the trusted
// proxies name. Addresses before theirs can be anybody's words.
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
		// Not in a copy: the server looks at its own request to know how much of the body was read.
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
