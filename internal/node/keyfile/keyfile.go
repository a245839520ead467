// Package keyfile is a single node's own key, which signs SHA256SUMS: a file in its data
// folder.
package keyfile

import (
	"context"

	"github.com/larder-registry/larder/internal/assembly/ownkey"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/signing"
)

// Load reads the signing key in a file, or makes one.
func Load(ctx context.Context, path string) (*signing.Key, error) {
	private, created, err := signing.LoadOrCreate(path)
	if err != nil {
		return nil, err
	}
	return ownkey.New(ctx, private, created)
}

// Open is Load, and also keeps the key's public half in the bucket, with the public halves
// of all times.
func Open(ctx context.Context, path string, bucket blob.Bucket) (*signing.Key, error) {
	key, err := Load(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := ownkey.Keep(ctx, bucket, key); err != nil {
		return nil, err
	}
	return key, nil
}
