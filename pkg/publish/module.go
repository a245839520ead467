package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

func (p *Publisher) publishModule(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	file, err := p.scratch.fetch(ctx, p.bucket, object, u.MaxSize())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	o.SHA256 = file.sha256

	checked, err := archive.CheckModule(ctx, file, file.Size(), u.Format)
	broken := violations(err, registry.CheckSource(file.source))
	if _, _, failed := inbox.Conclude(broken); failed != nil {
		return failed
	}
	m := &registry.ModuleVersion{Address: u.Module, Version: u.Version}
	if err := p.log.Load(ctx, m); err != nil {
		return err
	}
	// An archive that is published may be older than a rule that it breaks.
	if published, _ := modulePublished(m, u.Version, file.sha256); broken != nil && !published {
		return broken
	}
	accept := registry.ModuleArchive{
		Format: u.Format.String(), H1: checked.H1,
		SHA256: file.sha256, Size: file.Size(), UploadSHA256: file.sha256, Source: file.source,
	}
	if m.Revision == 0 {
		if err := p.room.checkModule(ctx, m, accept.Source); err != nil {
			return err
		}
	}
	if err := p.storeModule(ctx, m, object, file, checked.Wrapper, &accept); err != nil {
		return err
	}
	err = p.log.Extend(ctx, m, func() (*registry.Record, error) {
		if published, err := modulePublished(m, u.Version, file.sha256); published || err != nil {
			return nil, err
		}
		return &registry.Record{Kind: registry.KindModule, Version: u.Version, Upload: object.Key, By: object.By, Module: &accept}, nil
	})
	if err != nil {
		return err
	}
	if err := p.keepContents(ctx, m, m.Archive.SHA256, file); err != nil {
		return err
	}
	if err := p.log.Put(ctx, m); err != nil {
		return err
	}
	o.Warnings = checked.Warnings
	return nil
}

// keepContents stores what a version says of itself in an archive that is kept with a sha256,
// unless an earlier try did. If the upload is not what is kept, because it was unwrapped, what is
// kept is read from the bucket.
func (p *Publisher) keepContents(ctx context.Context, s registry.State, sha256 string, file *content) error {
	lacks, err := p.contents.Lacks(ctx, s)
	switch {
	case err != nil || !lacks:
		return err
	case sha256 == file.sha256:
		return p.contents.Keep(ctx, s, file)
	default:
		return p.contents.Make(ctx, s)
	}
}

// modulePublished says whether the version is published with this sha256. Another sha256 is
// rejected.
func modulePublished(m *registry.ModuleVersion, v registry.Version, sha256 string) (bool, error) {
	switch {
	case m.Revision == 0:
		return false, nil
	case m.Version != v:
		return false, rejectMetadata(m.Address, m.Version, v)
	case m.Archive.UploadSHA256 != sha256:
		return false, inbox.Reject("module %s %s is published already with other bytes (sha256 %s; this file: %s): a published version never changes, so publish a new one", m.Address, m.Version, m.Archive.UploadSHA256, sha256)
	default:
		return true, nil
	}
}

func rejectMetadata(address fmt.Stringer, published, v registry.Version) error {
	return inbox.Reject("%s %s is published already as %s: versions that differ in build metadata alone cannot be told apart by the clients", address, v, published)
}

// storeModule stores the archive where it is served from. If it has a wrapper, it is
// unwrapped first, and accept gets the new hash and size. A published version has its
// archive already.
func (p *Publisher) storeModule(ctx context.Context, m *registry.ModuleVersion, object blob.Object, file *content, wrapper string, accept *registry.ModuleArchive) error {
	if m.Revision > 0 {
		return nil
	}
	if wrapper == "" {
		return p.keep(ctx, object, m.Address.ArchiveKey(m.Version, *accept), file)
	}
	format := archive.TarGz
	if accept.Format == archive.Zip.String() {
		format = archive.Zip
	}
	unwrapped, err := p.scratch.hold(func(w io.Writer) error {
		return archive.Unwrap(ctx, file, file.Size(), format, wrapper, w)
	})
	if err != nil {
		return fmt.Errorf("unwrap: %w", err)
	}
	defer unwrapped.Close() //nolint:errcheck // scratch
	accept.SHA256, accept.Size = unwrapped.sha256, unwrapped.Size()
	if err := p.bucket.Put(ctx, m.Address.ArchiveKey(m.Version, *accept), unwrapped, unwrapped.Size()); err != nil {
		return fmt.Errorf("store the archive: %w", err)
	}
	return nil
}

// keep copies an upload to where it is served from, unless an earlier try did. If the copy
// has another hash than the checked bytes, because the upload was overwritten meanwhile, the
// checked bytes are stored.
func (p *Publisher) keep(ctx context.Context, object blob.Object, key string, file *content) error {
	kept, err := p.bucket.Head(ctx, key)
	if err == nil && kept.SHA256 == file.sha256 {
		return nil
	}
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("store the upload: %w", err)
	}
	copied, err := p.bucket.Copy(ctx, object.Key, object.Version, key)
	if err != nil {
		return fmt.Errorf("store the upload: %w", ignoreDeleted(err))
	}
	if copied == file.sha256 {
		return nil
	}
	if err := p.bucket.Put(ctx, key, file, file.Size()); err != nil {
		return fmt.Errorf("store the upload: %w", err)
	}
	return nil
}

// violations turns the violations of an archive, and other errors, into a rejection.
func violations(err error, others ...error) error {
	var v archive.Violations
	if err != nil && !errors.As(err, &v) {
		return err
	}
	wrong := inbox.Problems(v)
	for _, other := range others {
		wrong.Add(other)
	}
	return wrong.Verdict()
}

// ignoreDeleted ignores an upload that was deleted before it was published. Other errors
// stay.
func ignoreDeleted(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return inbox.Ignore("it was deleted before it could be published")
	}
	return err
}
