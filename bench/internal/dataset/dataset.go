// Package dataset is what every registry has that is measured: always the same providers and
// modules, and a state of each version as the registry would have made it. The archives
// themselves do not exist; nobody who is measured reads them.
package dataset

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
	"golang.org/x/sync/errgroup"
)

// SigningKey is an RSA-4096 key, as the registry would make its own. Nobody has the private
// half any more.
var SigningKey = registry.SigningKey{KeyID: "1D6323CC463AD7FC", ASCIIArmor: armored}

//go:embed key.asc
var armored string

// Provider is a provider with a number of versions, each for a number of platforms.
type Provider struct {
	Address             registry.ProviderAddress
	Versions, Platforms int
}

// Module is a module with a number of versions.
type Module struct {
	Address  registry.ModuleAddress
	Versions int
}

// The providers and modules that are measured one by one.
var (
	SmallProvider  = Provider{registry.ProviderAddress{Namespace: "acme", Type: "small"}, 10, 5}
	MediumProvider = Provider{registry.ProviderAddress{Namespace: "acme", Type: "medium"}, 400, 12}
	LargeProvider  = Provider{registry.ProviderAddress{Namespace: "acme", Type: "large"}, 1000, 14}
	Mirrored       = Provider{registry.ProviderAddress{Hostname: "registry.example.com", Namespace: "acme", Type: "medium"}, 400, 12}

	SmallModule  = Module{registry.ModuleAddress{Namespace: "acme", Name: "small", System: "aws"}, 5}
	MediumModule = Module{registry.ModuleAddress{Namespace: "acme", Name: "medium", System: "aws"}, 100}
	LargeModule  = Module{registry.ModuleAddress{Namespace: "acme", Name: "large", System: "aws"}, 1000}
	LargerModule = Module{registry.ModuleAddress{Namespace: "acme", Name: "larger", System: "aws"}, 10_000}
)

// Packages is how many providers and modules there are beside these, half of them of either
// kind, with a version each. Tests have less.
const Packages = 5000

// Other is one of the other providers.
func Other(n int) Provider {
	return Provider{registry.ProviderAddress{Namespace: team(n), Type: fmt.Sprintf("service-%04d", n)}, 1, 5}
}

// OtherModule is one of the other modules.
func OtherModule(n int) Module {
	return Module{registry.ModuleAddress{Namespace: team(n), Name: fmt.Sprintf("service-%04d", n), System: "aws"}, 1}
}

func team(n int) string { return fmt.Sprintf("team-%02d", n%50) }

// Providers is all providers, if there are some packages beside those that are measured one
// by one.
func Providers(packages int) []Provider {
	all := []Provider{SmallProvider, MediumProvider, LargeProvider, Mirrored}
	for n := range packages / 2 {
		all = append(all, Other(n))
	}
	return all
}

// Modules is all modules, likewise.
func Modules(packages int) []Module {
	all := []Module{SmallModule, MediumModule, LargeModule, LargerModule}
	for n := range packages / 2 {
		all = append(all, OtherModule(n))
	}
	return all
}

// Version is a version by its number, counted from 0. Later ones are higher.
func Version(n int) registry.Version {
	v, err := registry.ParseVersion(fmt.Sprintf("%d.%d.%d", 1+n/100, n/10%10, n%10))
	if err != nil {
		panic(err) // the text does not depend on anything
	}
	return v
}

// platforms are those of a provider with many: the first n are those of one with n.
var platforms = strings.Fields("linux_amd64 darwin_arm64 darwin_amd64 windows_amd64 linux_arm64 linux_386 linux_arm " +
	"windows_386 freebsd_amd64 freebsd_386 freebsd_arm openbsd_amd64 windows_arm64 solaris_amd64")

// Platform is a platform by its number, counted from 0.
func Platform(n int) registry.Platform {
	os, arch, _ := strings.Cut(platforms[n], "_")
	return registry.Platform{OS: os, Arch: arch}
}

// State is the state of a version of the provider.
func (p Provider) State(n int) *registry.ProviderVersion {
	s := &registry.ProviderVersion{Address: p.Address, Version: Version(n), Revision: p.Platforms}
	for number := range p.Platforms {
		hash := hashOf(p.Address.String(), s.Version.String(), platforms[number])
		s.Packages = append(s.Packages, registry.Package{
			Platform: Platform(number), SHA256: hex.EncodeToString(hash), H1: h1(hash),
			Size: 10_000_000 + int64(hash[0])<<16, Protocols: []string{"5.0"}, Sequence: number + 1,
		})
	}
	slices.SortFunc(s.Packages, func(a, b registry.Package) int {
		return strings.Compare(a.Platform.String(), b.Platform.String())
	})
	if !p.Address.Mirrored() {
		s.Revision++
		s.Release = &registry.Release{
			SHA256: hex.EncodeToString(hashOf(Sums(s))), Signature: hex.EncodeToString(hashOf("signature", Sums(s))),
			Keys: []registry.SigningKey{SigningKey}, Sequence: s.Revision,
		}
	}
	return s
}

// State is the state of a version of the module.
func (m Module) State(n int) *registry.ModuleVersion {
	v := Version(n)
	hash := hashOf(m.Address.String(), v.String())
	text := hex.EncodeToString(hash)
	return &registry.ModuleVersion{Address: m.Address, Version: v, Revision: 1, Archive: registry.ModuleArchive{
		Format: "tar.gz", SHA256: text, H1: h1(hash), Size: 10_000 + int64(hash[0])<<8, UploadSHA256: text,
	}}
}

// Sums is the SHA256SUMS of a version.
func Sums(s *registry.ProviderVersion) string {
	var text strings.Builder
	for _, pkg := range s.Packages {
		fmt.Fprintf(&text, "%s  %s\n", pkg.SHA256, s.Address.PackageFilename(s.Version, pkg.Platform))
	}
	return text.String()
}

func hashOf(texts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(texts, " ")))
	return sum[:]
}

// h1 looks as a hash of another kind does.
func h1(hash []byte) string {
	again := sha256.Sum256(hash)
	return "h1:" + base64.StdEncoding.EncodeToString(again[:])
}

// Middle is the version that downloads are asked of.
func Middle(versions int) int { return versions / 2 }

// writers is how many modules and providers are written at a time.
const writers = 4

// Fill puts the state of one version of every module and provider into a catalog: the
// middle one. [Grow] makes the listings of those that have more: put one by one, they would
// take minutes, since every put reads and writes the listing.
func Fill(ctx context.Context, packages int, put func(context.Context, registry.State) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(writers)
	for _, p := range Providers(packages) {
		all.Go(func() error { return put(ctx, p.State(Middle(p.Versions))) })
	}
	for _, m := range Modules(packages) {
		all.Go(func() error { return put(ctx, m.State(Middle(m.Versions))) })
	}
	return all.Wait()
}
