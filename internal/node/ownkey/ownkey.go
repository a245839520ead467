// Package ownkey is the key of a single node's own that signs SHA256SUMS: a file in its
// data folder.
package ownkey

import (
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// signerName is the user ID of the registry's signing key. It is part of
// the key, so it never changes.
const signerName = "Larder registry signing key"

// Load reads the signing key in a file, or makes it.
func Load(ctx context.Context, path string) (*signing.Key, error) {
	private, created, err := signing.LoadOrCreate(path)
	if err != nil {
		return nil, err
	}
	return signing.NewKey(ctx, private, created, signerName)
}

// Open is Load, and keeps the key's public half in the bucket, where those of all
// times are kept.
func Open(ctx context.Context, path string, bucket blob.Bucket) (*signing.Key, error) {
	key, err := Load(ctx, path)
	if err != nil {
		return nil, err
	}
	public := key.PublicKey()
	err = bucket.Create(ctx, registry.OwnKeyKey(public.Fingerprint), []byte(public.ASCIIArmor))
	if err != nil && !errors.Is(err, blob.ErrExists) {
		return nil, fmt.Errorf("keep the public key: %w", err)
	}
	return key, nil
}
