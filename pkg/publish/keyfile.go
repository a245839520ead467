package publish

import (
	"context"

	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// publishKeys publishes a file of an author's public keys, and then the revocations and
// releases that waited for these keys.
func (p *Publisher) publishKeys(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	data, _, err := blob.Read(ctx, p.bucket, object.Key, object.Version, u.MaxSize())
	if err != nil {
		return ignoreDeleted(err)
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
		if err := p.waiting.publishRevocations(ctx, u.Namespace); err != nil {
			return err
		}
	}
	if err := p.waiting.publishSignatures(ctx, u.Namespace); err != nil || len(found.News) == 0 {
		return err
	}
	return &inbox.Verdict{Status: inbox.Published, Reasons: found.News}
}
