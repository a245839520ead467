package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// noteEndedTrust notes that a version is signed by a key that is not trusted today. Nothing
// is wrong with the version: it was released when the key was trusted.
func (v verification) noteEndedTrust(ctx context.Context, s *registry.ProviderVersion, document, signature []byte, step *Step) error {
	if !s.Release.Author || s.Standing.State == registry.Withdrawn {
		return nil
	}
	key, ok := servedKey(*s.Release)
	if !ok {
		return nil // its signature does not verify either, and that is a problem already
	}
	why, err := v.keys.Untrusted(ctx, key.Fingerprint)
	if err != nil {
		return err
	}
	if why == "" {
		revoked, err := v.subkeyIsRevoked(ctx, s.Address.Namespace, key.Fingerprint, document, signature)
		if err != nil {
			return err
		}
		if revoked {
			why = "has a subkey that made the signature and was revoked by its owner"
		}
	}
	if why != "" {
		step.Notes = append(step.Notes, fmt.Sprintf("It is signed by key %s, which %s. It was released before that, and goes on being served: larder withdraw takes it off the lists.", key.Fingerprint, why))
	}
	return nil
}

// servedKey returns the key that a release is served with.
func servedKey(r registry.Release) (signing.PublicKey, bool) {
	if len(r.Keys) == 0 {
		return signing.PublicKey{}, false
	}
	file, err := signing.ReadKeyFile([]byte(r.Keys[0].ASCIIArmor))
	if err != nil || len(file.Keys) != 1 {
		return signing.PublicKey{}, false
	}
	return file.Keys[0], true
}

// subkeyIsRevoked says whether a trusted key made a signature with a subkey that its owner
// has revoked since.
func (v verification) subkeyIsRevoked(ctx context.Context, namespace, fingerprint string, document, signature []byte) (bool, error) {
	keys, err := v.keys.Newest(ctx, namespace)
	if err != nil {
		return false, err
	}
	keys = slices.DeleteFunc(keys, func(key signing.PublicKey) bool { return key.Fingerprint != fingerprint })
	_, err = signing.Verify(keys, document, signature)
	return errors.Is(err, signing.ErrKeyRevoked), nil
}
