package upkeep

import (
	"context"
	"iter"

	"github.com/larder-registry/larder/pkg/registry"
)

// Resign signs anew what the registry signed with another key than the one it
// has now. What authors signed stays.
//
// It goes on beside everything else: the new SHA256SUMS and its signature are
// stored beside the old ones, and one write of the catalog changes from these to
// those, key included. A package that is published meanwhile is in the one or in
// the other record of the version's log, and so in what is signed last.
func (w *Walks) Resign(ctx context.Context, after string) Walk {
	return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) (err error) {
		if s, ok := last.New().(*registry.ProviderVersion); ok {
			step.Changed, err = w.log.Resign(ctx, s)
		}
		return err
	})
}

// Signed is a version of a provider, and who signed it.
type Signed struct {
	Step
	KeyID  string // empty where nothing is signed yet
	Author bool
}

// Signatures says of every version of a provider that comes after a cursor who
// signed it.
func (w *Walks) Signatures(ctx context.Context, after string) iter.Seq2[Signed, error] {
	return func(yield func(Signed, error) bool) {
		var signed Signed
		walk := w.versions(ctx, after, func(last registry.ParsedRecordKey, _ *Step) error {
			signed = Signed{}
			s, ok := last.New().(*registry.ProviderVersion)
			if !ok {
				return nil
			}
			err := w.log.Load(ctx, s)
			if err == nil && s.Release != nil {
				signed.KeyID, signed.Author = s.Release.Keys[0].KeyID, s.Release.Author
			}
			return err
		})
		for step, err := range walk {
			signed.Step = step
			if !yield(signed, err) {
				return
			}
		}
	}
}
