package inbox

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/larder-registry/larder/pkg/blob"
)

// Uploads is the key of every upload in the inbox that comes after another one,
// also of those that a newer one or a delete marker hides, once each and in
// their order, folder by folder.
func (i *Inbox) Uploads(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, folder := range Folders {
			var last string
			for object, err := range i.config.Bucket.Versions(ctx, folder, after) {
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

// Waiting is what lies under a key and has no final outcome yet: the uploads
// since the one whose outcome was written last, in their order. That one is
// among them where another upload can change its outcome, or has: a publisher
// may have died between an outcome that was late and the second look.
func (i *Inbox) Waiting(ctx context.Context, key string) ([]blob.Object, error) {
	last, err := i.LastOutcome(ctx, key)
	if err != nil {
		return nil, err
	}
	var waiting []blob.Object
	for object, err := range i.config.Bucket.Versions(ctx, key, "") {
		if err != nil {
			return nil, fmt.Errorf("list the versions of %s: %w", key, err)
		}
		done := object.Version == last.Version
		if object.Key != key || done && !last.MayChange() {
			break
		}
		if err := i.FindWriter(ctx, &object); err != nil {
			return nil, err
		}
		waiting = append(waiting, object)
		if done {
			break
		}
	}
	slices.Reverse(waiting)
	return waiting, nil
}
