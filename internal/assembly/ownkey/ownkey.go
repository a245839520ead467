// Package ownkey makes the registry's own OpenPGP key, which signs SHA256SUMS, from its
// private half: a file, or a key in KMS. It keeps the public half in the bucket.
package ownkey

import (
	"context"
	"crypto"
	"fmt"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// userID is part of the public key, so it never changes.
const userID = "Larder registry signing key"

// New makes the key of a private half, which was created at a time.
func New(ctx context.Context, private crypto.Signer, created time.Time) (*signing.Key, error) {
	return signing.NewKey(ctx, private, created, userID)
}

// Keep puts the key's public half into the bucket, beside those of all times, and then under
// other names. Objects that are there already stay.
func Keep(ctx context.Context, bucket blob.Bucket, key *signing.Key, names ...string) error {
	public := key.PublicKey()
	for _, name := range append([]string{registry.OwnKeyKey(public.Fingerprint)}, names...) {
		if err := blob.Keep(ctx, bucket, name, []byte(public.ASCIIArmor)); err != nil {
			return fmt.Errorf("keep the public key: %w", err)
		}
	}
	return nil
}
