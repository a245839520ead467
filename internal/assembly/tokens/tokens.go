// Package tokens puts together the ways to get a token: people log in, pipelines show their
// identity, and operators make tokens.
package tokens

import (
	"log/slog"
	"net/http"
	"net/url"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/identity"
	"github.com/larder-registry/larder/pkg/login"
	"github.com/larder-registry/larder/pkg/protocol"
)

// Config configures the ways to get a token.
type Config struct {
	// Store keeps tokens, rules and tickets. Required.
	Store access.Store

	// Host is the registry's host, as in [login.Config]. Required.
	Host string

	// Provider is the provider that people log in with. New sets its RedirectURL. Without an
	// Issuer, nobody can log in.
	Provider identity.ProviderConfig

	// Admit says whether there is room for a request, as in [login.Config].
	Admit func(*http.Request) bool

	// Sessions makes access keys of the bucket for pipelines. Nil: the registry does not
	// have its own bucket.
	Sessions login.Sessions

	// Transport sends requests to issuers. Nil is as in [identity.Config].
	Transport http.RoundTripper

	// Logger gets a line for every decision. Required.
	Logger *slog.Logger
}

// Tokens are the ways to get a token.
type Tokens struct {
	// SignIn answers the routes of login and of tokens.
	SignIn http.Handler

	// STS answers pipelines that ask for access keys. Nil without Sessions.
	STS http.Handler

	// Operators answers operators.
	Operators *admin.Handler
}

// RedirectURL is the URL at the registry's host to which the provider sends people back.
func RedirectURL(host string) string { return "https://" + host + protocol.LoginCallbackPath }

// New puts them together. It sends no request.
func New(c Config) (Tokens, error) {
	identities := identity.NewVerifier(identity.Config{Transport: c.Transport})
	signIn := login.Config{Store: c.Store, Identities: identities, Host: c.Host, Admit: c.Admit, Logger: c.Logger}
	if provider := c.Provider; provider.Issuer != "" {
		issuer, err := url.Parse(provider.Issuer)
		if err != nil {
			return Tokens{}, err
		}
		provider.RedirectURL = RedirectURL(c.Host)
		signIn.Provider, signIn.ProviderName = identities.Provider(provider), issuer.Host
	}
	t := Tokens{SignIn: login.New(signIn), Operators: admin.New(c.Store, access.LogTo(c.Logger))}
	if c.Sessions != nil {
		t.STS = login.NewSTS(signIn, c.Sessions)
	}
	return t, nil
}
