// Package mirror brings providers into a registry's mirror with no more than its
// inbox: from their origin registries, or from another mirror by way of a file.
//
// Whatever it uploads it has verified before: against the origin's signature, or
// against the hashes that a mirror or a file names. Before the packages of a
// version it uploads the version's document with those hashes, so that the
// registry, too, holds the packages to them.
package mirror

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/registry"
)

// defaultHostname is the origin of a provider whose address names none, as in a
// configuration of Terraform's.
const defaultHostname = "registry.terraform.io"

// Choice is a provider, and which of its versions.
type Choice struct {
	Address    registry.ProviderAddress // with its hostname
	Constraint registry.Constraint      // none: the newest release
}

// ParseChoice reads a provider's address, [hostname/]namespace/type, and a version
// constraint, which may be empty.
func ParseChoice(address, constraint string) (Choice, error) {
	parts := strings.Split(address, "/")
	if len(parts) == 2 {
		parts = append([]string{defaultHostname}, parts...)
	}
	if len(parts) != 3 {
		return Choice{}, fmt.Errorf("%q is not a provider address such as hashicorp/time or registry.opentofu.org/hashicorp/time", address)
	}
	var c Choice
	var err error
	if c.Address, err = registry.ParseMirroredAddress(parts[0], parts[1], parts[2]); err != nil {
		return Choice{}, err
	}
	if constraint != "" {
		c.Constraint, err = registry.ParseConstraint(constraint)
	}
	return c, err
}

// ParseChoiceAt reads [hostname/]namespace/type[@constraint].
func ParseChoiceAt(text string) (Choice, error) {
	address, constraint, given := strings.Cut(text, "@")
	if given && constraint == "" {
		return Choice{}, fmt.Errorf("%q has no version constraint after the @", text)
	}
	return ParseChoice(address, constraint)
}

// choose is the chosen ones of a provider's versions, in their order. The error
// says why there are none.
func (c Choice) choose(versions []registry.Version) ([]registry.Version, error) {
	var chosen []registry.Version
	for _, v := range versions {
		switch {
		case c.Constraint.Given() && c.Constraint.Allows(v):
			chosen = append(chosen, v)
		case !c.Constraint.Given() && !v.Prerelease():
			chosen = []registry.Version{v} // the last is the newest
		}
	}
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(versions) == 0:
		return nil, fmt.Errorf("%s: no version is there", c.Address)
	case c.Constraint.Given():
		return nil, fmt.Errorf("%s: of %s, up to %s, none meets %q", c.Address, size.Count(len(versions), "version"), versions[len(versions)-1], c.Constraint)
	default:
		return nil, fmt.Errorf("%s: there is no release yet; name a pre-release, such as %s", c.Address, versions[len(versions)-1])
	}
}

// announce says which versions were chosen.
func (c Choice) announce(chosen, of []registry.Version) string {
	if len(chosen) == 1 {
		return fmt.Sprintf("%s: version %s, of %d", c.Address, chosen[0], len(of))
	}
	return fmt.Sprintf("%s: %d versions of %d, from %s to %s", c.Address, len(chosen), len(of), chosen[0], chosen[len(chosen)-1])
}

// Platforms are those that packages are wanted for. The zero Platforms are none.
type Platforms struct {
	all  bool
	list []registry.Platform
}

// ParsePlatforms reads platforms, such as linux_amd64: none are this machine's, and
// "all" is every one that there is.
func ParsePlatforms(texts []string) (Platforms, error) {
	if len(texts) == 0 {
		return Platforms{list: []registry.Platform{{OS: runtime.GOOS, Arch: runtime.GOARCH}}}, nil
	}
	var p Platforms
	for _, text := range texts {
		if text == "all" {
			p.all = true
			continue
		}
		var platform registry.Platform
		if err := platform.UnmarshalText([]byte(text)); err != nil {
			return Platforms{}, err
		}
		if !slices.Contains(p.list, platform) {
			p.list = append(p.list, platform)
		}
	}
	if p.all && len(p.list) > 0 {
		return Platforms{}, fmt.Errorf("all platforms include %s: give either", p.list[0])
	}
	return p, nil
}

// wants says whether the packages for a platform are wanted.
func (p Platforms) wants(platform registry.Platform) bool {
	return p.all || slices.Contains(p.list, platform)
}

// without is the platforms that are wanted by name and not among those that there
// are.
func (p Platforms) without(there []registry.Platform) (missing []registry.Platform) {
	for _, platform := range p.list {
		if !slices.Contains(there, platform) {
			missing = append(missing, platform)
		}
	}
	return missing
}

// join lists platforms for a sentence.
func join(platforms []registry.Platform) string {
	texts := make([]string, len(platforms))
	for i, p := range platforms {
		texts[i] = p.String()
	}
	return strings.Join(texts, ", ")
}
