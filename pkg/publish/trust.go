package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

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
		return signing.PublicKey{}, reject("the signature is by key %s, which %s: sign again with another key", key.Fingerprint, why)
	}
	if problem := key.Problem(time.Now()); problem != "" {
		return signing.PublicKey{}, wait("the signature is by key %s, which %s; until then, the registry's own SHA256SUMS is served", key.KeyID, problem)
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
	own, err := p.anyUnder(ctx, registry.OwnKeyKey(fingerprint))
	if err != nil {
		return false, err
	}
	if own || fingerprint == p.PublicKey().Fingerprint {
		return false, ErrOwnKey
	}
	keys, err := p.AuthorKeys(ctx)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(keys, func(key AuthorKey) bool { return key.Fingerprint == fingerprint })
	if at < 0 {
		return false, registry.ErrNotFound
	}
	if keys[at].Distrusted {
		return false, nil
	}
	data, err := json.MarshalIndent(distrusted{fingerprint, now()}, "", "  ")
	if err != nil {
		return false, err
	}
	if err := p.create(ctx, registry.DistrustedKeyKey(fingerprint), data); err != nil {
		return false, err
	}
	p.log.WarnContext(ctx, "an author's key is not trusted for new releases any more", "fingerprint", fingerprint)
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

// AuthorKey is an author's key as an operator sees it.
type AuthorKey struct {
	Fingerprint string
	Namespaces  []string // that have it
	Revoked     bool     // by its owner
	Distrusted  bool     // by an operator
}

// AuthorKeys is every key of every namespace, by its fingerprint.
func (p *Publisher) AuthorKeys(ctx context.Context) ([]AuthorKey, error) {
	at := map[string]int{}
	var keys []AuthorKey
	find := func(fingerprint string) *AuthorKey {
		if _, known := at[fingerprint]; !known {
			at[fingerprint] = len(keys)
			keys = append(keys, AuthorKey{Fingerprint: fingerprint})
		}
		return &keys[at[fingerprint]]
	}
	for object, err := range p.bucket.List(ctx, registry.AllAuthorKeysPrefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list the authors' keys: %w", err)
		}
		namespace, fingerprint, ok := registry.ParseAuthorKeyKey(object.Key)
		if !ok {
			continue
		}
		if key := find(fingerprint); !slices.Contains(key.Namespaces, namespace) {
			key.Namespaces = append(key.Namespaces, namespace)
		}
	}
	for object, err := range p.bucket.List(ctx, registry.UntrustedKeysPrefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list the keys that are not trusted: %w", err)
		}
		fingerprint := path.Base(path.Dir(object.Key))
		switch object.Key {
		case registry.RevokedKeyKey(fingerprint):
			find(fingerprint).Revoked = true
		case registry.DistrustedKeyKey(fingerprint):
			find(fingerprint).Distrusted = true
		}
	}
	slices.SortFunc(keys, func(a, b AuthorKey) int { return strings.Compare(a.Fingerprint, b.Fingerprint) })
	return keys, nil
}

// subkeyIsRevoked says whether a key that is trusted has made a signature with a
// subkey that its owner has revoked since.
func (v verification) subkeyIsRevoked(ctx context.Context, namespace, fingerprint string, document, signature []byte) (bool, error) {
	keys, err := v.authorKeys(ctx, namespace)
	if err != nil {
		return false, err
	}
	keys = slices.DeleteFunc(keys, func(key signing.PublicKey) bool {
		return key.Fingerprint != fingerprint || !key.RevokedSubkeys
	})
	_, err = signing.Verify(keys, document, signature)
	return errors.Is(err, signing.ErrKeyRevoked), nil
}
