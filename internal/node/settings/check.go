package settings

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/larder-registry/larder/internal/hostname"
)

// check finds settings that contradict each other.
func (s Settings) check() error {
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return fmt.Errorf("LARDER_TLS_CERT and LARDER_TLS_KEY belong together: set both, or neither for a certificate of the local CA")
	case s.Login.Issuer != "" && s.Login.ClientID == "":
		return fmt.Errorf("LARDER_LOGIN_ISSUER is set, and LARDER_LOGIN_CLIENT_ID (--login-client-id) is not: register the registry as a client at %s, and set the ID that it has there", s.Login.Issuer)
	case s.Login.Issuer == "" && (s.Login.ClientID != "" || s.Login.SecretFile != ""):
		return fmt.Errorf("LARDER_LOGIN_CLIENT_ID or LARDER_LOGIN_CLIENT_SECRET_FILE is set, and LARDER_LOGIN_ISSUER (--login-issuer) is not: set the URL of the provider that people log in with")
	case s.Addr == s.S3Addr && !strings.HasSuffix(s.Addr, ":0"):
		return fmt.Errorf("LARDER_ADDR and LARDER_S3_ADDR are both %q: give the S3 endpoint a port of its own", s.Addr)
	}
	if s.Hostname == "" {
		if err := checkReachable(s.Addr); err != nil {
			return fmt.Errorf("LARDER_ADDR (--addr) is %q: %w", s.Addr, err)
		}
	}
	if host, _, _ := net.SplitHostPort(s.S3Addr); s.S3URL == "" && isEveryInterface(host) {
		return fmt.Errorf("LARDER_S3_ADDR (--s3-addr) is %q, every interface: set LARDER_S3_URL to the URL that clients use, like https://s3.example.com:9443", s.S3Addr)
	}
	return nil
}

// CheckExposure refuses to let everybody read at an address that others than this machine
// reach, unless the operator has set that. Bound is the address on which the registry really
// listens.
func (s Settings) CheckExposure(bound netip.Addr) error {
	if s.Auth != AuthOpen || s.AuthSet || bound.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("LARDER_ADDR (--addr) is %q, which others than this machine can reach, and no setting says whether they may read: "+
		"set LARDER_AUTH=required (--auth required) so that reading needs a token, or LARDER_AUTH=open (--auth open) to let everybody read who can connect to that address", s.Addr)
}

// CheckDownloads refuses to serve others than this machine if they would download from the
// loopback address, which is their own machine. Bound is the address on which the registry
// really listens.
func (s Settings) CheckDownloads(bound netip.Addr) error {
	if bound.Unmap().IsLoopback() || !hostname.IsLoopback(s.S3Host()) {
		return nil
	}
	return fmt.Errorf("LARDER_ADDR (--addr) is %q, which others than this machine can reach, but clients download from the S3 endpoint, "+
		"and %s is their own machine: "+
		"set LARDER_S3_ADDR (--s3-addr) to an address that they can reach, or LARDER_S3_URL (--s3-url) to the URL at which they reach it",
		s.Addr, cmp.Or(s.S3URL, s.S3Addr))
}

// checkReachable finds out whether clients can use the address in a source address: it
// must be a hostname with a dot.
func checkReachable(addr string) error {
	host, _, _ := net.SplitHostPort(addr)
	if isEveryInterface(host) {
		return fmt.Errorf("that is every interface: set LARDER_HOSTNAME to the name that clients use, like registry.example.com:8443")
	}
	if strings.Contains(host, ":") {
		return fmt.Errorf("a source address cannot have an IPv6 address: set LARDER_HOSTNAME to a name for it")
	}
	if !strings.Contains(host, ".") {
		return fmt.Errorf("module addresses need a dot in the hostname: use 127.0.0.1, or set LARDER_HOSTNAME to a name with a dot")
	}
	if _, err := svchost.ForComparison(host); err != nil {
		return fmt.Errorf("not a hostname for source addresses: %w", err)
	}
	return nil
}

func isEveryInterface(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}
