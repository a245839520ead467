package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// authorForms is every accepted form of the keys of a namespace. Of a key of which
// a form cannot be read, there is none: it may be the one that counts.
func (p *Publisher) authorForms(ctx context.Context, namespace string) ([]signing.PublicKey, error) {
	var forms []signing.PublicKey
	unreadable := map[string]bool{}
	for object, err := range p.bucket.List(ctx, registry.AuthorKeysPrefix(namespace), "") {
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s: %w", namespace, err)
		}
		data, _, err := blob.Read(ctx, p.bucket, object.Key, "", 2*signing.MaxKeyFile) // of one that is too large it is not read, but said
		if err != nil {
			return nil, fmt.Errorf("read a key of %s: %w", namespace, err)
		}
		file, err := signing.ReadKeyFile(data)
		if err != nil { // by rules that are newer than the key
			p.logger.WarnContext(ctx, "an author's key cannot be used", "key", object.Key, "reason", err.Error())
			_, fingerprint, _ := registry.ParseAuthorKeyKey(object.Key)
			unreadable[fingerprint] = true
		}
		forms = append(forms, file.Keys...)
	}
	return slices.DeleteFunc(forms, func(form signing.PublicKey) bool { return unreadable[form.Fingerprint] }), nil
}

// authorKeys is every accepted key of a namespace, each in its newest form, also
// those that cannot be used now.
func (p *Publisher) authorKeys(ctx context.Context, namespace string) ([]signing.PublicKey, error) {
	forms, err := p.authorForms(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return signing.NewestForms(forms)
}

// publishKeys takes a file of an author's public keys, and completes the
// releases that waited for one of them.
func (p *Publisher) publishKeys(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	data, _, err := blob.Read(ctx, p.bucket, object.Key, object.Version, u.MaxSize())
	if err != nil {
		return gone(err)
	}
	o.SHA256 = blob.SHA256(data)
	file, err := readKeys(data)
	if err != nil {
		return err
	}
	found, err := p.judgeKeys(ctx, u.Namespace, file)
	if err != nil {
		return err
	}
	if err := p.storeKeys(ctx, u.Namespace, found); err != nil {
		return err
	}
	if len(file.Keys) > 0 {
		if err := p.completeRevocations(ctx, u.Namespace); err != nil {
			return err
		}
	}
	if err := p.completeReleases(ctx, u.Namespace); err != nil || len(found.news) == 0 {
		return err
	}
	return &inbox.Verdict{Status: inbox.Published, Reasons: found.news}
}

// readKeys returns what is in a file of public keys, or rejects it.
func readKeys(data []byte) (signing.KeyFile, error) {
	file, err := signing.ReadKeyFile(data)
	var v signing.Violations
	if errors.As(err, &v) {
		return signing.KeyFile{}, inbox.Problems(v).Verdict()
	}
	return file, err
}

// judgedKeys is what becomes of a file of public keys.
type judgedKeys struct {
	forms   []signing.PublicKey // to be taken in
	revoked []signing.PublicKey // not to be trusted any more
	news    []string            // what its owner may not expect
}

// judgeKeys says what becomes of a file of public keys: it is taken in as a whole,
// rejected as a whole, or has to wait.
func (p *Publisher) judgeKeys(ctx context.Context, namespace string, file signing.KeyFile) (found judgedKeys, err error) {
	known, err := p.authorForms(ctx, namespace)
	if err != nil {
		return found, err
	}
	var all inbox.Problems
	for _, key := range file.Keys {
		if err := p.judgeKey(ctx, key, known, &found, &all); err != nil {
			return found, err
		}
	}
	if err := found.checkSizes(known, &all); err != nil {
		return found, err
	}
	var unknown []string
	for _, revocation := range file.Revocations {
		isKnown, err := found.revoke(revocation, slices.Concat(known, file.Keys))
		all.Add(err)
		if !isKnown {
			unknown = append(unknown, revocation.KeyID)
		}
	}
	switch {
	case len(all) > 0:
		return found, all.Verdict()
	case len(unknown) > 0:
		return found, inbox.Wait("it revokes the key %s, which is not under %s%s/ yet: upload that key, or the key and its revocation as one (gpg --import this file, then gpg --armor --export)",
			strings.Join(unknown, ", "), inbox.KeysFolder, namespace)
	}
	return found, nil
}

// judgeKey adds a key to what is found, or says what is wrong with it. A revoked
// key ends the trust in it whatever else is wrong. So does a form that cannot be
// used, if it comes after another one or revokes a subkey.
func (p *Publisher) judgeKey(ctx context.Context, key signing.PublicKey, known []signing.PublicKey, found *judgedKeys, all *inbox.Problems) error {
	if !key.Revoked.IsZero() {
		found.end(key)
		return nil
	}
	why, err := p.untrusted(ctx, key.Fingerprint)
	if err != nil {
		return err
	}
	problem := key.Problem(time.Now())
	switch {
	case why != "":
		all.Add(fmt.Errorf("key %s %s: sign with another key and upload that one", key.Fingerprint, why))
	case problem == "":
		found.forms = append(found.forms, key)
	case key.RevokedSubkeys || comesAfterAnother(key, known):
		found.forms = append(found.forms, key)
		found.news = append(found.news, fmt.Sprintf("key %s is not trusted for new releases until there is a newer form of it: it %s", key.Fingerprint, problem))
	default:
		all.Add(fmt.Errorf("key %s %s", key.KeyID, problem))
	}
	return nil
}

// checkSizes looks at the keys as they would be served if all is taken in: they have
// the revocations of subkeys of all their forms.
func (j *judgedKeys) checkSizes(known []signing.PublicKey, all *inbox.Problems) error {
	newest, err := signing.NewestForms(slices.Concat(known, j.forms))
	if err != nil {
		return err
	}
	for _, key := range newest {
		isNew := slices.ContainsFunc(j.forms, func(form signing.PublicKey) bool { return form.Fingerprint == key.Fingerprint })
		if problem := key.TooLarge(); problem != "" && isNew {
			all.Add(fmt.Errorf("key %s, together with what was uploaded of it before, %s", key.KeyID, problem))
		}
	}
	return nil
}

// comesAfterAnother says whether there is a form of a key that its owner signed
// before this one.
func comesAfterAnother(key signing.PublicKey, known []signing.PublicKey) bool {
	return slices.ContainsFunc(known, func(form signing.PublicKey) bool {
		return form.Fingerprint == key.Fingerprint && form.SelfSigned.Before(key.SelfSigned)
	})
}

// end notes that a key is revoked.
func (j *judgedKeys) end(key signing.PublicKey) {
	j.revoked = append(j.revoked, key)
	j.news = append(j.news, fmt.Sprintf("key %s is revoked by its owner, and is not trusted for new releases any more; what it has signed goes on being served. Sign with another key and upload that one", key.Fingerprint))
}

// revoke notes what a revocation certificate revokes, if its key is among those
// that are known.
func (j *judgedKeys) revoke(revocation signing.Revocation, known []signing.PublicKey) (isKnown bool, err error) {
	for _, key := range known {
		if key.KeyID != revocation.KeyID {
			continue
		}
		isKnown = true
		var revoked signing.PublicKey
		if revoked, err = revocation.Revoke(key); err == nil {
			j.end(revoked)
			return true, nil
		}
	}
	return isKnown, err
}

// storeKeys makes durable what was found in a file of public keys. What ends trust
// comes first.
func (p *Publisher) storeKeys(ctx context.Context, namespace string, found judgedKeys) error {
	for _, key := range found.revoked {
		if err := blob.Keep(ctx, p.bucket, registry.RevokedKeyKey(key.Fingerprint), []byte(key.ASCIIArmor)); err != nil {
			return err
		}
	}
	for _, form := range found.forms {
		armor := []byte(form.ASCIIArmor)
		if err := blob.Keep(ctx, p.bucket, registry.AuthorKeyKey(namespace, form.Fingerprint, blob.SHA256(armor)), armor); err != nil {
			return err
		}
	}
	return nil
}

// completeRevocations publishes the revocation certificates of a namespace that
// lie in the inbox and have waited for their key.
func (p *Publisher) completeRevocations(ctx context.Context, namespace string) error {
	for object, err := range p.bucket.List(ctx, inbox.KeysFolder+namespace+"/", "") {
		if err != nil {
			return fmt.Errorf("list the keys of %s: %w", namespace, err)
		}
		last, err := p.inbox.LastOutcome(ctx, object.Key)
		if err != nil {
			return err
		}
		if last.Status != inbox.Pending {
			continue
		}
		if err := p.PublishKey(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}

// completeReleases publishes the signatures of a namespace that lie in the
// inbox and have waited.
func (p *Publisher) completeReleases(ctx context.Context, namespace string) error {
	for object, err := range p.bucket.List(ctx, inbox.ProvidersFolder+namespace+"/", "") {
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

// holdsKeys says whether everything that a file of public keys holds was taken in.
func (p *Publisher) holdsKeys(ctx context.Context, namespace string, data []byte) (bool, error) {
	file, err := signing.ReadKeyFile(data)
	if err != nil {
		return false, nil
	}
	for _, key := range file.Keys {
		prefix := registry.AuthorKeysPrefix(namespace) + key.Fingerprint + "/"
		if !key.Revoked.IsZero() {
			prefix = registry.RevokedKeyKey(key.Fingerprint)
		}
		if held, err := blob.IsAny(ctx, p.bucket, prefix); !held {
			return false, err
		}
	}
	known, err := p.authorForms(ctx, namespace)
	if err != nil {
		return false, err
	}
	for _, revocation := range file.Revocations {
		var found judgedKeys
		if isKnown, err := found.revoke(revocation, slices.Concat(known, file.Keys)); !isKnown || err != nil {
			return false, nil
		}
		if held, err := blob.IsAny(ctx, p.bucket, registry.RevokedKeyKey(found.revoked[0].Fingerprint)); !held {
			return false, err
		}
	}
	return true, nil
}
