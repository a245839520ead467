package authorkeys

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// Known is one thing that is known of an author's key: that a namespace has it,
// or that it is not trusted.
type Known struct {
	After       string // the cursor to go on after
	Fingerprint string
	Namespace   string // that has it, or empty
	Revoked     bool   // by its owner
	Distrusted  bool   // by an operator
}

// All is what is known of all authors' keys, after a cursor: first which
// namespaces have them, once for each form of a key, then which are not trusted.
func (k *Keys) All(ctx context.Context, after string) iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		for _, prefix := range []string{registry.AllAuthorKeysPrefix, registry.UntrustedKeysPrefix} {
			if after != "" && !strings.HasPrefix(after, prefix) {
				continue // it is of the other one
			}
			for object, err := range k.config.Bucket.List(ctx, prefix, after) {
				if err != nil {
					yield(Known{}, fmt.Errorf("list the authors' keys: %w", err))
					return
				}
				if key, ok := parseKnown(object.Key); ok && !yield(key, nil) {
					return
				}
			}
			after = ""
		}
	}
}

// parseKnown says what an object's being there says.
func parseKnown(object string) (Known, bool) {
	if namespace, fingerprint, ok := registry.ParseAuthorKeyKey(object); ok {
		return Known{After: object, Fingerprint: fingerprint, Namespace: namespace}, true
	}
	fingerprint := path.Base(path.Dir(object))
	key := Known{After: object, Fingerprint: fingerprint, Revoked: object == registry.RevokedKeyKey(fingerprint), Distrusted: object == registry.DistrustedKeyKey(fingerprint)}
	return key, key.Revoked || key.Distrusted
}

// anyHas says whether an author's key is known.
func (k *Keys) anyHas(ctx context.Context, fingerprint string) (bool, error) {
	for key, err := range k.All(ctx, "") {
		if err != nil || key.Fingerprint == fingerprint {
			return err == nil, err
		}
	}
	return false, nil
}
