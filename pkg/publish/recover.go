package publish

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/larder-registry/larder/pkg/registry"
)

// progressEvery is after how many versions a long recovery says how far it is.
const progressEvery = 1000

// Recover brings the catalog up to the records, and finishes what a publisher
// that died had accepted but not yet made to be served. An empty catalog is
// rebuilt by it.
func (p *Publisher) Recover(ctx context.Context) error {
	versions, changed := 0, 0
	for last, err := range p.lastRecords(ctx) {
		if err != nil {
			return fmt.Errorf("recover: %w", err)
		}
		did, err := p.recoverVersion(ctx, last)
		if err != nil {
			return fmt.Errorf("recover: %w", err)
		}
		if did {
			changed++
		}
		if versions++; versions%progressEvery == 0 {
			p.log.InfoContext(ctx, "comparing the catalog with the records", "versions", versions, "updated", changed)
		}
	}
	p.log.InfoContext(ctx, "the catalog agrees with the records", "versions", versions, "updated", changed)
	return nil
}

// lastRecords is the last record of every version.
func (p *Publisher) lastRecords(ctx context.Context) iter.Seq2[registry.ParsedRecordKey, error] {
	return func(yield func(registry.ParsedRecordKey, error) bool) {
		var last registry.ParsedRecordKey
		for object, err := range p.bucket.List(ctx, registry.RecordsPrefix) {
			if err != nil {
				yield(registry.ParsedRecordKey{}, err)
				return
			}
			key, err := registry.ParseRecordKey(object.Key)
			if err != nil {
				p.log.WarnContext(ctx, "an object among the records is none", "key", object.Key)
				continue
			}
			if last.Sequence > 0 && last.LogPrefix() != key.LogPrefix() && !yield(last, nil) {
				return
			}
			last = key
		}
		if last.Sequence > 0 {
			yield(last, nil)
		}
	}
}

// recoverVersion reports whether the catalog had to be changed.
func (p *Publisher) recoverVersion(ctx context.Context, last registry.ParsedRecordKey) (bool, error) {
	if last.Module != nil {
		m, err := p.index.ModuleVersion(ctx, *last.Module, last.Version)
		if err == nil && m.Revision >= last.Sequence {
			return false, nil
		}
		loaded, err := p.loadModule(ctx, *last.Module, last.Version)
		if err != nil {
			return false, err
		}
		return true, p.index.PutModuleVersion(ctx, *loaded)
	}
	s, err := p.index.ProviderVersion(ctx, *last.Provider, last.Version)
	if err == nil && s.Revision >= last.Sequence && s.Settled() {
		return false, nil
	}
	loaded, err := p.loadProvider(ctx, *last.Provider, last.Version)
	if err != nil {
		return false, err
	}
	return true, p.settle(ctx, loaded)
}

// Uploads is the key of every upload in the inbox, also of those that a newer
// one or a delete marker hides, once each. Keys come before what they sign.
func (p *Publisher) Uploads(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, folder := range []string{keysFolder, modulesFolder, providersFolder} {
			var last string
			for object, err := range p.bucket.Versions(ctx, folder) {
				if err != nil {
					yield("", fmt.Errorf("list the inbox: %w", err))
					return
				}
				if object.Key != last && !yield(object.Key, nil) {
					return
				}
				last = object.Key
			}
		}
	}
}

// PublishKey publishes what lies under a key and has no final outcome yet: the
// uploads since the one whose outcome was written last, in their order.
func (p *Publisher) PublishKey(ctx context.Context, key string) error {
	last, err := p.readOutcome(ctx, key)
	if err != nil {
		return err
	}
	var waiting []Object
	for object, err := range p.bucket.Versions(ctx, key) {
		if err != nil {
			return fmt.Errorf("list the versions of %s: %w", key, err)
		}
		done := object.Version == last.Version
		if object.Key != key || done && last.Status != Pending {
			break
		}
		waiting = append(waiting, object)
		if done {
			break
		}
	}
	for _, object := range slices.Backward(waiting) {
		if _, err := p.Publish(ctx, object.Key, object.Version); err != nil {
			return err
		}
	}
	return nil
}
