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
	// progressEvery is after how many versions a recovery logs its progress.
	progressEvery = 1000

	// maxFailed is how many failures of storage, catalog or signer in a row a
	// reconcile passes over. After more, it ends: they are broken. An error of a
	// version does not count, and ends nothing: an uploader could cause any number
	// of them.
	maxFailed = 10
)

// Recover brings the catalog up to the records. It finishes what was accepted by a publisher
// that died before it was served. It rebuilds an empty catalog, and a directory that was never
// written. It trusts what the catalog
// has at the revision of the records; [Walks.Reindex] does not.
//
// If a version cannot be recovered, that is logged, and the others go on. Errors are those of
// the whole walk.
func (w *Walks) Recover(ctx context.Context) error {
	_, err := w.recoverUntil(ctx, "", forever(), never)
	return err
}

// RecoverSlowly is Recover for a registry that answers clients meanwhile: it rests as long
// as it works.
func (w *Walks) RecoverSlowly(ctx context.Context) error {
	_, err := w.recoverUntil(ctx, "", forever(), maxWork)
	return err
}

// maxWork is how long a slow recovery works before it rests.
const maxWork = 20 * time.Millisecond

// never is the work of a recovery that does not rest.
const never = time.Duration(math.MaxInt64)

func forever() time.Time { return time.Now().Add(math.MaxInt64) }

// Reconcile does in parts what [Walks.Recover] and a walk over [inbox.Inbox.Uploads] do: it
// brings the catalog up to the records, and hands the uploads that no event reported to
// missed. It goes on after a key, at first the empty one. It stops when the time is past
// until, but never before it took one step. Then it returns the key to go on after, or the
// empty key if all is done.
//
// If a version cannot be recovered, or an upload cannot be judged, that is logged, and the
// others go on; the next reconcile tries again. Errors are those of the whole walk: of lists
// and of missed, and too many failures in a row.
func (w *Walks) Reconcile(ctx context.Context, after string, until time.Time, missed func(context.Context, blob.Object) error) (next string, err error) {
	if after == "" || strings.HasPrefix(after, registry.RecordsPrefix) {
		if next, err = w.recoverUntil(ctx, after, until, never); next != "" || err != nil {
			return next, err
		}
		after = ""
	}
	var failed failures
	for newest, err := range w.inbox.NewestUploads(ctx, after) {
		if err != nil {
			return "", err
		}
		key := newest.Key
		last, err := w.inbox.LastOutcome(ctx, key)
		var waiting []blob.Object
		if err == nil {
			waiting, err = w.inbox.WaitingAfter(ctx, newest, last)
		}
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

// recoverUntil recovers the versions after a cursor. It rests whenever it has worked for as
// long as work says.
func (w *Walks) recoverUntil(ctx context.Context, after string, until time.Time, work time.Duration) (next string, err error) {
	began := time.Now()
	sparing, err := w.sparing(ctx)
	if err != nil {
		return "", fmt.Errorf("recover: %w", err)
	}
	var failed failures
	versions, changed, broken := 0, 0, 0
	for step, err := range sparing.bringUp(ctx, after) {
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
		if began, err = rest(ctx, began, work); err != nil {
			return "", fmt.Errorf("recover: %w", err)
		}
	}
	w.logger.InfoContext(ctx, "the catalog was compared with the records", "versions", versions, "updated", changed, "broken", broken)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err = w.BuildDirectory(ctx); err == nil {
		_, err = rest(ctx, began, work)
	}
	if err != nil {
		return "", fmt.Errorf("recover: %w", err)
	}
	return "", nil
}

// rest rests after work that began at a time, if that was long enough: as long as it was. It
// returns when the work that follows begins.
func rest(ctx context.Context, began time.Time, work time.Duration) (time.Time, error) {
	worked := time.Since(began)
	if worked < work {
		return began, nil
	}
	err := sleep(ctx, worked)
	return time.Now(), err
}

// failures are the failures in a row.
type failures []error

// count counts the error of a step. It returns an error if there are too many.
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
