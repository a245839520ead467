package authorkeys

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// ErrOwnKey says that a key is the registry's own.
var ErrOwnKey = errors.New("the key is the registry's own")

// distrusted is the document that says that an operator distrusts a key.
type distrusted struct {
	Fingerprint string    `json:"fingerprint"`
	Time        time.Time `json:"time"`
}

// Distrust ends the trust in an author's key in every namespace. It says whether an
// operator had not done that before.
//
// Errors: [registry.ErrNotFound] if no namespace has the key; [ErrOwnKey].
func (k *Keys) Distrust(ctx context.Context, fingerprint string) (changed bool, err error) {
	own, err := blob.IsAny(ctx, k.config.Bucket, registry.OwnKeyKey(fingerprint))
	if err != nil {
		return false, err
	}
	if own || fingerprint == k.config.OwnKey().Fingerprint {
		return false, ErrOwnKey
	}
	already, err := blob.IsAny(ctx, k.config.Bucket, registry.DistrustedKeyKey(fingerprint))
	if err != nil || already {
		return false, err
	}
	known, err := k.isKnown(ctx, fingerprint)
	if err != nil {
		return false, err
	}
	if !known {
		return false, registry.ErrNotFound
	}
	data, err := json.MarshalIndent(distrusted{fingerprint, registry.Now()}, "", "  ")
	if err != nil {
		return false, err
	}
	if err := blob.Keep(ctx, k.config.Bucket, registry.DistrustedKeyKey(fingerprint), data); err != nil {
		return false, err
	}
	k.config.Logger.WarnContext(ctx, "an author's key is not trusted for new releases any more", "fingerprint", fingerprint)
	return true, nil
}
