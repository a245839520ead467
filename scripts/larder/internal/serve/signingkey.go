package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
)

// signerName is the user ID of the registry's signing key. It is part of
// the key, so it never changes.
const signerName = "Larder registry signing key"

// openSigner opens the signing key in a file of the data folder, or makes it,
// and keeps its public half where those of all times are kept.
func (n *node) openSigner(ctx context.Context, file string) (*signing.Key, error) {
	private, created, err := signing.LoadOrCreate(n.dir.Path(file))
	if err != nil {
		return nil, err
	}
	key, err := signing.NewKey(ctx, private, created, signerName)
	if err != nil {
		return nil, err
	}
	public := key.PublicKey()
	err = n.blobs.Create(ctx, registry.OwnKeyKey(public.Fingerprint), []byte(public.ASCIIArmor))
	if err != nil && !errors.Is(err, publish.ErrExists) {
		return nil, fmt.Errorf("keep the public key: %w", err)
	}
	return key, nil
}

// rotate makes a new signing key, and signs with it from then on. The old
// private key stays, under a name with its key ID. Whatever ends it in the
// middle, there is one signing key or the other, and a new one that has been
// made is used by the next rotation.
func (n *node) rotate(ctx context.Context) (signing.PublicKey, error) {
	n.rotation.Lock()
	defer n.rotation.Unlock()
	old, err := n.openSigner(ctx, datadir.SigningKey)
	if err != nil {
		return signing.PublicKey{}, err
	}
	next, err := n.openSigner(ctx, datadir.NextSigningKey)
	if err != nil {
		return signing.PublicKey{}, err
	}
	kept := "signing-key-" + old.PublicKey().KeyID + ".pem"
	if err := n.dir.Supersede(datadir.SigningKey, datadir.NextSigningKey, kept); err != nil {
		return signing.PublicKey{}, err
	}
	n.publisher.UseSigner(next)
	n.logger.InfoContext(ctx, "signing with a new key", "key_id", next.PublicKey().KeyID, "old_key", n.dir.Path(kept))
	return next.PublicKey(), nil
}
