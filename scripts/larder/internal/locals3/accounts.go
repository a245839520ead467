package locals3

import (
	"context"
	"errors"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/utils"
)

// accounts is the endpoint's list of accounts besides its own root: who has a key.
type accounts struct{ keys *Keys }

var _ auth.IAMService = accounts{}

var errFixedAccounts = errors.New("the accounts of this endpoint cannot be changed")

// GetUserAccount implements auth.IAMService.
// Errors: auth.ErrNoSuchUser.
func (a accounts) GetUserAccount(access string) (auth.Account, error) {
	h, ok := a.keys.holder(access)
	if !ok {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	account := auth.Account{Access: access, Secret: h.SecretAccessKey, Role: auth.RoleUser}
	if h.admin {
		account.Role = auth.RoleAdmin
	}
	return account, nil
}

// ResolveAccounts implements auth.IAMService: it returns those of the access
// keys that do not exist.
func (a accounts) ResolveAccounts(keys []string) ([]string, error) {
	var missing []string
	for _, key := range keys {
		if _, ok := a.keys.holder(key); !ok {
			missing = append(missing, key)
		}
	}
	return missing, nil
}

// ListUserAccounts implements auth.IAMService by refusing.
func (a accounts) ListUserAccounts() ([]auth.Account, error) { return nil, errFixedAccounts }

// CreateAccount implements auth.IAMService by refusing.
func (a accounts) CreateAccount(auth.Account) error { return errFixedAccounts }

// UpdateUserAccount implements auth.IAMService by refusing.
func (a accounts) UpdateUserAccount(string, auth.MutableProps) error { return errFixedAccounts }

// DeleteUserAccount implements auth.IAMService by refusing.
func (a accounts) DeleteUserAccount(string) error { return errFixedAccounts }

// Shutdown implements auth.IAMService.
func (a accounts) Shutdown() error { return nil }

// caller is the ID of the access key with which the request is signed that the
// storage is asked for. The endpoint has checked it; it is empty where nobody signed.
func caller(ctx context.Context) string {
	account, _ := ctx.Value(string(utils.ContextKeyAccount)).(auth.Account)
	return account.Access
}
