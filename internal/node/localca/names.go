package localca

import (
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// names are the names and addresses of a certificate, each once and in order.
type names struct {
	dns []string
	ips []netip.Addr
}

// namesOf divides hosts into names and IP addresses. Names are in lower case, as clients
// compare them.
func namesOf(hosts []string) names {
	var n names
	for _, host := range hosts {
		if ip, err := netip.ParseAddr(host); err == nil {
			n.ips = append(n.ips, ip.Unmap().WithZone(""))
		} else {
			n.dns = append(n.dns, strings.ToLower(host))
		}
	}
	slices.Sort(n.dns)
	slices.SortFunc(n.ips, netip.Addr.Compare)
	return names{slices.Compact(n.dns), slices.Compact(n.ips)}
}

// constrain limits a CA to these names. There are always names and addresses: if a CA
// mentioned only one kind, its certificates could have any of the other kind.
func (n names) constrain(ca *x509.Certificate) {
	ca.PermittedDNSDomainsCritical = true
	ca.PermittedDNSDomains = n.dns
	for _, ip := range n.ips {
		ca.PermittedIPRanges = append(ca.PermittedIPRanges, &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(ip.BitLen(), ip.BitLen())})
	}
}

// constraintsOf returns the names to which a CA is limited. It returns none if others are
// allowed, too: if clients may ignore the constraints, or they name a whole network.
func constraintsOf(ca *x509.Certificate) names {
	if !ca.PermittedDNSDomainsCritical {
		return names{}
	}
	hosts := slices.Clone(ca.PermittedDNSDomains)
	for _, network := range ca.PermittedIPRanges {
		if ones, bits := network.Mask.Size(); ones != bits {
			return names{}
		}
		hosts = append(hosts, network.IP.String())
	}
	return namesOf(hosts)
}

// namesIn returns the names of a server certificate.
func namesIn(leaf *x509.Certificate) names {
	hosts := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return namesOf(hosts)
}

func (n names) equal(other names) bool {
	return slices.Equal(n.dns, other.dns) && slices.Equal(n.ips, other.ips)
}

// String writes them for people.
func (n names) String() string {
	all := slices.Clone(n.dns)
	for _, ip := range n.ips {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "any name"
	}
	return strings.Join(all, ", ")
}
