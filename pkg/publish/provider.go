package publish

import (
	"context"
	"fmt"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
)

func (p *Publisher) publishPackage(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	file, err := p.fetch(ctx, object)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // scratch
	o.SHA256 = file.sha256

	checked, err := archive.CheckProvider(ctx, file, file.size, u.Executable())
	broken := violations(err, registry.CheckSource(file.source))
	if _, _, failed := inbox.Conclude(broken); failed != nil {
		return failed
	}
	accept := registry.Package{
		Platform: u.Platform, SHA256: file.sha256, H1: checked.H1, Size: file.size, Protocols: checked.Protocols, Source: file.source,
	}
	s := &registry.ProviderVersion{Address: u.Provider, Version: u.Version}
	if err := p.load(ctx, s); err != nil {
		return err
	}
	// What is published may be older than a rule that it breaks.
	if accepted, _ := s.Accepted(u.Platform); broken != nil && accepted.SHA256 != file.sha256 {
		return broken
	}
	decide := func() (*registry.Record, error) {
		if published, err := p.packagePublished(ctx, s, u.Version, accept); published || err != nil {
			return nil, err
		}
		return &registry.Record{Kind: registry.KindPackage, Version: u.Version, Upload: object.Key, By: object.By, Package: &accept}, nil
	}
	if r, err := decide(); err != nil {
		return err
	} else if r != nil {
		if err := p.checkMirrored(ctx, u, object, accept); err != nil {
			return err
		}
		if err := p.checkBeside(ctx, u, object, s, accept.SHA256); err != nil {
			return err
		}
		if err := p.checkPackageRoom(ctx, s, u.Version, accept); err != nil {
			return err
		}
		if err := p.keep(ctx, object, u.Provider.PackageKey(u.Version, accept), file); err != nil {
			return err
		}
	}
	if err := p.extend(ctx, s, decide); err != nil {
		return err
	}
	return p.settle(ctx, s)
}

// packagePublished says whether these very bytes are accepted as the version's
// package for their platform. Bytes that must not be are a rejection.
func (p *Publisher) packagePublished(ctx context.Context, s *registry.ProviderVersion, v registry.Version, pkg registry.Package) (bool, error) {
	if s.Revision > 0 && s.Version != v {
		return false, rejectMetadata(s.Address, s.Version, v)
	}
	if accepted, ok := s.Accepted(pkg.Platform); ok {
		if accepted.SHA256 != pkg.SHA256 {
			return false, inbox.Reject("provider %s %s for %s is published already with other bytes (sha256 %s; this file: %s): a published version never changes, so publish a new one", s.Address, s.Version, pkg.Platform, accepted.SHA256, pkg.SHA256)
		}
		return true, nil
	}
	if s.Manifest != nil {
		if err := checkInside(s.Address.PackageFilename(v, pkg.Platform), pkg, s.Manifest.Protocols); err != nil {
			return false, err
		}
	}
	if len(s.Packages) >= MaxPackages {
		return false, inbox.Reject("provider %s %s has packages for %d platforms, and a version has %d at most", s.Address, s.Version, len(s.Packages), MaxPackages)
	}
	if err := checkSignable(s, pkg); err != nil {
		return false, err
	}
	return false, p.checkAuthorLists(ctx, s, s.Address.PackageFilename(v, pkg.Platform), pkg.SHA256)
}

// checkAuthorLists rejects a file that the author's SHA256SUMS, where one is
// served, does not list, or lists with another checksum.
func (p *Publisher) checkAuthorLists(ctx context.Context, s *registry.ProviderVersion, name, sha256 string) error {
	if s.Release == nil || !s.Release.Author {
		return nil
	}
	data, _, err := blob.Read(ctx, p.bucket, s.Address.SHA256SUMSKey(s.Version, *s.Release), "", shasums.MaxSize)
	if err != nil {
		return fmt.Errorf("read the author's SHA256SUMS: %w", err)
	}
	sums, err := shasums.Parse(data)
	if err != nil {
		return fmt.Errorf("read the author's SHA256SUMS: %w", err)
	}
	if err := checkListed(sums, name, sha256, true); err != nil {
		return inbox.Reject("%v", err)
	}
	return nil
}

// settle makes everything that was accepted of a version served: it signs where
// that is still to be done, and brings the catalog up to the log.
func (p *Publisher) settle(ctx context.Context, s *registry.ProviderVersion) error {
	if err := p.complete(ctx, s); err != nil {
		return err
	}
	return p.put(ctx, s)
}

// complete signs what is accepted and not yet signed.
func (p *Publisher) complete(ctx context.Context, s *registry.ProviderVersion) error {
	return p.extend(ctx, s, func() (*registry.Record, error) {
		if s.Settled() {
			return nil, nil
		}
		return p.signRecord(ctx, s)
	})
}

// signRecord makes and stores a SHA256SUMS over all accepted packages, signed
// with the registry's own key. Its record makes it the one that is served.
func (p *Publisher) signRecord(ctx context.Context, s *registry.ProviderVersion) (*registry.Record, error) {
	document, err := sums(s)
	if err != nil {
		return nil, inbox.Reject("%v", err)
	}
	signer := *p.signer.Load() // the same for signature and key, whatever comes
	signature, err := signer.Sign(ctx, document.Bytes())
	if err != nil {
		return nil, fmt.Errorf("sign SHA256SUMS: %w", err)
	}
	key := signer.PublicKey()
	release, err := p.storeRelease(ctx, s, document.Bytes(), signature, registry.Release{
		Keys: []registry.SigningKey{{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor}},
	})
	if err != nil {
		return nil, err
	}
	return &registry.Record{Kind: registry.KindRelease, Version: s.Version, Release: &release}, nil
}

// storeRelease puts a SHA256SUMS and its signature where they are served from,
// under keys that hold their hashes, and notes the hashes in the release.
func (p *Publisher) storeRelease(ctx context.Context, s *registry.ProviderVersion, document, signature []byte, r registry.Release) (registry.Release, error) {
	r.SHA256, r.Signature = blob.SHA256(document), blob.SHA256(signature)
	for key, data := range map[string][]byte{
		s.Address.SHA256SUMSKey(s.Version, r): document,
		s.Address.SignatureKey(s.Version, r):  signature,
	} {
		if err := blob.Keep(ctx, p.bucket, key, data); err != nil {
			return registry.Release{}, err
		}
	}
	return r, nil
}
