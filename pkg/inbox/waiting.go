package inbox

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/larder-registry/larder/pkg/blob"
)

// Uploads yields the keys of the uploads in the inbox that come after the key after, each
// key once, in the order of keys. It also yields a key whose object is deleted, as long as
// a version of it exists.
func (i *Inbox) Uploads(ctx context.Context, after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for newest, err := range i.NewestUploads(ctx, after) {
			if !yield(newest.Key, err) {
				return
			}
		}
	}
}

// NewestUploads yields the newest version under each of the keys that [Inbox.Uploads] yields.
func (i *Inbox) NewestUploads(ctx context.Context, after string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for _, folder := range Folders {
			var last string
			for object, err := range i.config.Bucket.Versions(ctx, folder, after) {
				if err != nil {
					yield(blob.Object{}, fmt.Errorf("list the inbox: %w", err))
					return
				}
				if object.Key != last && !yield(object, nil) {
					return
				}
				last = object.Key
			}
		}
	}
}

// Waiting returns the uploads under a key that have no final outcome yet, the oldest
// first: those after the upload whose outcome was written last. That upload is one of them
// if another upload can change its outcome, or has changed it: a publisher may have died
// after it reported a late outcome and before it looked again.
func (i *Inbox) Waiting(ctx context.Context, key string) ([]blob.Object, error) {
	last, err := i.LastOutcome(ctx, key)
	if err != nil {
		return nil, err
	}
	return i.waitingAfter(ctx, key, last)
}

// WaitingAfter is Waiting for a walk that knows the newest version under the key and the last
// outcome. It sends no request if that is the outcome of this version, and a final one.
func (i *Inbox) WaitingAfter(ctx context.Context, newest blob.Object, last Outcome) ([]blob.Object, error) {
	if newest.Version == last.Version && !last.MayChange() {
		return nil, nil
	}
	return i.waitingAfter(ctx, newest.Key, last)
}

func (i *Inbox) waitingAfter(ctx context.Context, key string, last Outcome) ([]blob.Object, error) {
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
