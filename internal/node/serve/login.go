package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/assembly/tokens"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/pkg/identity"
	"github.com/larder-registry/larder/pkg/login"
)

// openTokens opens what gives tokens to pipelines, and to people if they can log in.
func (n *node) openTokens() (tokens.Tokens, error) {
	at := n.settings.Login
	provider := identity.ProviderConfig{Issuer: at.Issuer, ClientID: at.ClientID, Scopes: at.Scopes}
	if at.SecretFile != "" {
		if _, err := readSecret(at.SecretFile); err != nil {
			return tokens.Tokens{}, err
		}
		// The file is read at each login, so that it can be changed while the node serves.
		provider.Secret = func(context.Context) (string, error) { return readSecret(at.SecretFile) }
	}
	return tokens.New(tokens.Config{
		Store: n.access, Host: n.webHost(), Provider: provider,
		Admit: admission(), Sessions: sessions{n.bucket.Keys}, Transport: n.toIssuers, Logger: n.logger,
	})
}

// webHost returns the registry's host as browsers send it.
func (n *node) webHost() string { return n.settings.WebHost(n.listener.Addr().(*net.TCPAddr).Port) }

// logLogin logs what the identity provider must know, if people can log in.
func (n *node) logLogin() {
	if at := n.settings.Login; at.Issuer != "" {
		n.logger.Info("people can log in", "issuer", at.Issuer, "client_id", at.ClientID, "redirect_uri", tokens.RedirectURL(n.webHost()))
	}
}

// maxSecret is the largest file with the client's secret, in bytes.
const maxSecret = 4 << 10

// readSecret reads the client's secret from a file that others may not read.
func readSecret(path string) (string, error) {
	secret, err := readPrivate(path)
	if err != nil {
		return "", fmt.Errorf("LARDER_LOGIN_CLIENT_SECRET_FILE (--login-client-secret-file) is %s: %w", path, err)
	}
	return secret, nil
}

func readPrivate(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // read only
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return "", fmt.Errorf("every user of this machine can read or write it: end that with chmod o= %s, and have the provider make another secret", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || len(data) > maxSecret {
		return "", errors.New("it must have only the client's secret")
	}
	return secret, nil
}

// sessions makes access keys for pipelines that have shown their identity.
type sessions struct{ keys *locals3.Keys }

// NewSession implements login.Sessions.
func (s sessions) NewSession(name string, namespaces []string, expires time.Time) (login.Session, error) {
	key, token, err := s.keys.NewSession(name, namespaces, expires)
	return login.Session{AccessKeyID: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey, SessionToken: token}, err
}
