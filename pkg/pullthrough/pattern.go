package pullthrough

import (
	"fmt"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Pattern says which providers are pulled through: those of one origin registry,
// of one namespace or of all, of one type or of all.
type Pattern struct {
	hostname        string
	namespace, kind string // "*" for all
}

// anything stands for every namespace or every type.
const anything = "*"

// ParsePatterns reads patterns such as registry.terraform.io/hashicorp/*, with
// commas between them. A star stands for every namespace or type, and never for a
// hostname: a registry asks only hosts that are named.
func ParsePatterns(s string) ([]Pattern, error) {
	var patterns []Pattern
	for text := range strings.SplitSeq(s, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func parsePattern(text string) (Pattern, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return Pattern{}, fmt.Errorf("%q is not a pattern <hostname>/<namespace>/<type>, such as registry.terraform.io/hashicorp/*", text)
	}
	namespace, kind := parts[1], parts[2]
	if namespace == anything {
		namespace = "namespace"
	}
	if kind == anything {
		kind = "type"
	}
	a, err := registry.ParseMirroredAddress(parts[0], namespace, kind)
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return Pattern{a.Hostname, parts[1], parts[2]}, nil
}

// Matches says whether the pattern includes a provider.
func (p Pattern) Matches(a registry.ProviderAddress) bool {
	return p.hostname == a.Hostname &&
		(p.namespace == anything || p.namespace == a.Namespace) &&
		(p.kind == anything || p.kind == a.Type)
}

// DefaultPlatforms are the platforms that most teams use.
const DefaultPlatforms = "darwin_arm64,linux_amd64,linux_arm64,windows_amd64"

// ParsePlatforms reads platforms such as linux_amd64, with commas between them.
// For "all" the result is nil, which means every platform of an origin.
func ParsePlatforms(s string) ([]registry.Platform, error) {
	if s == "all" {
		return nil, nil
	}
	var platforms []registry.Platform
	for text := range strings.SplitSeq(s, ",") {
		var p registry.Platform
		if err := p.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
			return nil, fmt.Errorf(`%w; or "all"`, err)
		}
		platforms = append(platforms, p)
	}
	return platforms, nil
}
