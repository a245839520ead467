package versionlog

import (
	"context"
	"iter"

	"github.com/larder-registry/larder/pkg/registry"
)

// LastRecords yields the key of the last record of every version under a prefix, if it comes
// after the key after.
func (l *Log) LastRecords(ctx context.Context, prefix, after string) iter.Seq2[registry.ParsedRecordKey, error] {
	return func(yield func(registry.ParsedRecordKey, error) bool) {
		var last registry.ParsedRecordKey
		for object, err := range l.bucket.List(ctx, prefix, after) {
			if err != nil {
				yield(registry.ParsedRecordKey{}, err)
				return
			}
			key, err := registry.ParseRecordKey(object.Key)
			if err != nil {
				l.logger.WarnContext(ctx, "an object among the records is none", "key", object.Key)
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
