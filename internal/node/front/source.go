package front

import "net/netip"

// Source is whom a remote address counts for: an address of IPv4, and 64 bits of
// IPv6, of which whoever has one address has all. It is the address that
// connected, or the one that a trusted proxy names: what a header says of another
// one, anybody can say.
func Source(remote string) netip.Prefix {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil { // never: of a connection over TCP
		return netip.Prefix{}
	}
	addr, bits := peer.Addr().Unmap().WithZone(""), 64
	if addr.Is4() {
		bits = 32
	}
	prefix, err := addr.Prefix(bits)
	if err != nil { // never: every address has as many bits
		return netip.Prefix{}
	}
	return prefix
}
