package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// An author's key is trusted for new releases while its newest form can be used,
// and until its owner revokes it or an operator distrusts it: that is for good,
// and in every namespace. What was released before goes on being served.

// untrusted says why an author's key is not trusted any more, in whatever
// namespace, or "".
func (p *Publisher) untrusted(ctx context.Context, fingerprint string) (why string, err error) {
	for object, err := range p.bucket.List(ctx, registry.UntrustedKeyPrefix(fingerprint), "") {
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

// verify finds the namespace's key that made a signature, and that makes one
// which can be trusted now.
func (p *Publisher) verify(ctx context.Context, namespace string, document, signature []byte) (signing.PublicKey, error) {
	keys, err := p.authorKeys(ctx, namespace)
	if err != nil {
		return signing.PublicKey{}, err
	}
	key, err := signing.Issuer(keys, signature)
	if err != nil {
		return signing.PublicKey{}, err
	}
	why, err := p.untrusted(ctx, key.Fingerprint)
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

// ErrOwnKey says that a key is the registry's own, and no author's.
var ErrOwnKey = errors.New("the key is the registry's own")

// distrusted is the document that ends the trust in a key.
type distrusted struct {
	Fingerprint string    `json:"fingerprint"`
	Time        time.Time `json:"time"`
}

// DistrustKey ends the trust in an author's key, in every namespace, and says
// whether there was any.
//
// Errors: [registry.ErrNotFound] where no namespace has the key; [ErrOwnKey].
func (p *Publisher) DistrustKey(ctx context.Context, fingerprint string) (changed bool, err error) {
	own, err := blob.IsAny(ctx, p.bucket, registry.OwnKeyKey(fingerprint))
	if err != nil {
		return false, err
	}
	if own || fingerprint == p.log.PublicKey().Fingerprint {
		return false, ErrOwnKey
	}
	already, err := blob.IsAny(ctx, p.bucket, registry.DistrustedKeyKey(fingerprint))
	if err != nil || already {
		return false, err
	}
	known, err := p.anyHas(ctx, fingerprint)
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
	if err := blob.Keep(ctx, p.bucket, registry.DistrustedKeyKey(fingerprint), data); err != nil {
		return false, err
	}
	p.logger.WarnContext(ctx, "an author's key is not trusted for new releases any more", "fingerprint", fingerprint)
	return true, nil
}

// tellEndedTrust notes that a version is signed by a key that its author would not
// be believed with today. Nothing is wrong with the version: it was released when
// the key was trusted.
func (v verification) tellEndedTrust(ctx context.Context, s *registry.ProviderVersion, document, signature []byte, step *Step) error {
	if !s.Release.Author || s.Standing.State == registry.Withdrawn {
		return nil
	}
	key, ok := servedKey(*s.Release)
	if !ok {
		return nil // its signature does not verify either, which is told of
	}
	why, err := v.untrusted(ctx, key.Fingerprint)
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

// servedKey is the key that a release is served with.
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

// AuthorKey is one thing that is known of an author's key: that a namespace has it,
// or that it is not trusted.
type AuthorKey struct {
	After       string // the cursor to go on after
	Fingerprint string
	Namespace   string // that has it, or empty
	Revoked     bool   // by its owner
	Distrusted  bool   // by an operator
}

// AuthorKeys is what is known of all authors' keys, after a cursor: first which
// namespaces have them, once for each form of a key, then which are not trusted.
func (p *Publisher) AuthorKeys(ctx context.Context, after string) iter.Seq2[AuthorKey, error] {
	return func(yield func(AuthorKey, error) bool) {
		for _, prefix := range []string{registry.AllAuthorKeysPrefix, registry.UntrustedKeysPrefix} {
			if after != "" && !strings.HasPrefix(after, prefix) {
				continue // it is of the other one
			}
			for object, err := range p.bucket.List(ctx, prefix, after) {
				if err != nil {
					yield(AuthorKey{}, fmt.Errorf("list the authors' keys: %w", err))
					return
				}
				if key, ok := parseAuthorKey(object.Key); ok && !yield(key, nil) {
					return
				}
			}
			after = ""
		}
	}
}

// parseAuthorKey says what an object's being there says.
func parseAuthorKey(object string) (AuthorKey, bool) {
	if namespace, fingerprint, ok := registry.ParseAuthorKeyKey(object); ok {
		return AuthorKey{After: object, Fingerprint: fingerprint, Namespace: namespace}, true
	}
	fingerprint := path.Base(path.Dir(object))
	key := AuthorKey{After: object, Fingerprint: fingerprint, Revoked: object == registry.RevokedKeyKey(fingerprint), Distrusted: object == registry.DistrustedKeyKey(fingerprint)}
	return key, key.Revoked || key.Distrusted
}

// anyHas says whether an author's key is known.
func (p *Publisher) anyHas(ctx context.Context, fingerprint string) (bool, error) {
	for key, err := range p.AuthorKeys(ctx, "") {
		if err != nil || key.Fingerprint == fingerprint {
			return err == nil, err
		}
	}
	return false, nil
}

// subkeyIsRevoked says whether a key that is trusted has made a signature with a
// subkey that its owner has revoked since.
func (v verification) subkeyIsRevoked(ctx context.Context, namespace, fingerprint string, document, signature []byte) (bool, error) {
	keys, err := v.authorKeys(ctx, namespace)
	if err != nil {
		return false, err
	}
	keys = slices.DeleteFunc(keys, func(key signing.PublicKey) bool { return key.Fingerprint != fingerprint })
	_, err = signing.Verify(keys, document, signature)
	return errors.Is(err, signing.ErrKeyRevoked), nil
}
