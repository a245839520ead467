// Package mirror brings providers into a registry's mirror through its inbox: from their origin
// registries, or from another mirror in a file.
//
// It verifies all packages before it uploads them: with the origin's signature, or with the
// hashes that a mirror or a file names. Before the packages of a version it uploads the
// version's document with these hashes, so that the registry compares the packages with
// them, too.
package mirror

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/registry"
)

// defaultHostname is the origin of a provider whose address has no hostname, as in Terraform.
const defaultHostname = "registry.terraform.io"

// Choice is a provider, and a choice of its versions.
type Choice struct {
	Address    registry.ProviderAddress // with its hostname
	Constraint registry.Constraint      // empty: the newest release
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

// choose returns the chosen versions of a provider, in their order. If there are none, the
// error says why.
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
		return nil, fmt.Errorf("%s: there is no version", c.Address)
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

// Platforms are the platforms for which packages are wanted. The zero Platforms are none.
type Platforms struct {
	all  bool
	list []registry.Platform
}

// ParsePlatforms reads platforms, such as linux_amd64. Without any, it is this machine's;
// "all" is every platform.
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

// missing returns the platforms that are wanted by name and not there.
func (p Platforms) missing(there []registry.Platform) (missing []registry.Platform) {
	for _, platform := range p.list {
		if !slices.Contains(there, platform) {
			missing = append(missing, platform)
		}
	}
	return missing
}

// join writes platforms for a sentence.
func join(platforms []registry.Platform) string {
	texts := make([]string, len(platforms))
	for i, p := range platforms {
		texts[i] = p.String()
	}
	return strings.Join(texts, ", ")
}
