package locals3

import (
	"context"
	"errors"

	"github.com/larder-registry/larder/internal/awssignature"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/utils"
)

// accounts is the endpoint's list of accounts besides its own root: the holders of keys.
type accounts struct{ keys *Keys }

var (
	_ auth.IAMService         = accounts{}
	_ auth.SigningKeyProvider = accounts{}
)

var errFixedAccounts = errors.New("the accounts of this endpoint cannot be changed")

// DeriveSigningKey implements auth.SigningKeyProvider: with it, the endpoint knows keys of
// sessions, too.
//
// Errors: auth.ErrNoSuchUser.
func (a accounts) DeriveSigningKey(access, sessionToken, date, region, service string) ([]byte, auth.Account, error) {
	h, ok := a.keys.holder(access, sessionToken)
	if !ok {
		return nil, auth.Account{}, auth.ErrNoSuchUser
	}
	account := auth.Account{Access: access, SessionToken: sessionToken, Role: auth.RoleUser}
	if h.admin {
		account.Role = auth.RoleAdmin
	}
	return awssignature.Key(h.SecretAccessKey, date, region, service), account, nil
}

// GetUserAccount implements auth.IAMService.
//
// Errors: auth.ErrNoSuchUser.
func (a accounts) GetUserAccount(access string) (auth.Account, error) {
	if _, ok := a.keys.holder(access, ""); !ok {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return auth.Account{Access: access, Role: auth.RoleUser}, nil
}

// ResolveAccounts implements auth.IAMService: it returns the access keys that do not exist.
func (a accounts) ResolveAccounts(keys []string) ([]string, error) {
	var missing []string
	for _, key := range keys {
		if _, ok := a.keys.holder(key, ""); !ok {
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

// caller returns the account whose access key signed the request, which the endpoint has
// checked. It is empty if nobody signed.
func caller(ctx context.Context) auth.Account {
	account, _ := ctx.Value(string(utils.ContextKeyAccount)).(auth.Account)
	return account
}

// caller returns the holder of the key that signed a request, if the key is still good.
func (g guarded) caller(ctx context.Context) (holder, bool) {
	account := caller(ctx)
	return g.keys.holder(account.Access, account.SessionToken)
}
