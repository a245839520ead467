package locals3

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/pkg/access"
)

// Keys are the access keys of the bucket. They may change while they are in use: each
// request is checked with the current ones. It is safe for concurrent use.
type Keys struct {
	dir    *datadir.Dir
	now    func() time.Time
	change sync.Mutex // held while they are being changed
	set    atomic.Pointer[keySet]
	made   bool // at this start: there were no keys before
}

// keySet is all keys at one time.
type keySet struct {
	stored  storedKeys
	holders map[string]holder // by the IDs of their keys
}

// holder is somebody with an access key.
type holder struct {
	Credentials
	name    string // recorded with uploads
	admin   bool   // may do everything
	policy  []byte // what else the holder may do
	expires time.Time
}

// loadKeys returns the access keys of the data folder, made on the first start.
func loadKeys(dir *datadir.Dir) (*Keys, error) {
	k := &Keys{dir: dir, now: time.Now}
	data, err := dir.LoadOrCreate(datadir.S3Credentials, func() ([]byte, error) {
		k.made = true
		return marshalKeys(storedKeys{Root: newCredentials(), Operator: newCredentials(), Sessions: newSessionKey()})
	})
	if err != nil {
		return nil, fmt.Errorf("access keys of the bucket: %w", err)
	}
	stored, err := parseKeys(data)
	if err == nil {
		err = k.use(stored)
	}
	if err == nil && len(stored.Sessions) == 0 { // an earlier version made none
		stored.Sessions = newSessionKey()
		return k, k.store(stored)
	}
	if err != nil {
		return nil, fmt.Errorf("access keys of the bucket in %s: %w; remove the file to have new ones made, and make the uploaders anew",
			dir.Path(datadir.S3Credentials), err)
	}
	return k, nil
}

// use makes s the current keys.
func (k *Keys) use(s storedKeys) error {
	operator, err := operatorPolicy(s.Operator.AccessKeyID)
	if err != nil {
		return err
	}
	holders := map[string]holder{
		s.Root.AccessKeyID:     {Credentials: s.Root, name: access.RegistryName, admin: true},
		s.Operator.AccessKeyID: {Credentials: s.Operator, name: access.OperatorName, policy: operator},
	}
	for _, u := range s.Uploaders {
		policy, err := uploaderPolicy(u.AccessKeyID, u.Namespaces)
		if err != nil {
			return err
		}
		holders[u.AccessKeyID] = holder{Credentials: u.Credentials, name: u.Name, policy: policy, expires: u.Expires}
	}
	for _, r := range s.Replaced {
		policy, err := downloadPolicy(r.AccessKeyID)
		if err != nil {
			return err
		}
		holders[r.AccessKeyID] = holder{Credentials: r.Credentials, policy: policy, expires: r.Until}
	}
	k.set.Store(&keySet{s, holders})
	return nil
}

// holder returns the holder of a valid access key: of the key of a session with its token,
// or of another key without a token.
func (k *Keys) holder(accessKeyID, sessionToken string) (holder, bool) {
	if sessionToken != "" {
		return k.session(accessKeyID, sessionToken)
	}
	h, ok := k.set.Load().holders[accessKeyID]
	return h, ok && (h.expires.IsZero() || k.now().Before(h.expires))
}

// Root returns the registry's own key, which may do everything and signs the URLs that
// clients download from.
func (k *Keys) Root() Credentials { return k.set.Load().stored.Root }

// Operator returns the operator's key, which may write everywhere but below registry/.
func (k *Keys) Operator() Credentials { return k.set.Load().stored.Operator }

// Uploaders returns the uploaders, in the order of their names.
func (k *Keys) Uploaders() []access.Uploader {
	var all []access.Uploader
	for _, u := range k.listed() {
		all = append(all, u.public())
	}
	return all
}

// listed returns the uploaders that have not expired, or only lately.
func (k *Keys) listed() []storedUploader {
	return slices.DeleteFunc(slices.Clone(k.set.Load().stored.Uploaders), func(u storedUploader) bool {
		until := u.public().ListedUntil()
		return !until.IsZero() && !k.now().Before(until)
	})
}

// ErrTooManyUploaders reports that the limit of uploaders is reached.
var ErrTooManyUploaders = fmt.Errorf("there are %d uploaders, and there may be no more", access.MaxUploaders)

// CreateUploader makes an access key for an uploader, which works at once, and returns its
// secret. No other method returns the secret.
//
// Errors: [access.ErrExists] if another uploader has the name, [ErrTooManyUploaders], and
// what is wrong with the uploader.
func (k *Keys) CreateUploader(name string, namespaces []string, expires time.Time) (u access.Uploader, secret string, err error) {
	k.change.Lock()
	defer k.change.Unlock()
	added := storedUploader{Name: name, Credentials: newCredentials(), Namespaces: namespaces, Created: k.now().UTC().Truncate(time.Second), Expires: expires}
	u = added.public()
	if err := u.Validate(); err != nil {
		return access.Uploader{}, "", err
	}
	next := k.set.Load().stored
	next.Uploaders = k.listed()
	at, found := slices.BinarySearchFunc(next.Uploaders, name, func(u storedUploader, name string) int { return strings.Compare(u.Name, name) })
	switch {
	case found:
		return access.Uploader{}, "", access.ErrExists
	case len(next.Uploaders) >= access.MaxUploaders:
		return access.Uploader{}, "", ErrTooManyUploaders
	}
	next.Uploaders = slices.Insert(next.Uploaders, at, added)
	if err := k.store(next); err != nil {
		return access.Uploader{}, "", err
	}
	return u, added.SecretAccessKey, nil
}

// RevokeUploader ends an uploader, by its name or the ID of its access key.
//
// Errors: [access.ErrNotFound].
func (k *Keys) RevokeUploader(which string) (access.Uploader, error) {
	k.change.Lock()
	defer k.change.Unlock()
	next := k.set.Load().stored
	next.Uploaders = k.listed()
	at := slices.IndexFunc(next.Uploaders, func(u storedUploader) bool { return u.Name == which || u.AccessKeyID == which })
	if at < 0 {
		return access.Uploader{}, access.ErrNotFound
	}
	revoked := next.Uploaders[at].public()
	next.Uploaders = slices.Delete(next.Uploaders, at, at+1)
	return revoked, k.store(next)
}

// Rotate makes a new key for the operator, and a new one for the registry itself. The
// operator's old key ends. The registry's old key can still download for lifetime, until
// the URLs that it signed have expired. The keys of sessions end. Uploaders keep theirs.
func (k *Keys) Rotate(lifetime time.Duration) error {
	k.change.Lock()
	defer k.change.Unlock()
	next, now := k.set.Load().stored, k.now()
	replaced := slices.DeleteFunc(slices.Clone(next.Replaced), func(r replacedRoot) bool { return !now.Before(r.Until) })
	replaced = append(replaced, replacedRoot{next.Root, now.Add(lifetime).UTC()})
	next.Replaced = replaced[max(0, len(replaced)-maxReplaced):]
	next.Root, next.Operator, next.Sessions = newCredentials(), newCredentials(), newSessionKey()
	return k.store(next)
}

// store writes the keys to their file, and makes them the current ones.
func (k *Keys) store(s storedKeys) error {
	data, err := marshalKeys(s)
	if err != nil {
		return fmt.Errorf("access keys of the bucket: %w", err)
	}
	if err := k.dir.WriteFile(datadir.S3Credentials, data); err != nil {
		return fmt.Errorf("access keys of the bucket: %w", err)
	}
	return k.use(s)
}
