package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/pkg/identity"
	"github.com/larder-registry/larder/pkg/login"
	"github.com/larder-registry/larder/pkg/protocol"
)

// newSignIn gives tokens to pipelines, and to people where they can log in. It has
// the bucket give access keys to pipelines.
func (n *node) newSignIn() (http.Handler, error) {
	identities := identity.NewVerifier(identity.Config{Transport: n.toIssuers})
	c := login.Config{
		Store:      n.access,
		Identities: identities,
		Host:       n.settings.WebHost(n.listener.Addr().(*net.TCPAddr).Port),
		Admit:      admission(),
		Logger:     n.logger,
	}
	n.bucket.IssueBy(login.NewSTS(c, sessions{n.bucket.Keys}))
	at := n.settings.Login
	if at.Issuer == "" {
		return login.New(c), nil
	}
	provider := identity.ProviderConfig{
		Issuer:      at.Issuer,
		ClientID:    at.ClientID,
		RedirectURL: "https://" + c.Host + protocol.LoginCallbackPath,
		Scopes:      at.Scopes,
	}
	if at.SecretFile != "" {
		if _, err := readSecret(at.SecretFile); err != nil {
			return nil, err
		}
		// At each login, so that it can be changed while the node serves.
		provider.Secret = func(context.Context) (string, error) { return readSecret(at.SecretFile) }
	}
	c.Provider = identities.Provider(provider)
	if issuer, err := url.Parse(at.Issuer); err == nil {
		c.ProviderName = issuer.Host
	}
	n.logger.Info("people can log in", "issuer", at.Issuer, "client_id", at.ClientID, "redirect_uri", provider.RedirectURL)
	return login.New(c), nil
}

// maxSecret is how large the file with the client's secret may be, in bytes.
const maxSecret = 4 << 10

// readSecret reads the client's secret, which nobody else may.
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
		return "", fmt.Errorf("every user of this machine can read or write it: take that from them with chmod o= %s, and have the provider make another secret", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || len(data) > maxSecret {
		return "", errors.New("it must have the client's secret, and nothing else")
	}
	return secret, nil
}

// sessions makes keys of sessions for those who show who they are.
type sessions struct{ keys *locals3.Keys }

// NewSession implements login.Sessions.
func (s sessions) NewSession(name string, namespaces []string, expires time.Time) (login.Session, error) {
	key, token, err := s.keys.NewSession(name, namespaces, expires)
	return login.Session{AccessKeyID: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey, SessionToken: token}, err
}
