package upkeep

import (
	"context"
	"fmt"

	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// Directory follows the catalog, for lists and searches. It is a [directory.Writer].
type Directory interface {
	// Refresh brings the entry of an address up to the catalog.
	Refresh(ctx context.Context, a registry.Address) error

	// Rebuild brings all entries up to the catalog, and writes only what differs. In the
	// end it notes with [directory.BuiltShard] that all are there.
	Rebuild(ctx context.Context) error
}

// refresh brings the entry of an address up to the catalog, which was just corrected.
func (w *Walks) refresh(ctx context.Context, a registry.Address) error {
	if w.directory == nil {
		return nil
	}
	if err := w.directory.Refresh(ctx, a); err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	return nil
}

// sparing returns the same walks if the directory was built, and else walks that leave it as
// it is: where all of it has to be built, that is done once, in the end.
func (w *Walks) sparing(ctx context.Context) (*Walks, error) {
	built, err := w.directoryIsBuilt(ctx)
	if err != nil || built {
		return w, err
	}
	bare := *w
	bare.directory = nil
	return &bare, nil
}

// directoryIsBuilt says whether the directory was ever built as a whole. After an upgrade from a
// release without one it was not, nor was that of a new catalog.
func (w *Walks) directoryIsBuilt(ctx context.Context) (bool, error) {
	head, err := w.index.DirectoryHead(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("directory: %w", err)
	}
	return head[directory.BuiltShard] > 0, nil
}

// BuildDirectory builds the directory, unless it was built before.
func (w *Walks) BuildDirectory(ctx context.Context) error {
	built, err := w.directoryIsBuilt(ctx)
	if err != nil || built {
		return err
	}
	return w.rebuildDirectory(ctx)
}

func (w *Walks) rebuildDirectory(ctx context.Context) error {
	if err := w.directory.Rebuild(ctx); err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	return nil
}

// built is the cursor after the only step of [Walks.entries].
const built = "built"

// entries makes the directory what the catalog says, in one step.
func (w *Walks) entries(ctx context.Context, after string) Walk {
	return func(yield func(Step, error) bool) {
		if after != built {
			yield(Step{After: built, Subject: "directory"}, w.rebuildDirectory(ctx))
		}
	}
}
