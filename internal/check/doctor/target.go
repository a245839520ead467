package doctor

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

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
