package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// authorKeys is every accepted key of a namespace, each in its newest form.
func (p *Publisher) authorKeys(ctx context.Context, namespace string) ([]signing.PublicKey, error) {
	var keys []signing.PublicKey
	for object, err := range p.bucket.List(ctx, registry.AuthorKeysPrefix(namespace), "") {
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s: %w", namespace, err)
		}
		data, err := p.readAll(ctx, object.Key, "", signing.MaxKeyFile)
		if err != nil {
			return nil, fmt.Errorf("read a key of %s: %w", namespace, err)
		}
		parsed, err := signing.ParseKeyFile(data)
		if err != nil { // it has expired since
			p.log.InfoContext(ctx, "an author's key cannot be used", "key", object.Key, "reason", err.Error())
			continue
		}
		keys = append(keys, parsed...)
	}
	return newestForms(keys), nil
}

// newestForms keeps of each key the form that its owner signed last. The order
// in which the forms were uploaded says nothing.
func newestForms(keys []signing.PublicKey) []signing.PublicKey {
	slices.SortFunc(keys, func(a, b signing.PublicKey) int {
		return cmp.Or(
			cmp.Compare(a.Fingerprint, b.Fingerprint),
			b.SelfSigned.Compare(a.SelfSigned),
			cmp.Compare(a.ASCIIArmor, b.ASCIIArmor))
	})
	return slices.CompactFunc(keys, func(a, b signing.PublicKey) bool { return a.Fingerprint == b.Fingerprint })
}

// publishKeys takes a file of an author's public keys, and completes the
// releases that waited for one of them.
func (p *Publisher) publishKeys(ctx context.Context, u upload, object Object, o *Outcome) error {
	data, err := p.readAll(ctx, object.Key, object.Version, u.maxSize())
	if err != nil {
		return gone(err)
	}
	o.SHA256 = hexSHA256(data)
	keys, err := parseKeys(data)
	if err != nil {
		return err
	}
	for _, key := range keys {
		armor := []byte(key.ASCIIArmor)
		if err := p.create(ctx, registry.AuthorKeyKey(u.namespace, key.Fingerprint, hexSHA256(armor)), armor); err != nil {
			return err
		}
	}
	return p.completeReleases(ctx, u.namespace)
}

// parseKeys returns the keys of a file of public keys, or rejects it.
func parseKeys(data []byte) ([]signing.PublicKey, error) {
	keys, err := signing.ParseKeyFile(data)
	var v signing.Violations
	if errors.As(err, &v) {
		return nil, &verdict{Rejected, v}
	}
	return keys, err
}

// completeReleases publishes the signatures of a namespace that lie in the
// inbox and have waited.
func (p *Publisher) completeReleases(ctx context.Context, namespace string) error {
	for object, err := range p.bucket.List(ctx, providersFolder+namespace+"/", "") {
		if err != nil {
			return fmt.Errorf("list the uploads of %s: %w", namespace, err)
		}
		if !strings.HasSuffix(object.Key, "_SHA256SUMS.sig") {
			continue
		}
		if err := p.PublishKey(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}
