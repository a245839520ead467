package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// publishKeys takes a file of an author's public keys, and completes the
// releases that waited for one of them.
func (p *Publisher) publishKeys(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	data, _, err := blob.Read(ctx, p.bucket, object.Key, object.Version, u.MaxSize())
	if err != nil {
		return gone(err)
	}
	o.SHA256 = blob.SHA256(data)
	file, err := authorkeys.ReadFile(data)
	if err != nil {
		return err
	}
	found, err := p.keys.Judge(ctx, u.Namespace, file)
	if err != nil {
		return err
	}
	if err := p.keys.Store(ctx, u.Namespace, found); err != nil {
		return err
	}
	if len(file.Keys) > 0 {
		if err := p.completeRevocations(ctx, u.Namespace); err != nil {
			return err
		}
	}
	if err := p.completeReleases(ctx, u.Namespace); err != nil || len(found.News) == 0 {
		return err
	}
	return &inbox.Verdict{Status: inbox.Published, Reasons: found.News}
}

// completeRevocations publishes the revocation certificates of a namespace that
// lie in the inbox and have waited for their key.
func (p *Publisher) completeRevocations(ctx context.Context, namespace string) error {
	for object, err := range p.bucket.List(ctx, inbox.KeysFolder+namespace+"/", "") {
		if err != nil {
			return fmt.Errorf("list the keys of %s: %w", namespace, err)
		}
		last, err := p.inbox.LastOutcome(ctx, object.Key)
		if err != nil {
			return err
		}
		if last.Status != inbox.Pending {
			continue
		}
		if err := p.PublishKey(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}

// completeReleases publishes the signatures of a namespace that lie in the
// inbox and have waited.
func (p *Publisher) completeReleases(ctx context.Context, namespace string) error {
	for object, err := range p.bucket.List(ctx, inbox.ProvidersFolder+namespace+"/", "") {
		if err != nil {
			return fmt.Errorf("list the uploads of %s: %w", namespace, err)
		}
		if !strings.HasSuffix(object.Key, "_SHA256SUMS.sig") {
			continue
		}
		if err := p.PublishKey(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}
