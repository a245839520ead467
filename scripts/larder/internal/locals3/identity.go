package locals3

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/versity/versitygw/auth"

	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
)

// Credentials are an S3 access key.
type Credentials struct {
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
}

// identities are the two access keys of the bucket, as they are stored.
type identities struct {
	Root     Credentials `json:"root"`
	Uploader Credentials `json:"uploader"`
}

// secret returns the secret of one of the access keys.
func (i identities) secret(accessKeyID string) (string, bool) {
	for _, key := range []Credentials{i.Uploader, i.Root} {
		if key.AccessKeyID == accessKeyID {
			return key.SecretAccessKey, true
		}
	}
	return "", false
}

// loadCredentials returns the access keys of the data folder, made on the
// first start.
func loadCredentials(dir *datadir.Dir) (identities, error) {
	data, err := dir.LoadOrCreate(datadir.S3Credentials, func() ([]byte, error) {
		return json.MarshalIndent(identities{Root: newCredentials(), Uploader: newCredentials()}, "", "  ")
	})
	if err != nil {
		return identities{}, fmt.Errorf("access keys of the bucket: %w", err)
	}
	var keys identities
	err = json.Unmarshal(data, &keys)
	if err == nil && (!keys.Root.complete() || !keys.Uploader.complete()) {
		err = errors.New("a key is missing")
	}
	if err != nil {
		return identities{}, fmt.Errorf("access keys of the bucket in %s: %w; remove the file to have new ones made",
			dir.Path(datadir.S3Credentials), err)
	}
	return keys, nil
}

func (c Credentials) complete() bool { return c.AccessKeyID != "" && c.SecretAccessKey != "" }

// newCredentials makes an access key in the shape of AWS's: 20 letters and
// digits, and a secret of 40.
func newCredentials() Credentials {
	return Credentials{
		AccessKeyID:     "LARDER" + rand.Text()[:14],
		SecretAccessKey: rand.Text() + rand.Text()[:14],
	}
}

// accounts is the endpoint's list of accounts besides its root: the uploader.
type accounts struct{ uploader Credentials }

var _ auth.IAMService = accounts{}

var errFixedAccounts = errors.New("the accounts of this endpoint cannot be changed")

// GetUserAccount implements auth.IAMService.
// Errors: auth.ErrNoSuchUser.
func (a accounts) GetUserAccount(access string) (auth.Account, error) {
	if access != a.uploader.AccessKeyID {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return auth.Account{Access: access, Secret: a.uploader.SecretAccessKey, Role: auth.RoleUser}, nil
}

// ResolveAccounts implements auth.IAMService: it returns those of the access
// keys that do not exist.
func (a accounts) ResolveAccounts(keys []string) ([]string, error) {
	var missing []string
	for _, key := range keys {
		if key != a.uploader.AccessKeyID {
			missing = append(missing, key)
		}
	}
	return missing, nil
}

// ListUserAccounts implements auth.IAMService.
func (a accounts) ListUserAccounts() ([]auth.Account, error) {
	account, err := a.GetUserAccount(a.uploader.AccessKeyID)
	return []auth.Account{account}, err
}

// CreateAccount implements auth.IAMService by refusing.
func (a accounts) CreateAccount(auth.Account) error { return errFixedAccounts }

// UpdateUserAccount implements auth.IAMService by refusing.
func (a accounts) UpdateUserAccount(string, auth.MutableProps) error { return errFixedAccounts }

// DeleteUserAccount implements auth.IAMService by refusing.
func (a accounts) DeleteUserAccount(string) error { return errFixedAccounts }

// Shutdown implements auth.IAMService.
func (a accounts) Shutdown() error { return nil }
