package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

func checkListen(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("write host and port, like 127.0.0.1:8443")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port: write a number from 0 (any free port) to 65535", port)
	}
	return nil
}

// maxDays is the largest number of days, as on AWS.
const maxDays = 3650

func parseDays(value string) (int, error) {
	days, err := strconv.Atoi(value)
	if err != nil || days < 0 || days > maxDays {
		return 0, fmt.Errorf("%q is not a number of days: give one from 0 to %d", value, maxDays)
	}
	return days, nil
}

// parseHostname normalises a hostname as Terraform does in source addresses: lower case,
// without the port 443.
func parseHostname(value string) (string, error) {
	if strings.ContainsAny(value, "/@?#") {
		return "", fmt.Errorf("write only the host, like registry.example.com, without https:// and path")
	}
	name, err := svchost.ForComparison(value)
	if err != nil {
		return "", fmt.Errorf("not a hostname: %w", err)
	}
	host, port, hasPort := strings.Cut(name.String(), ":")
	if !strings.Contains(host, ".") {
		return "", fmt.Errorf("module addresses need a dot in the hostname: use a name like registry.example.com")
	}
	if n, err := strconv.Atoi(port); hasPort && (err != nil || n < 1) {
		return "", fmt.Errorf("%q is not a port: write a number from 1 to 65535", port)
	}
	return name.ForDisplay(), nil
}

func parseURL(value string) (string, error) {
	const want = "write only scheme, host and port, like https://s3.example.com:9443"
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.TrimRight(u.Path, "/") != "" {
		return "", fmt.Errorf("not the URL of an S3 endpoint: %s", want)
	}
	if u.Scheme != "https" {
		return "", fmt.Errorf("the S3 endpoint speaks https: %s", want)
	}
	return "https://" + strings.ToLower(u.Host), nil
}

func checkIssuer(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("not the URL of a provider: write it exactly as in its discovery document, like https://login.example.com")
	}
	return nil
}

// parseProxies reads addresses and networks, with commas between them.
func parseProxies(value string) (all []netip.Prefix, err error) {
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
			if addr.Zone() != "" {
				return nil, fmt.Errorf("write %q without a zone", text)
			}
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is not an address or network: write them with commas between, like 127.0.0.1,10.0.0.0/8", text)
		case network.Addr().Is4In6():
			return nil, fmt.Errorf("write %q without ::ffff: at its beginning", text)
		case network.Bits() == 0:
			return nil, fmt.Errorf("%q is everybody, and then everybody could claim another address: write only the addresses of the proxies", text)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// parseScopes reads scopes of OAuth 2.0: RFC 6749, section 3.3.
func parseScopes(value string) ([]string, error) {
	foreign := func(c rune) bool { return c != ' ' && (c < '!' || c > '~' || c == '"' || c == '\\') }
	scopes := strings.Fields(value)
	if strings.ContainsFunc(value, foreign) || !slices.Contains(scopes, "openid") {
		return nil, fmt.Errorf("write scopes with spaces between them, and openid among them, like \"openid profile groups\"")
	}
	return scopes, nil
}
