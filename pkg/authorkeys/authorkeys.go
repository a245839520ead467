// Package authorkeys keeps the public keys of authors: which namespace has which keys, and
// which keys are trusted.
//
// A form of a key is the key as it was uploaded once, for example with another expiry. A key
// is trusted for new releases as long as its newest form can be used. Its owner can revoke
// it, and an operator can distrust it. Both are final, and hold in every namespace. Earlier
// releases are still served.
package authorkeys

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// Config is what [Keys] work with. Every field is required.
type Config struct {
	Bucket blob.Bucket
	OwnKey func() signing.PublicKey // the registry's present key, which is not an author's
	Logger *slog.Logger
}

// Keys has the authors' keys in a bucket. It is safe for concurrent use.
type Keys struct{ config Config }

// New opens the keys in a bucket. It sends no request.
func New(c Config) *Keys { return &Keys{c} }

// forms returns every accepted form of the keys of a namespace. If a form of a key cannot
// be read, the key is left out: that form may be the newest.
func (k *Keys) forms(ctx context.Context, namespace string) ([]signing.PublicKey, error) {
	var forms []signing.PublicKey
	unreadable := map[string]bool{}
	for object, err := range k.config.Bucket.List(ctx, registry.AuthorKeysPrefix(namespace), "") {
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s: %w", namespace, err)
		}
		data, _, err := blob.Read(ctx, k.config.Bucket, object.Key, "", 2*signing.MaxKeyFile)
		if err != nil {
			return nil, fmt.Errorf("read a key of %s: %w", namespace, err)
		}
		file, err := signing.ReadKeyFile(data)
		if err != nil { // by rules that are newer than the key
			k.config.Logger.WarnContext(ctx, "an author's key cannot be used", "key", object.Key, "reason", err.Error())
			_, fingerprint, _ := registry.ParseAuthorKeyKey(object.Key)
			unreadable[fingerprint] = true
		}
		forms = append(forms, file.Keys...)
	}
	return slices.DeleteFunc(forms, func(form signing.PublicKey) bool { return unreadable[form.Fingerprint] }), nil
}

// Newest returns the newest form of every key of a namespace, also of keys that cannot be
// used now.
func (k *Keys) Newest(ctx context.Context, namespace string) ([]signing.PublicKey, error) {
	forms, err := k.forms(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return signing.NewestForms(forms)
}

// Untrusted returns why an author's key is not trusted any more, or "" if it is. This holds
// for all namespaces.
func (k *Keys) Untrusted(ctx context.Context, fingerprint string) (why string, err error) {
	for object, err := range k.config.Bucket.List(ctx, registry.UntrustedKeyPrefix(fingerprint), "") {
		if err != nil {
			return "", fmt.Errorf("look whether the key %s is trusted: %w", fingerprint, err)
		}
		switch object.Key {
		case registry.RevokedKeyKey(fingerprint):
			return "is revoked by its owner", nil
		case registry.DistrustedKeyKey(fingerprint):
			why = "is not trusted any more, by decision of an operator"
		}
	}
	return why, nil
}

// Verify returns the key of the namespace that made a signature, if the key is trusted now.
//
// Errors: [*inbox.Verdict] if the key is not trusted; those of [signing.Issuer] and
// [signing.Verify].
func (k *Keys) Verify(ctx context.Context, namespace string, document, signature []byte) (signing.PublicKey, error) {
	keys, err := k.Newest(ctx, namespace)
	if err != nil {
		return signing.PublicKey{}, err
	}
	key, err := signing.Issuer(keys, signature)
	if err != nil {
		return signing.PublicKey{}, err
	}
	why, err := k.Untrusted(ctx, key.Fingerprint)
	if err != nil {
		return signing.PublicKey{}, err
	}
	if why != "" {
		return signing.PublicKey{}, inbox.Reject("the signature is by key %s, which %s: sign again with another key", key.Fingerprint, why)
	}
	if problem := key.Problem(time.Now()); problem != "" {
		return signing.PublicKey{}, inbox.Wait("the signature is by key %s, which %s; until then, the registry's own SHA256SUMS is served", key.KeyID, problem)
	}
	return signing.Verify([]signing.PublicKey{key}, document, signature)
}

// Holds says whether everything in a file of public keys was accepted.
func (k *Keys) Holds(ctx context.Context, namespace string, data []byte) (bool, error) {
	file, err := signing.ReadKeyFile(data)
	if err != nil {
		return false, nil
	}
	for _, key := range file.Keys {
		prefix := registry.AuthorKeysPrefix(namespace) + key.Fingerprint + "/"
		if !key.Revoked.IsZero() {
			prefix = registry.RevokedKeyKey(key.Fingerprint)
		}
		if held, err := blob.IsAny(ctx, k.config.Bucket, prefix); !held {
			return false, err
		}
	}
	known, err := k.forms(ctx, namespace)
	if err != nil {
		return false, err
	}
	for _, revocation := range file.Revocations {
		var found Judged
		if isKnown, err := found.revoke(revocation, slices.Concat(known, file.Keys)); !isKnown || err != nil {
			return false, nil
		}
		if held, err := blob.IsAny(ctx, k.config.Bucket, registry.RevokedKeyKey(found.revoked[0].Fingerprint)); !held {
			return false, err
		}
	}
	return true, nil
}
