package publish

import (
	"context"
	"fmt"
	"iter"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// Resign signs anew what the registry signed with another key than the one it
// has now. What authors signed stays.
//
// It goes on beside everything else: the new SHA256SUMS and its signature are
// stored beside the old ones, and one write of the catalog changes from these to
// those, key included. A package that is published meanwhile is in the one or in
// the other record of the version's log, and so in what is signed last.
func (p *Publisher) Resign(ctx context.Context, after string) Walk {
	return p.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) (err error) {
		if s, ok := last.New().(*registry.ProviderVersion); ok {
			step.Changed, err = p.resign(ctx, s)
		}
		return err
	})
}

func (p *Publisher) resign(ctx context.Context, s *registry.ProviderVersion) (changed bool, err error) {
	if err := p.load(ctx, s); err != nil {
		return false, err
	}
	err = p.extend(ctx, s, func() (*registry.Record, error) {
		changed = s.Release != nil && !s.Release.Author && s.Release.Keys[0].ASCIIArmor != p.PublicKey().ASCIIArmor
		if !changed {
			return nil, nil
		}
		return p.signRecord(ctx, s)
	})
	if err != nil {
		return false, err
	}
	return changed, p.settle(ctx, s)
}

// PublicKey is the key that verifies what the registry signs from now on.
func (p *Publisher) PublicKey() signing.PublicKey { return (*p.signer.Load()).PublicKey() }

// UseSigner makes the registry sign with another key from now on. What is signed
// stays signed as it is, until [Publisher.Resign].
func (p *Publisher) UseSigner(s Signer) { p.signer.Store(&s) }

// OwnKeys is every key that the registry has ever signed with.
func (p *Publisher) OwnKeys(ctx context.Context) ([]signing.PublicKey, error) {
	var keys []signing.PublicKey
	for object, err := range p.bucket.List(ctx, registry.OwnKeysPrefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list the registry's own keys: %w", err)
		}
		data, _, err := blob.Read(ctx, p.bucket, object.Key, "", signing.MaxKeyFile)
		if err != nil {
			return nil, fmt.Errorf("read a key of the registry's own: %w", err)
		}
		parsed, err := signing.ParseKeyFile(data)
		if err != nil {
			return nil, fmt.Errorf("read the key %s: %w", object.Key, err)
		}
		keys = append(keys, parsed...)
	}
	return keys, nil
}

// Signed is a version of a provider, and who signed it.
type Signed struct {
	Step
	KeyID  string // empty where nothing is signed yet
	Author bool
}

// Signatures says of every version of a provider that comes after a cursor who
// signed it.
func (p *Publisher) Signatures(ctx context.Context, after string) iter.Seq2[Signed, error] {
	return func(yield func(Signed, error) bool) {
		var signed Signed
		walk := p.versions(ctx, after, func(last registry.ParsedRecordKey, _ *Step) error {
			signed = Signed{}
			s, ok := last.New().(*registry.ProviderVersion)
			if !ok {
				return nil
			}
			err := p.load(ctx, s)
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
