// Package kmskey opens the registry's signing key, whose private half is in KMS. The
// public half is made once and kept in the bucket. Later invocations read it there, and ask
// KMS only for signatures.
package kmskey

import (
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/internal/assembly/ownkey"
	"github.com/larder-registry/larder/pkg/awskms"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// maxPublicKey is the largest public key that is read, in bytes. An RSA_4096 key has some
// 1,700.
const maxPublicKey = 64 << 10

// Open opens the key.
func Open(ctx context.Context, bucket blob.Bucket, cfg awskms.Config) (*signing.Key, error) {
	signer, err := awskms.Open(cfg)
	if err != nil {
		return nil, err
	}
	stored := registry.SignerKeyKey(signer.KeyID())
	armored, _, err := blob.Read(ctx, bucket, stored, "", maxPublicKey)
	if errors.Is(err, registry.ErrNotFound) {
		return establish(ctx, bucket, cfg, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("the public key of the signing key: %w", err)
	}
	return signing.OpenKey(signer, string(armored))
}

// establish makes the public key and keeps it. Several processes at the same time make the
// same one. The key under the private key's name is written last: it says that all is done.
func establish(ctx context.Context, bucket blob.Bucket, cfg awskms.Config, stored string) (*signing.Key, error) {
	signer, err := awskms.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	key, err := ownkey.New(ctx, signer, signer.Created())
	if err != nil {
		return nil, err
	}
	if err := ownkey.Keep(ctx, bucket, key, stored); err != nil {
		return nil, err
	}
	return key, nil
}
