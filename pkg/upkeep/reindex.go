package upkeep

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// maxCorrections is how often a version is corrected if others change it meanwhile.
const maxCorrections = 5

// Reindex makes the catalog exactly what the records say, and signs what is accepted and not
// signed yet. It compares every version with all of its records, and removes from the catalog
// what has no records. In the end it makes the directory what the catalog says. The registry
// goes on meanwhile.
//
// If withContents is set, it also reads the archives that the present readers have not read yet.
func (w *Walks) Reindex(ctx context.Context, after string, withContents bool) Walk {
	return func(yield func(Step, error) bool) {
		sparing, err := w.sparing(ctx)
		if err != nil {
			yield(Step{}, err)
			return
		}
		legs := sparing.corrections(ctx)
		if withContents {
			legs = append(legs, leg{ContentsLeg, func(after string) Walk { return w.documents(ctx, after, w.readMissing) }})
		}
		legs = append(legs, leg{DirectoryLeg, func(after string) Walk { return w.entries(ctx, after) }})
		chain(after, legs...)(yield)
	}
}

// corrections are the legs that make the catalog what the records say.
func (w *Walks) corrections(ctx context.Context) []leg {
	return []leg{
		{RecordsLeg, func(after string) Walk {
			listings := listings{catalog: w.index}
			return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) (err error) {
				step.Changed, err = w.rebuild(ctx, last, &listings)
				return err
			})
		}},
		{CatalogLeg, func(after string) Walk {
			return w.strays(ctx, after, func(stray catalog.Entry, step *Step) error {
				err := w.remove(ctx, stray)
				step.Changed = err == nil
				return err
			})
		}},
	}
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
	s, err := w.log.FromRecords(ctx, last)
	if err != nil {
		return false, err
	}
	for range maxCorrections {
		var unsigned error
		if s, ok := s.(*registry.ProviderVersion); ok {
			if unsigned = w.log.Sign(ctx, s); unsigned != nil && !versionlog.IsOfVersion(unsigned) {
				return false, unsigned
			}
		}
		differs, err := w.compare(ctx, s, listings)
		if err != nil || len(differs.problems) == 0 && !differs.older {
			return false, errors.Join(unsigned, err)
		}
		listings.forget()
		// The catalog may be ahead of the records that were read: somebody publishes.
		was := s.Listed().Revision
		if err := w.log.CatchUp(ctx, s); err != nil {
			return false, errors.Join(unsigned, err)
		}
		if s.Listed().Revision > was {
			continue
		}
		err = w.replace(ctx, s, differs.seen)
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
		recorded := recorded{bucket: w.bucket}
		for entry, err := range w.index.Entries(ctx, after) {
			if entry.Cursor == "" {
				yield(Step{}, fmt.Errorf("list the catalog: %w", err))
				return
			}
			step := Step{After: entry.Cursor, Subject: entry.Subject.String()}
			if err == nil { // else the item cannot be read
				var isRecorded bool
				if isRecorded, err = recorded.has(ctx, entry.Subject); !isRecorded && err == nil {
					err = do(entry, &step)
				}
			}
			if !yield(step, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// listPage is how many keys a bucket lists in one request.
const listPage = 1000

// recorded knows which versions have records. The versions of a module or a provider follow
// one another in the catalog, so one request tells about many of them.
type recorded struct {
	bucket  blob.Bucket
	address registry.Address
	logs    map[string]bool // of the address
}

// has says whether a version has any record. It says no only after a new list.
func (r *recorded) has(ctx context.Context, version registry.Subject) (bool, error) {
	log := version.LogPrefix()
	if r.address != version.Address {
		r.address, r.logs = version.Address, map[string]bool{}
	}
	if r.logs[log] {
		return true, nil
	}
	listed := 0
	for object, err := range r.bucket.List(ctx, path.Dir(path.Dir(log))+"/", log) {
		if err != nil {
			return false, err
		}
		r.logs[log] = r.logs[log] || strings.HasPrefix(object.Key, log)
		r.logs[path.Dir(object.Key)+"/"] = true
		if listed++; listed == listPage {
			break
		}
	}
	return r.logs[log], nil
}

func (w *Walks) remove(ctx context.Context, e catalog.Entry) error {
	if err := w.index.Remove(ctx, e.Subject, e.Seen); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return w.refresh(ctx, e.Subject.Address)
}
