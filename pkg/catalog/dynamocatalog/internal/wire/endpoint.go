package wire

import (
	"fmt"
	"net/url"
	"strings"
)

// partitions has the domains of AWS's partitions, by how the names of their regions begin.
// All other regions are in the domain amazonaws.com.
var partitions = []struct{ prefix, domain string }{
	{"cn-", "amazonaws.com.cn"},
	{"eusc-", "amazonaws.eu"},
	{"us-iso-", "c2s.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"},
}

// endpoint is the URL that requests go to: one that is given, or else Amazon's for a region.
func endpoint(given, region string) (*url.URL, error) {
	if !isRegion(region) {
		return nil, fmt.Errorf("the region %q of DynamoDB is not a name such as eu-central-1", region)
	}
	if given == "" {
		return &url.URL{Scheme: "https", Host: "dynamodb." + region + "." + domain(region), Path: "/"}, nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the endpoint %q of DynamoDB is not a URL such as https://dynamodb.example.com", given)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, "" // the SDK leaves them out, too
	return u, nil
}

// isRegion says whether a name can be a label of a host name, which is made of it, and a
// part of a signature.
func isRegion(name string) bool {
	const most = 63
	isOther := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	}
	return name != "" && len(name) <= most && !strings.ContainsFunc(name, isOther) && strings.Trim(name, "-") == name
}

func domain(region string) string {
	for _, partition := range partitions {
		if strings.HasPrefix(region, partition.prefix) {
			return partition.domain
		}
	}
	return "amazonaws.com"
}

// withoutPort is a host as it is sent and signed: without the scheme's own port.
func withoutPort(u *url.URL) string {
	if u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		return strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Host
}
