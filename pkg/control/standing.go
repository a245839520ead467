package control

import (
	"fmt"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Validate says what is wrong with a request, as far as no registry has to be
// asked for it.
func (s Standing) Validate() error {
	_, err := s.parse()
	return err
}

// standing is what a request asks for.
type standing struct {
	version registry.Subject
	to      registry.Standing
}

func (s Standing) parse() (asked standing, err error) {
	if asked.to, err = registry.NewStanding(s.State, s.Message); err != nil {
		return asked, err
	}
	if asked.version.Version, err = registry.ParseVersion(s.Version); err != nil {
		return asked, err
	}
	asked.version.Address, err = parseAddress(s.Address)
	return asked, err
}

// parseAddress reads an address as the clients write it: a provider's has two
// parts, and three where the first is the hostname of another registry. A
// module's has three, of which the first has no dot.
func parseAddress(address string) (registry.Address, error) {
	switch parts := strings.Split(address, "/"); {
	case len(parts) == 2:
		return registry.ParseAddress(registry.Providers, address)
	case len(parts) == 3 && strings.Contains(parts[0], "."):
		return registry.ParseAddress(registry.Mirror, address)
	case len(parts) == 3:
		return registry.ParseAddress(registry.Modules, address)
	default:
		return nil, fmt.Errorf("%q is the address neither of a provider, namespace/type or hostname/namespace/type, nor of a module, namespace/name/system", address)
	}
}
