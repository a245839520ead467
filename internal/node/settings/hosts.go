package settings

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/larder-registry/larder/internal/node/localca"
)

// Host returns the registry's host as in source addresses. Port is the one on which it
// really listens.
func (s Settings) Host(port int) string {
	if s.Hostname != "" {
		return s.Hostname
	}
	host, _, _ := net.SplitHostPort(s.Addr)
	return svchost.ForDisplay(net.JoinHostPort(host, strconv.Itoa(port)))
}

// S3Endpoint returns the URL at which clients reach the S3 endpoint. Port is the one on
// which it really listens.
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

// ServerName returns the name or address of the registry's certificate: the host of source
// addresses, with an international name in its ASCII form.
func (s Settings) ServerName() string {
	name, err := svchost.ForComparison(s.Host(443))
	if err != nil {
		return ""
	}
	host, _, _ := strings.Cut(name.String(), ":")
	return host
}

// WebHost returns the registry's host as in URLs and as browsers send it, with an
// international name in its ASCII form. Port is the one on which it really listens.
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
	hosts := localca.Loopback()
	for _, addr := range []string{s.Addr, s.S3Addr} {
		if host, _, _ := net.SplitHostPort(addr); !isEveryInterface(host) {
			hosts = append(hosts, host)
		}
	}
	hosts = append(hosts, s.ServerName(), s.S3Host())
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
