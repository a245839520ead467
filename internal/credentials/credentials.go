// Package credentials finds the token that the clients on this machine have for a registry:
// Terraform and OpenTofu, whose users have given it to them already.
package credentials

import (
	"fmt"
	"net/url"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

// ParseHost reads a registry's host or URL, and returns the host as the clients send it: lower
// case, an international name in its ASCII form, with its port unless that is 443.
func ParseHost(text string) (string, error) {
	rest, hasScheme := strings.CutPrefix(text, "https://")
	if !hasScheme && strings.Contains(rest, "://") {
		return "", fmt.Errorf("%q: the clients use only https; write the registry's host, like registry.example.com", text)
	}
	rest = strings.TrimSuffix(rest, "/")
	if strings.ContainsAny(rest, "/@?#") {
		return "", fmt.Errorf("%q has more than a host: a registry is at the root of its host, like registry.example.com", text)
	}
	host, err := svchost.ForComparison(rest)
	if err != nil {
		return "", fmt.Errorf("%q is not a host like registry.example.com or 127.0.0.1:8443: %w", text, err)
	}
	if u, err := url.Parse("https://" + host.String()); err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not a host like registry.example.com or 127.0.0.1:8443", text)
	}
	return host.String(), nil
}

// FindToken finds the token for a host in an environment (the form of [os.Environ]), as the
// clients do: in TF_TOKEN_ and the host's name, with "_" for a dot and "__" for a hyphen. It
// returns "" if there is none.
func FindToken(host string, environ []string) string {
	decode := strings.NewReplacer("__", "-", "_", ".")
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		encoded, ok := strings.CutPrefix(name, "TF_TOKEN_")
		if !ok {
			continue
		}
		if named, err := svchost.ForComparison(svchost.ForDisplay(decode.Replace(encoded))); err == nil && named.String() == host {
			return value
		}
	}
	return ""
}

// TokenVariable returns the variable in which the clients look for a host's token.
func TokenVariable(host string) string {
	return "TF_TOKEN_" + strings.NewReplacer("-", "__", ".", "_").Replace(host)
}
