package doctor

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/larder-registry/larder/pkg/registry"
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

// Module is a module to install.
type Module struct {
	Address registry.ModuleAddress
	Version *registry.Version // nil: the newest
}

// ParseModule reads namespace/name/system, with @version or without.
func ParseModule(text string) (*Module, error) {
	address, version, err := splitVersion(text)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(address, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not a module address like acme/network/aws or acme/network/aws@1.2.3", text)
	}
	a, err := registry.ParseModuleAddress(parts[0], parts[1], parts[2])
	return &Module{a, version}, err
}

// Provider is a provider package to install.
type Provider struct {
	Address  registry.ProviderAddress
	Version  *registry.Version  // nil: the newest
	Platform *registry.Platform // nil: this machine's, or any if there is no package for it
}

// ParseProvider reads namespace/type, with @version or without, and a platform
// such as linux_amd64, which may be empty.
func ParseProvider(text, platform string) (*Provider, error) {
	address, version, err := splitVersion(text)
	if err != nil {
		return nil, err
	}
	namespace, typ, ok := strings.Cut(address, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not a provider address like acme/widget or acme/widget@1.2.3", text)
	}
	p := &Provider{Version: version}
	if p.Address, err = registry.ParseProviderAddress(namespace, typ); err != nil {
		return nil, err
	}
	if platform == "" {
		return p, nil
	}
	p.Platform = new(registry.Platform)
	return p, p.Platform.UnmarshalText([]byte(platform))
}

// thisPlatform returns the platform of the clients on this machine.
func thisPlatform() registry.Platform {
	return registry.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
}

func splitVersion(text string) (address string, v *registry.Version, err error) {
	address, version, given := strings.Cut(text, "@")
	if !given {
		return address, nil, nil
	}
	parsed, err := registry.LookupVersion(version)
	if err != nil {
		return "", nil, fmt.Errorf("%q: %q is not a version like 1.2.3", text, version)
	}
	return address, &parsed, nil
}
