package authorkeys

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

// ReadFile reads a file of public keys, or rejects it.
func ReadFile(data []byte) (signing.KeyFile, error) {
	file, err := signing.ReadKeyFile(data)
	var v signing.Violations
	if errors.As(err, &v) {
		return signing.KeyFile{}, inbox.Problems(v).Verdict()
	}
	return file, err
}

// Judged says what is accepted from a file of public keys.
type Judged struct {
	forms   []signing.PublicKey // to be stored
	revoked []signing.PublicKey // not to be trusted any more
	News    []string            // what the uploader may not expect
}

// Judge judges a file of public keys. The whole file is accepted, is rejected, or has to
// wait.
func (k *Keys) Judge(ctx context.Context, namespace string, file signing.KeyFile) (found Judged, err error) {
	known, err := k.forms(ctx, namespace)
	if err != nil {
		return found, err
	}
	var all inbox.Problems
	for _, key := range file.Keys {
		if err := k.judgeKey(ctx, key, known, &found, &all); err != nil {
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

// judgeKey adds a key to found, or a problem to all. A revoked key ends the trust in it,
// whatever else is wrong. So does a form that cannot be used, if it is newer than another
// form or revokes a subkey.
func (k *Keys) judgeKey(ctx context.Context, key signing.PublicKey, known []signing.PublicKey, found *Judged, all *inbox.Problems) error {
	if !key.Revoked.IsZero() {
		found.addRevoked(key)
		return nil
	}
	why, err := k.Untrusted(ctx, key.Fingerprint)
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
		found.News = append(found.News, fmt.Sprintf("key %s is not trusted for new releases until there is a newer form of it: it %s", key.Fingerprint, problem))
	default:
		all.Add(fmt.Errorf("key %s %s", key.KeyID, problem))
	}
	return nil
}

// checkSizes checks the keys as they would be served after this file: with the revocations
// of subkeys from all their forms.
func (j *Judged) checkSizes(known []signing.PublicKey, all *inbox.Problems) error {
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

// comesAfterAnother says whether a known form of the key is older.
func comesAfterAnother(key signing.PublicKey, known []signing.PublicKey) bool {
	return slices.ContainsFunc(known, func(form signing.PublicKey) bool {
		return form.Fingerprint == key.Fingerprint && form.SelfSigned.Before(key.SelfSigned)
	})
}

// addRevoked notes that a key is revoked.
func (j *Judged) addRevoked(key signing.PublicKey) {
	j.revoked = append(j.revoked, key)
	j.News = append(j.News, fmt.Sprintf("key %s is revoked by its owner, and is not trusted for new releases any more; what it has signed goes on being served. Sign with another key and upload that one", key.Fingerprint))
}

// revoke notes that a revocation certificate revokes a key, if the key is known.
func (j *Judged) revoke(revocation signing.Revocation, known []signing.PublicKey) (isKnown bool, err error) {
	for _, key := range known {
		if key.KeyID != revocation.KeyID {
			continue
		}
		isKnown = true
		var revoked signing.PublicKey
		if revoked, err = revocation.Revoke(key); err == nil {
			j.addRevoked(revoked)
			return true, nil
		}
	}
	return isKnown, err
}

// Store stores what was accepted. Revocations come first.
func (k *Keys) Store(ctx context.Context, namespace string, found Judged) error {
	for _, key := range found.revoked {
		if err := blob.Keep(ctx, k.config.Bucket, registry.RevokedKeyKey(key.Fingerprint), []byte(key.ASCIIArmor)); err != nil {
			return err
		}
	}
	for _, form := range found.forms {
		armor := []byte(form.ASCIIArmor)
		if err := blob.Keep(ctx, k.config.Bucket, registry.AuthorKeyKey(namespace, form.Fingerprint, blob.SHA256(armor)), armor); err != nil {
			return err
		}
	}
	return nil
}
