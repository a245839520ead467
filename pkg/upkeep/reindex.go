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

// maxCorrections is how often a version is corrected if others change it meanwhile.
const maxCorrections = 5

// Reindex makes the catalog exactly what the records say, and signs what is accepted and not
// signed yet. It compares every version with all of its records, and removes from the catalog
// what has no records. The registry goes on meanwhile.
func (w *Walks) Reindex(ctx context.Context, after string) Walk {
	return chain(after,
		leg{RecordsLeg, func(after string) Walk {
			listings := listings{catalog: w.index}
			return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) (err error) {
				step.Changed, err = w.rebuild(ctx, last, &listings)
				return err
			})
		}},
		leg{CatalogLeg, func(after string) Walk {
			return w.strays(ctx, after, func(stray catalog.Entry, step *Step) error {
				err := w.remove(ctx, stray)
				step.Changed = err == nil
				return err
			})
		}})
}

// bringUp rebuilds the versions that the catalog does not have at the revision of their
// records.
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

// isCurrent says whether the catalog has a version at the revision of its last record. What
// is listed is stored, but a publisher may have died between storing and listing.
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

// rebuild makes a version in the catalog what its records say, and says whether it was
// different. If the version cannot be signed, that is an error, and the catalog still gets
// the rest.
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
	return false, nil // those who change it bring it up to its records
}

// strays walks over the versions in the catalog after a cursor, and calls do for those
// without records.
func (w *Walks) strays(ctx context.Context, after string, do func(catalog.Entry, *Step) error) Walk {
	return func(yield func(Step, error) bool) {
		for entry, err := range w.index.Entries(ctx, after) {
			if entry.Cursor == "" {
				yield(Step{}, fmt.Errorf("list the catalog: %w", err))
				return
			}
			step := Step{After: entry.Cursor, Subject: entry.Subject.String()}
			if err == nil { // else the item cannot be read
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
