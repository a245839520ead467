package upkeep

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Held is a version in the registry.
type Held struct {
	After   string           // the cursor to go on after
	Subject registry.Subject // without build metadata
	Listed  registry.Listed  // as the catalog lists it; of revision 0 if it does not
}

// recordFolders are the folders of records, in the order of their keys.
var recordFolders = []registry.Folder{registry.Mirror, registry.Modules, registry.Providers}

// Inventory yields the versions in the registry after a cursor, as the catalog lists them:
// those of a namespace, an address or a mirrored hostname, or all if of is empty.
func (w *Walks) Inventory(ctx context.Context, of, after string) iter.Seq2[Held, error] {
	return func(yield func(Held, error) bool) {
		listings := listings{catalog: w.index}
		if of = strings.ToLower(strings.Trim(of, "/")); of != "" {
			of += "/"
		}
		for _, folder := range recordFolders {
			for last, err := range w.log.LastRecords(ctx, registry.RecordsPrefix+string(folder)+"/"+of, after) {
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
