package publish

import (
	"context"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// Documentation is for people, and no client installs it. So it needs no signature: it may be
// missing in an author's SHA256SUMS, and the registry's own does not list it. If it did, each
// documentation that comes after the packages would have the version signed anew, and every
// lock file would get one hash more.

func (p *Publisher) publishDocs(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	file, err := p.scratch.fetch(ctx, p.bucket, object, u.MaxSize())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	o.SHA256 = file.sha256

	_, err = archive.CheckDocs(ctx, file, file.Size())
	broken := violations(err)
	if _, _, failed := inbox.Conclude(broken); failed != nil {
		return failed
	}
	s := &registry.ProviderVersion{Address: u.Provider, Version: u.Version}
	if err := p.log.Load(ctx, s); err != nil {
		return err
	}
	accept := registry.Docs{SHA256: file.sha256, Size: file.Size()}
	// Documentation that is published may be older than a rule that it breaks.
	if broken != nil && (s.Docs == nil || *s.Docs != accept) {
		return broken
	}
	decide := func() (*registry.Record, error) {
		if published, err := p.docsPublished(ctx, s, u.Version, accept); published || err != nil {
			return nil, err
		}
		return &registry.Record{Kind: registry.KindDocs, Version: u.Version, Upload: object.Key, By: object.By, Docs: &accept}, nil
	}
	if r, err := decide(); err != nil {
		return err
	} else if r != nil {
		if err := p.authors.checkBeside(ctx, u, object, s, accept.SHA256); err != nil {
			return err
		}
		if err := p.keep(ctx, object, u.Provider.DocsKey(u.Version, accept), file); err != nil {
			return err
		}
	}
	if err := p.log.Extend(ctx, s, decide); err != nil {
		return err
	}
	if err := p.keepContents(ctx, s, accept.SHA256, file); err != nil {
		return err
	}
	return settle(ctx, p.log, s)
}

// docsPublished says whether the version has this documentation. Documentation that it must
// not have is rejected.
func (p *Publisher) docsPublished(ctx context.Context, s *registry.ProviderVersion, v registry.Version, docs registry.Docs) (bool, error) {
	switch {
	case s.Revision > 0 && s.Version != v:
		return false, rejectMetadata(s.Address, s.Version, v)
	case s.Docs != nil && s.Docs.SHA256 == docs.SHA256:
		return true, nil
	case s.Docs != nil:
		return false, inbox.Reject("provider %s %s has documentation already, with other bytes (sha256 %s; this file: %s): a published version never changes, so publish a new one", s.Address, s.Version, s.Docs.SHA256, docs.SHA256)
	default:
		return false, p.checkAuthorLists(ctx, s, s.Address.DocsFilename(v), docs.SHA256, false)
	}
}
