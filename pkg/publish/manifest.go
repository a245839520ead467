package publish

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// A manifest says which protocols the packages of a version speak. Clients refuse a package
// if they do not speak its protocols. So a manifest can take a version away from its users.
// A manifest is signed if an author's SHA256SUMS lists it. If it is not signed, it changes
// nothing that is served after the first package: docs/decisions/0020-manifests.md.

// manifestTime is how long after the first package of a version a manifest that is not
// signed may still change what is served: the files of a release are uploaded one after
// another, in any order.
const manifestTime = 15 * time.Minute

func (p *Publisher) publishManifest(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	data, described, err := blob.Read(ctx, p.bucket, object.Key, object.Version, u.MaxSize())
	if err != nil {
		return ignoreDeleted(err)
	}
	o.SHA256 = blob.SHA256(data)
	protocols, err := parseManifest(data)
	if err != nil {
		return err
	}
	s := &registry.ProviderVersion{Address: u.Provider, Version: u.Version}
	if err := p.log.Load(ctx, s); err != nil {
		return err
	}
	manifest := registry.Manifest{SHA256: o.SHA256, Protocols: protocols}
	err = p.log.Extend(ctx, s, func() (*registry.Record, error) {
		if published, err := p.manifestPublished(ctx, s, u.Version, manifest, described.Modified); published || err != nil {
			return nil, err
		}
		return &registry.Record{Kind: registry.KindManifest, Version: u.Version, Upload: object.Key, By: object.By, Manifest: &manifest}, nil
	})
	if err != nil {
		return err
	}
	return settle(ctx, p.log, s)
}

// parseManifest returns the protocol versions of a registry manifest, or rejects
// it.
func parseManifest(data []byte) ([]string, error) {
	protocols, err := archive.ParseManifest(bytes.TrimSpace(data))
	if err != nil {
		return nil, inbox.Reject("it is not a registry manifest: %v", err)
	}
	return protocols, nil
}

// manifestPublished says whether a version has this manifest already. The error says why it
// cannot have it, or not yet.
func (p *Publisher) manifestPublished(ctx context.Context, s *registry.ProviderVersion, v registry.Version, m registry.Manifest, uploaded time.Time) (bool, error) {
	switch {
	case s.Revision > 0 && s.Version != v:
		return false, rejectMetadata(s.Address, s.Version, v)
	case s.Manifest != nil && s.Manifest.SHA256 == m.SHA256:
		return true, nil
	case s.Manifest != nil:
		return false, inbox.Reject("provider %s %s has a registry manifest already, with other bytes (sha256 %s): a published version never changes", s.Address, s.Version, s.Manifest.SHA256)
	}
	for _, pkg := range s.Packages {
		if err := checkInside(s.Address.PackageFilename(s.Version, pkg.Platform), pkg, m.Protocols); err != nil {
			return false, err
		}
	}
	if servesAuthors(s) {
		return false, p.checkAuthorLists(ctx, s, s.Address.ManifestFilename(v), m.SHA256, true)
	}
	return false, p.checkUnsigned(ctx, s, m.Protocols, uploaded)
}

// checkInside rejects a package or a manifest if the two contradict each other.
func checkInside(name string, pkg registry.Package, protocols []string) error {
	if len(pkg.Protocols) == 0 || slices.Equal(pkg.Protocols, protocols) {
		return nil
	}
	return inbox.Reject("the release's manifest says protocols %s, and the %s in %s says %s: they must say the same", list(protocols), archive.ManifestName, name, list(pkg.Protocols))
}

// checkUnsigned says why a manifest that is not signed cannot set the protocols of a
// version, or not yet.
func (p *Publisher) checkUnsigned(ctx context.Context, s *registry.ProviderVersion, protocols []string, uploaded time.Time) error {
	at := slices.IndexFunc(s.Packages, func(pkg registry.Package) bool { return !slices.Equal(s.Protocols(pkg), protocols) })
	if at < 0 {
		return nil
	}
	served := s.Protocols(s.Packages[at])
	if !slices.ContainsFunc(protocols, isSpoken) {
		return inbox.Reject("it says protocols %s, which no client speaks, and provider %s %s is published with %s: a published version never changes, but for a manifest that its author's signed SHA256SUMS lists", list(protocols), s.Address, s.Version, list(served))
	}
	first, err := p.firstPackage(ctx, s)
	if err != nil {
		return err
	}
	if uploaded.Sub(first) <= manifestTime {
		return nil
	}
	return inbox.Wait("it says protocols %s, and provider %s %s is published with %s: it waits for a SHA256SUMS that lists it, signed by its author. Or put it into the zips of a new version, as %s", list(protocols), s.Address, s.Version, list(served), archive.ManifestName)
}

// isSpoken says whether clients can install a package with a protocol.
func isSpoken(protocol string) bool {
	major, _, _ := strings.Cut(protocol, ".")
	return major == "5" || major == "6"
}

func list(protocols []string) string { return strings.Join(protocols, " and ") }

// firstPackage returns when the first package of a version was accepted.
func (p *Publisher) firstPackage(ctx context.Context, s *registry.ProviderVersion) (time.Time, error) {
	first := slices.MinFunc(s.Packages, func(a, b registry.Package) int { return a.Sequence - b.Sequence })
	r, err := p.log.Record(ctx, registry.RecordKey(s.Subject().LogPrefix(), first.Sequence))
	return r.Time, err
}
