package localca

import (
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// names are what a certificate is for, each once and in order.
type names struct {
	dns []string
	ips []netip.Addr
}

// namesOf sorts hosts, which are names or IP addresses. Names are in lower case,
// as clients compare them.
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

// constrain has a CA be for these names alone. There are always both kinds, for
// of a kind that it does not mention a certificate may have any.
func (n names) constrain(ca *x509.Certificate) {
	ca.PermittedDNSDomainsCritical = true
	ca.PermittedDNSDomains = n.dns
	for _, ip := range n.ips {
		ca.PermittedIPRanges = append(ca.PermittedIPRanges, &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(ip.BitLen(), ip.BitLen())})
	}
}

// constraintsOf is the names that a CA is for. There are none where it is for
// others, too: where it does not have to be obeyed, or names a whole network.
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

// namesIn is the names that a server certificate is for.
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

// String is how a person reads them.
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
