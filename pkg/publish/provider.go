package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/versionlog"
)

func (p *Publisher) publishPackage(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	file, err := p.scratch.fetch(ctx, p.bucket, object, u.MaxSize())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	o.SHA256 = file.sha256

	checked, err := archive.CheckProvider(ctx, file, file.Size(), u.Executable())
	broken := violations(err, registry.CheckSource(file.source))
	if _, _, failed := inbox.Conclude(broken); failed != nil {
		return failed
	}
	accept := registry.Package{
		Platform: u.Platform, SHA256: file.sha256, H1: checked.H1, Size: file.Size(), Protocols: checked.Protocols, Source: file.source,
	}
	s := &registry.ProviderVersion{Address: u.Provider, Version: u.Version}
	if err := p.log.Load(ctx, s); err != nil {
		return err
	}
	// A package that is published may be older than a rule that it breaks.
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
		if err := p.authors.checkBeside(ctx, u, object, s, accept.SHA256); err != nil {
			return err
		}
		if err := p.room.checkPackage(ctx, s, u.Version, accept); err != nil {
			return err
		}
		if err := p.keep(ctx, object, u.Provider.PackageKey(u.Version, accept), file); err != nil {
			return err
		}
	}
	if err := p.log.Extend(ctx, s, decide); err != nil {
		return err
	}
	return settle(ctx, p.log, s)
}

// packagePublished says whether the version has this package for its platform. A package
// that it must not have is rejected.
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
	if len(s.Packages) >= registry.MaxPackages {
		return false, inbox.Reject("provider %s %s has packages for %d platforms, and a version has %d at most", s.Address, s.Version, len(s.Packages), registry.MaxPackages)
	}
	if err := checkSignable(s, pkg); err != nil {
		return false, err
	}
	return false, p.checkAuthorLists(ctx, s, s.Address.PackageFilename(v, pkg.Platform), pkg.SHA256, true)
}

// checkAuthorLists rejects a file if an author's SHA256SUMS is served that lists another
// checksum of it, or if the file must be listed there and is not.
func (p *Publisher) checkAuthorLists(ctx context.Context, s *registry.ProviderVersion, name, sha256 string, must bool) error {
	if !servesAuthors(s) {
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
	if err := versionlog.CheckListed(sums, name, sha256, must); err != nil {
		return inbox.Reject("%v", err)
	}
	return nil
}

// settle makes everything that is accepted of a version servable. If the version cannot be
// signed with the upload, the upload is rejected.
func settle(ctx context.Context, log *versionlog.Log, s *registry.ProviderVersion) error {
	err := log.Settle(ctx, s)
	var unsignable *versionlog.UnsignableError
	if errors.As(err, &unsignable) {
		return inbox.Reject("%v", unsignable)
	}
	return err
}
