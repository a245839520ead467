package dynamocatalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

// ReplaceModuleVersion stores a state and lists the version as it says, both at
// once, whatever their revisions are.
//
// Errors: [catalog.ErrChanged] when they are not those that were seen.
func (c *Catalog) ReplaceModuleVersion(ctx context.Context, m registry.ModuleVersion, seen catalog.Seen) error {
	return c.replace(ctx, change{layout.Partition(m.Address), m, m.Listed(), true}, seen)
}

// ReplaceProviderVersion stores a state and lists the version as it says, both
// at once, whatever their revisions are. A version of which nothing can be
// served is not listed any more.
//
// Errors: [catalog.ErrChanged] when they are not those that were seen.
func (c *Catalog) ReplaceProviderVersion(ctx context.Context, p registry.ProviderVersion, seen catalog.Seen) error {
	entry := p.Listed()
	return c.replace(ctx, change{layout.Partition(p.Address), p, entry, len(entry.Platforms) > 0}, seen)
}

// RemoveModuleVersion removes a state and its entry in the listing, both at
// once.
//
// Errors: [catalog.ErrChanged] when they are not those that were seen.
func (c *Catalog) RemoveModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version, seen catalog.Seen) error {
	return c.remove(ctx, layout.Partition(a), v, seen)
}

// RemoveProviderVersion removes a state and its entry in the listing, both at
// once.
//
// Errors: [catalog.ErrChanged] when they are not those that were seen.
func (c *Catalog) RemoveProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version, seen catalog.Seen) error {
	return c.remove(ctx, layout.Partition(a), v, seen)
}

// correction is what a version is to be, where it is still as it was seen.
type correction struct {
	partition string
	version   registry.Version
	seen      catalog.Seen
	state     types.TransactWriteItem // has the condition that the state is the one that was seen
	entry     *registry.Listed        // nil for none
}

func (c *Catalog) replace(ctx context.Context, ch change, seen catalog.Seen) error {
	i, err := stateItem(ch)
	if err != nil {
		return fmt.Errorf("correct version %s of %s in the catalog: %w", ch.entry.Version, ch.partition, err)
	}
	put := types.Put{TableName: &c.table, Item: i}
	put.ConditionExpression, put.ExpressionAttributeValues = still(seen.State)
	fix := correction{ch.partition, ch.entry.Version, seen, types.TransactWriteItem{Put: &put}, nil}
	if ch.list {
		fix.entry = &ch.entry
	}
	return c.correct(ctx, fix)
}

// remove deletes where there is nothing to delete, too: that holds the state to
// the condition.
func (c *Catalog) remove(ctx context.Context, partition string, v registry.Version, seen catalog.Seen) error {
	del := types.Delete{TableName: &c.table, Key: key(partition, layout.Version(v))}
	del.ConditionExpression, del.ExpressionAttributeValues = still(seen.State)
	return c.correct(ctx, correction{partition, v, seen, types.TransactWriteItem{Delete: &del}, nil})
}

func (c *Catalog) correct(ctx context.Context, fix correction) error {
	err := errBusy
	for failures := 0; failures < maxMerges && errors.Is(err, errBusy); failures++ {
		if err = pause(ctx, failures); err == nil {
			err = c.tryCorrect(ctx, fix)
		}
	}
	if err != nil {
		return fmt.Errorf("correct version %s of %s in the catalog: %w", fix.version, fix.partition, c.explain(err))
	}
	return nil
}

// tryCorrect changes the state and the listing in one transaction. It returns
// errBusy where others changed another entry of the listing meanwhile. A listing
// that has no entry any more stays: its revision must not be had twice.
func (c *Catalog) tryCorrect(ctx context.Context, fix correction) error {
	s, err := c.readListing(ctx, fix.partition, true)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	if s.listing.Entry(fix.version).Revision != fix.seen.Listed {
		return catalog.ErrChanged
	}
	listing, changed := s.listing.Without(fix.version)
	if fix.entry != nil {
		listing, changed = listing.With(*fix.entry)
	}
	var puts []types.Put
	if changed {
		if puts, err = c.listingPuts(fix.partition, s.revision, listing); err != nil {
			return err
		}
	}
	err = c.transact(ctx, []types.TransactWriteItem{fix.state}, puts)
	switch {
	case firstFailed(err):
		return catalog.ErrChanged
	case lost(err):
		return errBusy
	default:
		return err
	}
}

// firstFailed says that the condition of a transaction's first item failed.
func firstFailed(err error) bool {
	var cancelled *types.TransactionCanceledException
	return errors.As(err, &cancelled) && len(cancelled.CancellationReasons) > 0 &&
		aws.ToString(cancelled.CancellationReasons[0].Code) == "ConditionalCheckFailed"
}
