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

// standing is what a request asks for. Exactly one of the addresses is set.
type standing struct {
	module   *registry.ModuleAddress
	provider *registry.ProviderAddress
	version  registry.Version
	to       registry.Standing
}

func (s Standing) parse() (asked standing, err error) {
	if asked.to, err = registry.NewStanding(s.State, s.Message); err != nil {
		return asked, err
	}
	if asked.version, err = registry.ParseVersion(s.Version); err != nil {
		return asked, err
	}
	return asked, asked.parseAddress(s.Address)
}

// parseAddress reads an address as the clients write it: a provider's has two
// parts, and three where the first is the hostname of another registry. A
// module's has three, of which the first has no dot.
func (s *standing) parseAddress(address string) error {
	var provider registry.ProviderAddress
	var err error
	switch parts := strings.Split(address, "/"); {
	case len(parts) == 2:
		provider, err = registry.ParseProviderAddress(parts[0], parts[1])
	case len(parts) == 3 && strings.Contains(parts[0], "."):
		provider, err = registry.ParseMirroredAddress(parts[0], parts[1], parts[2])
	case len(parts) == 3:
		module, err := registry.ParseModuleAddress(parts[0], parts[1], parts[2])
		s.module = &module
		return err
	default:
		err = fmt.Errorf("%q is the address neither of a provider, namespace/type or hostname/namespace/type, nor of a module, namespace/name/system", address)
	}
	s.provider = &provider
	return err
}
