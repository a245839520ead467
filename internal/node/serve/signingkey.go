package serve

import (
	"context"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/keyfile"
	"github.com/larder-registry/larder/pkg/signing"
)

// openSigner opens the signing key in a file of the data folder, or makes it.
func (n *node) openSigner(ctx context.Context, file string) (*signing.Key, error) {
	return keyfile.Open(ctx, n.dir.Path(file), n.blobs)
}

// rotate makes a new signing key, and signs with it from then on. The old private key stays,
// under a name with its key ID. If rotate is interrupted, there is the old signing key or the
// new one; a new key that is not in use yet is used by the next rotation.
func (n *node) rotate(ctx context.Context) (signing.PublicKey, error) {
	n.rotation.Lock()
	defer n.rotation.Unlock()
	old, err := n.openSigner(ctx, datadir.SigningKey)
	if err != nil {
		return signing.PublicKey{}, err
	}
	next, err := n.openSigner(ctx, datadir.NextSigningKey)
	if err != nil {
		return signing.PublicKey{}, datadir.Hint(err)
	}
	kept := "signing-key-" + old.PublicKey().KeyID + ".pem"
	if err := n.dir.Supersede(datadir.SigningKey, datadir.NextSigningKey, kept); err != nil {
		return signing.PublicKey{}, err
	}
	n.publisher.Log.UseSigner(next)
	n.logger.InfoContext(ctx, "signing with a new key", "key_id", next.PublicKey().KeyID, "old_key", n.dir.Path(kept))
	return next.PublicKey(), nil
}
