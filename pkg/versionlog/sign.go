package versionlog

import (
	"context"
	"fmt"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// Signer signs SHA256SUMS with the registry's own key.
type Signer interface {
	// Sign makes a binary detached OpenPGP signature.
	Sign(ctx context.Context, document []byte) ([]byte, error)

	// PublicKey is the key that verifies the signatures.
	PublicKey() signing.PublicKey
}

// PublicKey is the key that verifies what the registry signs from now on.
func (l *Log) PublicKey() signing.PublicKey { return (*l.signer.Load()).PublicKey() }

// UseSigner makes the registry sign with another key from now on. Signatures stay, until
// [Log.Resign].
func (l *Log) UseSigner(s Signer) { l.signer.Store(&s) }

// OwnKeys returns every key that the registry has ever signed with.
func (l *Log) OwnKeys(ctx context.Context) ([]signing.PublicKey, error) {
	var keys []signing.PublicKey
	for object, err := range l.bucket.List(ctx, registry.OwnKeysPrefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list the registry's own keys: %w", err)
		}
		data, _, err := blob.Read(ctx, l.bucket, object.Key, "", signing.MaxKeyFile)
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

// Settle makes everything that is accepted of a version servable: it signs what is not
// signed yet, and brings the catalog up to the log.
//
// Errors: [*UnsignableError].
func (l *Log) Settle(ctx context.Context, s *registry.ProviderVersion) error {
	if err := l.Sign(ctx, s); err != nil {
		return err
	}
	return l.Put(ctx, s)
}

// Sign signs what is accepted and not signed yet.
//
// Errors: [*UnsignableError].
func (l *Log) Sign(ctx context.Context, s *registry.ProviderVersion) error {
	return l.Extend(ctx, s, func() (*registry.Record, error) {
		if s.Settled() {
			return nil, nil
		}
		return l.signRecord(ctx, s)
	})
}

// signRecord stores a SHA256SUMS of all accepted packages, signed with the registry's own
// key, and returns the record with which it is served.
func (l *Log) signRecord(ctx context.Context, s *registry.ProviderVersion) (*registry.Record, error) {
	document, err := Sums(s)
	if err != nil {
		return nil, err
	}
	signer := *l.signer.Load() // once: another key may come between signature and public key
	signature, err := signer.Sign(ctx, document.Bytes())
	if err != nil {
		return nil, fmt.Errorf("sign SHA256SUMS: %w", err)
	}
	key := signer.PublicKey()
	release, err := l.StoreRelease(ctx, s, document.Bytes(), signature, registry.Release{
		Keys: []registry.SigningKey{{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor}},
	})
	if err != nil {
		return nil, err
	}
	return &registry.Record{Kind: registry.KindRelease, Version: s.Version, Release: &release}, nil
}

// StoreRelease stores a SHA256SUMS and its signature under the keys that they are served
// from, and returns the release with their hashes.
func (l *Log) StoreRelease(ctx context.Context, s *registry.ProviderVersion, document, signature []byte, r registry.Release) (registry.Release, error) {
	r.SHA256, r.Signature = blob.SHA256(document), blob.SHA256(signature)
	for key, data := range map[string][]byte{
		s.Address.SHA256SUMSKey(s.Version, r): document,
		s.Address.SignatureKey(s.Version, r):  signature,
	} {
		if err := blob.Keep(ctx, l.bucket, key, data); err != nil {
			return registry.Release{}, err
		}
	}
	return r, nil
}

// Resign signs a version anew if the registry signed it with another key than its present
// one, and says whether it did. Signatures of authors stay.
func (l *Log) Resign(ctx context.Context, s *registry.ProviderVersion) (changed bool, err error) {
	if err := l.Load(ctx, s); err != nil {
		return false, err
	}
	err = l.Extend(ctx, s, func() (*registry.Record, error) {
		changed = s.Release != nil && !s.Release.Author && s.Release.Keys[0].ASCIIArmor != l.PublicKey().ASCIIArmor
		if !changed {
			return nil, nil
		}
		return l.signRecord(ctx, s)
	})
	if err != nil {
		return false, err
	}
	return changed, l.Settle(ctx, s)
}
