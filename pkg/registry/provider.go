package registry

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultProtocols is assumed of a package that names none: every client since
// Terraform 0.13 speaks it, and it is the default of every SDK.
var defaultProtocols = []string{"5.0"}

// MaxPackages is how many packages a version has at most, each for a platform of its own. Go
// builds for fewer than 50, and providers for some 15. Of the longest names, 3,000 would fill
// SHA256SUMS (1 MiB) and the version's item in DynamoDB (400 KiB), and 2,000 with a URL each
// the answer of a function (6 MB).
const MaxPackages = 100

// ProviderVersion is what the log of a provider version adds up to.
type ProviderVersion struct {
	Address   ProviderAddress `json:"address"`
	Version   Version         `json:"version"`
	Revision  int             `json:"revision"`
	Packages  []Package       `json:"packages"` // all accepted ones, by platform
	Manifest  *Manifest       `json:"manifest,omitempty"`
	Docs      *Docs           `json:"docs,omitempty"`
	Release   *Release        `json:"release,omitempty"`
	Standing  Standing        `json:"standing,omitzero"`
	Published time.Time       `json:"published,omitzero"` // when its first package was accepted; zero in states that older releases stored
}

// New is an empty [*ProviderVersion].
func (a ProviderAddress) New(v Version) State { return &ProviderVersion{Address: a, Version: v} }

// Subject implements [State].
func (p *ProviderVersion) Subject() Subject { return Subject{p.Address, p.Version} }

// NextRecordKey implements [State].
func (p *ProviderVersion) NextRecordKey() string {
	return RecordKey(p.Subject().LogPrefix(), p.Revision+1)
}

// Apply adds the next record of the log. A record that this version of Larder
// does not know is an error: a newer one wrote it.
func (p *ProviderVersion) Apply(r Record) error {
	sequence := p.Revision + 1
	switch {
	case r.Kind == KindPackage && r.Package != nil:
		pkg := *r.Package
		if pkg.Sequence = sequence; len(p.Packages) == 0 {
			p.Published = r.Time
		}
		at, _ := slices.BinarySearchFunc(p.Packages, pkg.Platform, comparePlatform)
		p.Packages = slices.Insert(slices.Clone(p.Packages), at, pkg)
	case r.Kind == KindManifest && r.Manifest != nil:
		p.Manifest = r.Manifest
	case r.Kind == KindDocs && r.Docs != nil:
		p.Docs = r.Docs
	case r.Kind == KindRelease && r.Release != nil:
		release := *r.Release
		release.Sequence = sequence
		p.Release = &release
	case r.Kind == KindStanding && r.Standing.hasKnownState():
		p.Standing = r.Standing.ofVersion()
	default:
		return unknownRecord(p.Address, sequence, r.Kind)
	}
	p.Version, p.Revision = r.Version, sequence
	return nil
}

func comparePlatform(pkg Package, platform Platform) int {
	return strings.Compare(pkg.Platform.String(), platform.String())
}

// Accepted is the accepted package for a platform, whether or not it can be
// served yet.
func (p *ProviderVersion) Accepted(platform Platform) (Package, bool) {
	at, ok := slices.BinarySearchFunc(p.Packages, platform, comparePlatform)
	if !ok {
		return Package{}, false
	}
	return p.Packages[at], true
}

// Package is the package for a platform if it can be served: accepted, and
// covered by the signed SHA256SUMS. A mirror serves no SHA256SUMS, so every
// accepted package of a mirrored provider can be served.
func (p *ProviderVersion) Package(platform Platform) (Package, bool) {
	pkg, ok := p.Accepted(platform)
	return pkg, ok && p.covers(pkg)
}

// Served is every package that can be served, by platform.
func (p *ProviderVersion) Served() iter.Seq[Package] {
	return func(yield func(Package) bool) {
		for _, pkg := range p.Packages {
			if p.covers(pkg) && !yield(pkg) {
				return
			}
		}
	}
}

// Settled says that every accepted package can be served.
func (p *ProviderVersion) Settled() bool {
	return !slices.ContainsFunc(p.Packages, func(pkg Package) bool { return !p.covers(pkg) })
}

func (p *ProviderVersion) covers(pkg Package) bool {
	return p.Address.Mirrored() || p.Release != nil && (p.Release.Author || pkg.Sequence < p.Release.Sequence)
}

// Protocols is what a package of this version speaks: what the release's
// manifest says, else what the manifest inside the package says, else 5.0.
// Each major version is there once, with its highest minor.
func (p *ProviderVersion) Protocols(pkg Package) []string {
	switch {
	case p.Manifest != nil:
		return highestMinors(p.Manifest.Protocols)
	case len(pkg.Protocols) > 0:
		return highestMinors(pkg.Protocols)
	default:
		return defaultProtocols
	}
}

// Source is that of the first package that has one. A version is made from one source,
// so those of later packages change nothing.
func (p *ProviderVersion) Source() string {
	var first Package
	for _, pkg := range p.Packages {
		if pkg.Source != "" && (first.Source == "" || pkg.Sequence < first.Sequence) {
			first = pkg
		}
	}
	return first.Source
}

// Listed is the version's entry in the provider's listing. It has no platforms
// when nothing can be served yet.
func (p *ProviderVersion) Listed() Listed {
	entry := Listed{Version: p.Version, Revision: p.Revision, Standing: p.Standing}
	var protocols []string
	for pkg := range p.Served() {
		entry.Platforms = append(entry.Platforms, pkg.Platform)
		protocols = append(protocols, p.Protocols(pkg)...)
	}
	entry.Protocols = highestMinors(protocols)
	return entry
}

// Listable implements [State]: a version of a provider is listed where a package of it
// can be served.
func (p *ProviderVersion) Listable() bool { return slices.ContainsFunc(p.Packages, p.covers) }

// highestMinors keeps each major protocol version once, with its highest
// minor, as the provider registry protocol asks.
func highestMinors(protocols []string) []string {
	sorted := slices.Clone(protocols)
	slices.SortFunc(sorted, func(a, b string) int {
		majorA, minorA := splitProtocol(a)
		majorB, minorB := splitProtocol(b)
		return cmp.Or(cmp.Compare(majorA, majorB), cmp.Compare(minorB, minorA))
	})
	return slices.CompactFunc(sorted, func(a, b string) bool {
		majorA, _ := splitProtocol(a)
		majorB, _ := splitProtocol(b)
		return majorA == majorB
	})
}

func splitProtocol(protocol string) (major, minor int) {
	left, right, _ := strings.Cut(protocol, ".")
	major, _ = strconv.Atoi(left)
	minor, _ = strconv.Atoi(right)
	return major, minor
}
