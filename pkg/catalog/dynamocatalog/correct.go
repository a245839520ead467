package dynamocatalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

// Replace implements [catalog.Index].
func (c *Catalog) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	fix := correction{version: s.Subject(), seen: seen}
	i, err := stateItem(s)
	if err != nil {
		return fix.failed(err)
	}
	put := wire.Put{Table: c.name, Item: i}
	put.Condition, put.Values = revisionIs(seen.State)
	fix.state = wire.Write{Put: &put}
	if s.Listable() {
		entry := s.Listed()
		fix.entry = &entry
	}
	return c.correct(ctx, fix)
}

// Remove implements [catalog.Index]. It sends a delete also where there is no state: the
// delete has the condition.
func (c *Catalog) Remove(ctx context.Context, version registry.Subject, seen catalog.Seen) error {
	del := wire.Delete{Table: c.name, Key: key(layout.Partition(version.Address), layout.Version(version.Version))}
	del.Condition, del.Values = revisionIs(seen.State)
	return c.correct(ctx, correction{version, seen, wire.Write{Delete: &del}, nil})
}

// correction is what a version shall be, if it is still as it was seen.
type correction struct {
	version registry.Subject
	seen    catalog.Seen
	state   wire.Write       // on the condition that the state has the revision that was seen
	entry   *registry.Listed // nil for none
}

func (fix correction) failed(err error) error {
	return fmt.Errorf("correct version %s of %s in the catalog: %w", fix.version.Version, layout.Partition(fix.version.Address), err)
}

func (c *Catalog) correct(ctx context.Context, fix correction) error {
	err := errBusy
	for failures := 0; failures < maxMerges && errors.Is(err, errBusy); failures++ {
		if err = wire.Pause(ctx, failures); err == nil {
			err = c.tryCorrect(ctx, fix)
		}
	}
	if err != nil {
		return fix.failed(c.explain(err))
	}
	return nil
}

// tryCorrect changes the state and the listing in one transaction. It returns
// errBusy if others have changed another entry of the listing meanwhile. An empty
// listing stays: a revision must not come twice.
func (c *Catalog) tryCorrect(ctx context.Context, fix correction) error {
	partition, version := layout.Partition(fix.version.Address), fix.version.Version
	listing, revision, err := c.decodedListing(ctx, partition, true)
	if err != nil {
		return err
	}
	if listing.Find(version).Revision != fix.seen.Listed {
		return catalog.ErrChanged
	}
	listing, changed := listing.Without(version)
	if fix.entry != nil {
		listing, changed = listing.With(*fix.entry)
	}
	var puts []wire.Put
	if changed {
		if puts, err = c.listingPuts(partition, revision, listing); err != nil {
			return err
		}
	}
	err = c.transact(ctx, []wire.Write{fix.state}, puts)
	switch {
	case firstConditionFailed(err):
		return catalog.ErrChanged
	case conflicted(err):
		return errBusy
	default:
		return err
	}
}

// firstConditionFailed says whether the condition of a transaction's first item failed.
func firstConditionFailed(err error) bool {
	cancelled, ok := refusedAs(err, "TransactionCanceledException")
	return ok && len(cancelled.Reasons) > 0 && cancelled.Reasons[0] == "ConditionalCheckFailed"
}
