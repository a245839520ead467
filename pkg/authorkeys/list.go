package authorkeys

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Fact is a fact about an author's key: a namespace has it, or it is not trusted.
type Fact struct {
	After       string // the cursor to go on after
	Fingerprint string
	Namespace   string // which has it, or empty
	Revoked     bool   // by its owner
	Distrusted  bool   // by an operator
}

// All yields the facts about all authors' keys after a cursor: first which namespaces have
// them, once for each form of a key, then which are not trusted.
func (k *Keys) All(ctx context.Context, after string) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		for _, prefix := range []string{registry.AllAuthorKeysPrefix, registry.UntrustedKeysPrefix} {
			if after != "" && !strings.HasPrefix(after, prefix) {
				continue // the cursor is in the other folder
			}
			for object, err := range k.config.Bucket.List(ctx, prefix, after) {
				if err != nil {
					yield(Fact{}, fmt.Errorf("list the authors' keys: %w", err))
					return
				}
				if key, ok := parseFact(object.Key); ok && !yield(key, nil) {
					return
				}
			}
			after = ""
		}
	}
}

// parseFact returns the fact that an object with this key says.
func parseFact(object string) (Fact, bool) {
	if namespace, fingerprint, ok := registry.ParseAuthorKeyKey(object); ok {
		return Fact{After: object, Fingerprint: fingerprint, Namespace: namespace}, true
	}
	fingerprint := path.Base(path.Dir(object))
	key := Fact{After: object, Fingerprint: fingerprint, Revoked: object == registry.RevokedKeyKey(fingerprint), Distrusted: object == registry.DistrustedKeyKey(fingerprint)}
	return key, key.Revoked || key.Distrusted
}

// isKnown says whether there is any fact about an author's key.
func (k *Keys) isKnown(ctx context.Context, fingerprint string) (bool, error) {
	for key, err := range k.All(ctx, "") {
		if err != nil || key.Fingerprint == fingerprint {
			return err == nil, err
		}
	}
	return false, nil
}
