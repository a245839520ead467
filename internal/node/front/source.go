package front

import "net/netip"

// Source is the source of a remote address: an address of IPv4, or 64 bits of IPv6,
// because a client that has one of these addresses has all. The address is the one that
// connected, or the one that a trusted proxy names: anybody can write another one into a
// header.
func Source(remote string) netip.Prefix {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil { // never: the address is that of a TCP connection
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
