package catalogtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
)

// platforms are what a large provider is released for.
var platforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "freebsd_arm64", "linux_386",
	"linux_amd64", "linux_arm", "linux_arm64", "openbsd_amd64", "windows_386", "windows_amd64", "windows_arm64",
}

// Provider is a provider's versions, each for the same platforms: at most 14.
func Provider(a registry.ProviderAddress, versions, platformCount int) []registry.ProviderVersion {
	steps := append(slices.Clone(platforms[:platformCount]), "release")
	var states []registry.ProviderVersion
	for i := range versions {
		states = append(states, providerVersion(a.String(), fmt.Sprintf("%d.%d.0", i/50, i%50), steps...))
	}
	return states
}

// providerVersion is the state after the records of some steps: a platform for
// its package, "manifest", "docs" or "release".
func providerVersion(address, v string, steps ...string) registry.ProviderVersion {
	p := registry.ProviderVersion{Address: provider(address)}
	for i, step := range steps {
		record := registry.Record{Version: version(v), Time: time.Unix(int64(i), 0).UTC()}
		switch step {
		case "manifest":
			record.Kind, record.Manifest = registry.KindManifest, &registry.Manifest{SHA256: "m", Protocols: []string{"6.0"}}
		case "docs":
			record.Kind, record.Docs = registry.KindDocs, &registry.Docs{SHA256: "d", Size: 1 << 20}
		case "release":
			record.Kind, record.Release = registry.KindRelease, &registry.Release{
				SHA256:    fmt.Sprint("sums", i),
				Signature: fmt.Sprint("signature", i),
				Keys:      []registry.SigningKey{{KeyID: "0123456789ABCDEF", ASCIIArmor: "-----BEGIN\n\nkey+/=<&>\n-----END\n"}},
			}
		default:
			os, arch, _ := strings.Cut(step, "_")
			record.Kind, record.Package = registry.KindPackage, &registry.Package{
				Platform: must(registry.ParsePlatform(os, arch)), SHA256: "sha256 of " + step, H1: "h1:" + step, Size: 1 << 33,
			}
		}
		if err := p.Apply(record); err != nil {
			panic(err)
		}
	}
	return p
}

func moduleVersion(address, v string, revision int) registry.ModuleVersion {
	return registry.ModuleVersion{
		Address:  module(address),
		Version:  version(v),
		Revision: revision,
		Archive:  registry.ModuleArchive{Format: "zip", SHA256: fmt.Sprint("revision ", revision), Size: 1},
	}
}

func module(address string) registry.ModuleAddress {
	parts := strings.Split(address, "/")
	return must(registry.ParseModuleAddress(parts[0], parts[1], parts[2]))
}

func provider(address string) registry.ProviderAddress {
	namespace, typ, _ := strings.Cut(address, "/")
	return must(registry.ParseProviderAddress(namespace, typ))
}

func version(v string) registry.Version { return must(registry.ParseVersion(v)) }

// must is for values that this package itself defines.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
