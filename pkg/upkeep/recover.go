package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

const (
	// progressEvery is after how many versions a long recovery says how far
	// it is.
	progressEvery = 1000

	// maxFailed is how many times in a row a reconcile passes over what storage,
	// catalog or signer failed at. More mean that it is these that are broken.
	// What is wrong with a version itself does not count, nor does it end
	// anything: whoever may upload could make as many of those as they like.
	maxFailed = 10
)

// Recover brings the catalog up to the records, and finishes what a publisher
// that died had accepted but not yet made to be served. An empty catalog is
// rebuilt by it. What the catalog has at the revision of the records is taken to
// be right: to be sure, there is [Walks.Reindex].
//
// A version that cannot be recovered is logged and passed over: it must not keep
// all the others from being served. Errors are those of the whole.
func (w *Walks) Recover(ctx context.Context) error {
	_, err := w.recoverUntil(ctx, "", time.Now().Add(math.MaxInt64))
	return err
}

// Reconcile does in parts what [Walks.Recover] and a walk over
// [inbox.Inbox.Uploads] do: the catalog is brought up to the records, and what no
// event told of is handed to missed. It goes on after a key, at first the empty
// one, and stops when the time is past until, though never before it came one
// step further. Then it returns the key to go on after; the empty key says that
// all is done.
//
// A version that cannot be recovered is logged and passed over, to be tried the
// next time, and so is an upload: it must not keep the others waiting. Errors are
// those of the whole: of listings and of missed, and too many failures in a row.
func (w *Walks) Reconcile(ctx context.Context, after string, until time.Time, missed func(context.Context, blob.Object) error) (next string, err error) {
	if after == "" || strings.HasPrefix(after, registry.RecordsPrefix) {
		if next, err = w.recoverUntil(ctx, after, until); next != "" || err != nil {
			return next, err
		}
		after = ""
	}
	var failed failures
	for key, err := range w.inbox.Uploads(ctx, after) {
		if err != nil {
			return "", err
		}
		waiting, err := w.inbox.Waiting(ctx, key)
		if err != nil {
			w.logger.ErrorContext(ctx, "it is not known what became of an upload; the next reconcile looks again", "key", key, "error", err)
		}
		if err := cmp.Or(ctx.Err(), failed.count(err)); err != nil {
			return "", fmt.Errorf("reconcile: %w", err)
		}
		for _, object := range waiting {
			if err := missed(ctx, object); err != nil {
				return "", err
			}
		}
		if time.Now().After(until) {
			return key, nil
		}
	}
	return "", nil
}

func (w *Walks) recoverUntil(ctx context.Context, after string, until time.Time) (next string, err error) {
	var failed failures
	versions, changed, broken := 0, 0, 0
	for step, err := range w.bringUp(ctx, after) {
		if err := cmp.Or(ctx.Err(), step.Whole(err)); err != nil {
			return "", fmt.Errorf("recover: %w", err)
		}
		if err != nil {
			w.logger.ErrorContext(ctx, "a version cannot be recovered and will be tried again by the next reconcile", "version", step.Subject, "error", err)
			broken++
		}
		if err := failed.count(err); err != nil {
			return "", fmt.Errorf("recover: %w", err)
		}
		if step.Changed {
			changed++
		}
		if versions++; versions%progressEvery == 0 {
			w.logger.InfoContext(ctx, "comparing the catalog with the records", "versions", versions, "updated", changed)
		}
		if time.Now().After(until) {
			return step.After, nil
		}
	}
	w.logger.InfoContext(ctx, "the catalog was compared with the records", "versions", versions, "updated", changed, "broken", broken)
	return "", ctx.Err()
}

// failures are those in a row.
type failures []error

// count takes in how a step ended. It is an error where too many failed.
func (f *failures) count(err error) error {
	switch {
	case err == nil:
		*f = nil
	case !versionlog.IsOfVersion(err):
		*f = append(*f, err)
	}
	if len(*f) > maxFailed {
		return fmt.Errorf("%d failures in a row: %w", len(*f), errors.Join(*f...))
	}
	return nil
}
