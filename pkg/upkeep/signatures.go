package upkeep

import (
	"context"
	"iter"

	"github.com/larder-registry/larder/pkg/registry"
)

// Resign signs anew what the registry signed with another key than its present one.
// Signatures of authors stay.
//
// The registry goes on meanwhile. The new SHA256SUMS and its signature are stored beside the
// old ones, and one write of the catalog changes to them, with their key. A package that is
// published meanwhile is in an earlier or a later record of the version's log, and so in the
// last SHA256SUMS.
func (w *Walks) Resign(ctx context.Context, after string) Walk {
	return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) (err error) {
		if s, ok := last.New().(*registry.ProviderVersion); ok {
			step.Changed, err = w.log.Resign(ctx, s)
		}
		return err
	})
}

// Signed is a provider version, and who signed it.
type Signed struct {
	Step
	KeyID  string // empty if nothing is signed yet
	Author bool
}

// Signatures yields who signed each provider version after a cursor.
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
