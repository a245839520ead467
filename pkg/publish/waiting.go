package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// waiting publishes the uploads that waited in the inbox for another upload.
type waiting struct {
	bucket     blob.Bucket
	inbox      *inbox.Inbox
	publishKey func(ctx context.Context, key string) error // see [Publisher.PublishKey]
}

// publishPackages publishes or rejects the packages and the documentation of a version that
// waited for another SHA256SUMS, or for its key.
func (w waiting) publishPackages(ctx context.Context, u inbox.Upload) error {
	for _, folder := range u.Folders() {
		prefix := folder + "/" + strings.TrimSuffix(u.Provider.SHA256SUMSFilename(u.Version), "SHA256SUMS")
		for object, err := range w.bucket.List(ctx, prefix, "") {
			if err != nil {
				return fmt.Errorf("list the packages of %s %s: %w", u.Provider, u.Version, err)
			}
			if err := w.publishPackage(ctx, object.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w waiting) publishPackage(ctx context.Context, key string) error {
	if u, err := inbox.ParseKey(key); err != nil || u.Kind != inbox.ProviderPackage && u.Kind != inbox.Docs {
		return nil
	}
	last, err := w.inbox.LastOutcome(ctx, key)
	if err != nil || last.Status != inbox.Pending {
		return err
	}
	return w.publishKey(ctx, key)
}

// publishManifest publishes a manifest that waited for the author's release.
func (w waiting) publishManifest(ctx context.Context, u inbox.Upload) error {
	for _, folder := range u.Folders() {
		key := folder + "/" + u.Provider.ManifestFilename(u.Version)
		if err := w.publishKey(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// publishRevocations publishes the revocation certificates of a namespace that waited for
// their key.
func (w waiting) publishRevocations(ctx context.Context, namespace string) error {
	for object, err := range w.bucket.List(ctx, inbox.KeysFolder+namespace+"/", "") {
		if err != nil {
			return fmt.Errorf("list the keys of %s: %w", namespace, err)
		}
		last, err := w.inbox.LastOutcome(ctx, object.Key)
		if err != nil {
			return err
		}
		if last.Status != inbox.Pending {
			continue
		}
		if err := w.publishKey(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}

// publishSignatures publishes the signatures of a namespace that waited.
func (w waiting) publishSignatures(ctx context.Context, namespace string) error {
	for object, err := range w.bucket.List(ctx, inbox.ProvidersFolder+namespace+"/", "") {
		if err != nil {
			return fmt.Errorf("list the uploads of %s: %w", namespace, err)
		}
		if !strings.HasSuffix(object.Key, "_SHA256SUMS.sig") {
			continue
		}
		if err := w.publishKey(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}
