package publish

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Held is a version that the registry has.
type Held struct {
	After   string           // the cursor to go on after
	Subject registry.Subject // without build metadata
	Listed  registry.Listed  // as the catalog lists it; of revision 0 where it does not
}

// recordFolders are where the records of versions lie, in the order of their keys.
var recordFolders = []registry.Folder{registry.Mirror, registry.Modules, registry.Providers}

// Inventory is every version that the registry has after a cursor, as its catalog lists
// it: of a namespace, of an address, of a mirrored hostname; of all where that is empty.
func (p *Publisher) Inventory(ctx context.Context, of, after string) iter.Seq2[Held, error] {
	return func(yield func(Held, error) bool) {
		listings := listings{catalog: p.index}
		if of = strings.ToLower(strings.Trim(of, "/")); of != "" {
			of += "/"
		}
		for _, folder := range recordFolders {
			for last, err := range p.lastRecords(ctx, registry.RecordsPrefix+string(folder)+"/"+of, after) {
				if err != nil {
					yield(Held{}, fmt.Errorf("list the records: %w", err))
					return
				}
				held := Held{After: registry.RecordKey(last.LogPrefix(), last.Sequence), Subject: last.Subject}
				listing, err := listings.of(ctx, last.Address)
				if err != nil {
					yield(Held{}, err)
					return
				}
				if held.Listed = listing.Find(last.Version); held.Listed.Revision == 0 {
					held.Listed.Version = last.Version
				}
				if !yield(held, nil) {
					return
				}
			}
		}
	}
}

// Told is the outcome that was written last for the key of an upload.
type Told struct {
	After string // the cursor to go on after
	Outcome
}

// Outcomes is every outcome after a cursor whose upload's key begins with a prefix. With
// a document that cannot be read it yields the error and the cursor, and goes on; with an
// error of the whole there is no cursor, and it ends.
func (p *Publisher) Outcomes(ctx context.Context, prefix, after string) iter.Seq2[Told, error] {
	return func(yield func(Told, error) bool) {
		for _, under := range []string{ // in the order of their keys
			registry.OutcomesByHashPrefix, registry.OutcomesPrefix + prefix,
		} {
			for object, err := range p.bucket.List(ctx, under, after) {
				if err != nil {
					yield(Told{}, fmt.Errorf("list the outcomes: %w", err))
					return
				}
				told := Told{After: object.Key}
				told.Outcome, err = p.readOutcome(ctx, object.Key)
				if err == nil && !strings.HasPrefix(told.Key, prefix) {
					continue
				}
				if !yield(told, err) || ctx.Err() != nil {
					return
				}
			}
		}
	}
}
