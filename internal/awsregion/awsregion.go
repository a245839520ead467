// Package awsregion knows how AWS names its regions, and in which domain each of them is.
package awsregion

import "strings"

// domains are those of regions that are not in amazonaws.com, by how their names begin.
var domains = []struct{ prefix, domain string }{
	{"cn-", "amazonaws.com.cn"},
	{"eusc-de-", "amazonaws.eu"},
	{"us-iso-", "c2s.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"},
}

// Domain is the domain of the services in a region.
func Domain(region string) string {
	for _, d := range domains {
		if strings.HasPrefix(region, d.prefix) {
			return d.domain
		}
	}
	return "amazonaws.com"
}

// IsName says whether a name can be a label of a host name, which is made of it, and a part
// of a signature.
func IsName(name string) bool {
	const most = 63
	isOther := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	}
	return name != "" && len(name) <= most && !strings.ContainsFunc(name, isOther) && strings.Trim(name, "-") == name
}
