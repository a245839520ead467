package settings

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

// Host returns the registry's host as it stands in source addresses, given the
// port on which it really listens.
func (s Settings) Host(port int) string {
	if s.Hostname != "" {
		return s.Hostname
	}
	host, _, _ := net.SplitHostPort(s.Addr)
	return svchost.ForDisplay(net.JoinHostPort(host, strconv.Itoa(port)))
}

// S3Endpoint returns the URL at which clients reach the S3 endpoint, given the
// port on which it really listens.
func (s Settings) S3Endpoint(port int) string {
	if s.S3URL != "" {
		return s.S3URL
	}
	host, _, _ := net.SplitHostPort(s.S3Addr)
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// S3Host returns the name or address in that URL.
func (s Settings) S3Host() string {
	u, err := url.Parse(s.S3Endpoint(0))
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// ServerName returns the name or address that the registry's certificate is
// for: the host of source addresses, international names in their ASCII form.
func (s Settings) ServerName() string {
	name, err := svchost.ForComparison(s.Host(443))
	if err != nil {
		return ""
	}
	host, _, _ := strings.Cut(name.String(), ":")
	return host
}

// WebHost returns the registry's host as it stands in URLs and as browsers send
// it, international names in their ASCII form, given the port on which it really
// listens.
func (s Settings) WebHost(port int) string {
	host := s.Host(port)
	name, err := svchost.ForComparison(host)
	if err != nil {
		return host
	}
	return name.String()
}

// CertificateHosts returns the names and addresses under which the registry
// and its bucket are reached, for the certificates of the local CA.
func (s Settings) CertificateHosts() []string {
	hosts := []string{"127.0.0.1", "::1", "localhost"}
	for _, addr := range []string{s.Addr, s.S3Addr} {
		if host, _, _ := net.SplitHostPort(addr); !isEveryInterface(host) {
			hosts = append(hosts, host)
		}
	}
	hosts = append(hosts, s.ServerName(), s.S3Host())
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
