package upkeep

import (
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// maxCorrections is how often a version is corrected that others change.
const maxCorrections = 5

// Reindex makes the catalog what the records say, to the letter, and signs what
// is accepted and not yet signed: every version is compared with all of its
// records, and what the catalog has without any is removed. It may go on beside
// everything else.
func (w *Walks) Reindex(ctx context.Context, after string) Walk {
	return chain(after,
		leg{recordsLeg, func(after string) Walk {
			listings := listings{catalog: w.index}
			return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) (err error) {
				step.Changed, err = w.rebuild(ctx, last, &listings)
				return err
			})
		}},
		leg{catalogLeg, func(after string) Walk {
			return w.strays(ctx, after, func(stray catalog.Entry, step *Step) error {
				err := w.remove(ctx, stray)
				step.Changed = err == nil
				return err
			})
		}})
}

// bringUp is a walk that rebuilds what the catalog does not have at the revision
// of its records.
func (w *Walks) bringUp(ctx context.Context, after string) Walk {
	listings := listings{catalog: w.index}
	return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) error {
		current, err := w.isCurrent(ctx, last, &listings)
		if err == nil && !current {
			step.Changed, err = w.rebuild(ctx, last, &listings)
		}
		return err
	})
}

// isCurrent says whether the catalog has all that a version's last record and
// those before it say. What is listed is stored, but a publisher may have died
// before it listed what it had stored.
func (w *Walks) isCurrent(ctx context.Context, last registry.ParsedRecordKey, listings *listings) (bool, error) {
	listing, err := listings.of(ctx, last.Address)
	if err != nil {
		return false, err
	}
	listed := listing.Find(last.Version).Revision
	if last.Address.Folder() == registry.Modules {
		return listed >= last.Sequence, nil
	}
	have, err := w.inCatalog(ctx, last.Subject)
	if have == nil {
		return false, err
	}
	provider := have.(*registry.ProviderVersion)
	return provider.Revision >= last.Sequence && provider.Settled() && (listed >= provider.Revision || !provider.Listable()), nil
}

// rebuild makes the catalog have a version as its records say it is, and reports
// whether it had it otherwise. What cannot be signed is an error, and the catalog
// has the rest all the same.
func (w *Walks) rebuild(ctx context.Context, last registry.ParsedRecordKey, listings *listings) (changed bool, err error) {
	for range maxCorrections {
		s, err := w.log.FromRecords(ctx, last)
		if err != nil {
			return false, err
		}
		var unsigned error
		if s, ok := s.(*registry.ProviderVersion); ok {
			if unsigned = w.log.Sign(ctx, s); unsigned != nil && !versionlog.IsOfVersion(unsigned) {
				return false, unsigned
			}
		}
		seen, problems, err := w.compare(ctx, s, listings)
		if err != nil || len(problems) == 0 {
			return false, errors.Join(unsigned, err)
		}
		err = w.replace(ctx, s, seen)
		listings.forget()
		if !errors.Is(err, catalog.ErrChanged) {
			return err == nil, errors.Join(unsigned, err)
		}
	}
	return false, nil // whoever changes it brings it up to its records, too
}

// strays walks over what the catalog has after a cursor, and hands on what there
// are no records of.
func (w *Walks) strays(ctx context.Context, after string, do func(catalog.Entry, *Step) error) Walk {
	return func(yield func(Step, error) bool) {
		for entry, err := range w.index.Entries(ctx, after) {
			if entry.Cursor == "" {
				yield(Step{}, fmt.Errorf("list the catalog: %w", err))
				return
			}
			step := Step{After: entry.Cursor, Subject: entry.Subject.String()}
			if err == nil { // else it is of an item that cannot be read
				err = w.ifStray(ctx, entry.Subject, func() error { return do(entry, &step) })
			}
			if !yield(step, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

func (w *Walks) ifStray(ctx context.Context, version registry.Subject, do func() error) error {
	recorded, err := blob.IsAny(ctx, w.bucket, version.LogPrefix())
	if recorded || err != nil {
		return err
	}
	return do()
}

func (w *Walks) remove(ctx context.Context, e catalog.Entry) error {
	if err := w.index.Remove(ctx, e.Subject, e.Seen); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}
