package identity

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"github.com/larder-registry/larder/pkg/access"
	"golang.org/x/oauth2"
)

// ProviderConfig is the registry's registration at the provider that people log in with.
type ProviderConfig struct {
	Issuer      string
	ClientID    string
	RedirectURL string   // to which the provider sends people back; registered there
	Scopes      []string // what to ask for; openid is always among it

	// Secret is the client's secret, asked for at each login. It is nil for a
	// public client, which has none.
	Secret func(context.Context) (string, error)
}

// Provider is the provider that people log in with. It is safe for concurrent
// use.
type Provider struct {
	verifier *Verifier
	config   ProviderConfig
}

// Provider is a provider that has not been asked yet. It shares the verifier's cache of
// the issuer.
func (v *Verifier) Provider(c ProviderConfig) *Provider {
	c.Scopes = slices.Clone(c.Scopes)
	if !slices.Contains(c.Scopes, "openid") {
		c.Scopes = append([]string{"openid"}, c.Scopes...)
	}
	return &Provider{v, c}
}

// client is the registry as the provider's client, without its secret.
func (p *Provider) client(ctx context.Context) (*oauth2.Config, error) {
	issuer := p.verifier.issuer(p.config.Issuer)
	d, _, err := issuer.discovery.get(ctx)
	if err != nil {
		return nil, issuer.fault(err)
	}
	if err := checkURL(d.Authorization); err != nil {
		return nil, unavailable(p.config.Issuer, "the authorization_endpoint of its discovery document %v", err)
	}
	if err := checkURL(d.Token); err != nil {
		return nil, unavailable(p.config.Issuer, "the token_endpoint of its discovery document %v", err)
	}
	return &oauth2.Config{
		ClientID:    p.config.ClientID,
		RedirectURL: p.config.RedirectURL,
		Scopes:      p.config.Scopes,
		Endpoint:    oauth2.Endpoint{AuthURL: d.Authorization, TokenURL: d.Token, AuthStyle: p.authStyle(d)},
	}, nil
}

// authStyle is how the client authenticates. The library, if it chose, would send a
// refused secret twice, and with it a code, which is good once. If the provider does not
// say, it is HTTP Basic (Discovery 1.0, section 3).
func (p *Provider) authStyle(d *discovery) oauth2.AuthStyle {
	post := slices.Contains(d.TokenAuth, "client_secret_post") && !slices.Contains(d.TokenAuth, "client_secret_basic")
	if p.config.Secret != nil && !post {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// AuthURL is where to send somebody to log in. State, nonce and verifier are new secrets
// for each login. The provider sends back the state, and puts the nonce into the identity
// token. It gets a hash of the verifier (PKCE, S256); only [Provider.Exchange] sends the
// verifier itself.
//
// Errors: [ErrUnavailable].
func (p *Provider) AuthURL(ctx context.Context, state, nonce, verifier string) (string, error) {
	client, err := p.client(ctx)
	if err != nil {
		return "", err
	}
	return client.AuthCodeURL(state, oauth2.SetAuthURLParam("nonce", nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Exchange is the claims of the person who has logged in and came back with a code.
// Verifier and nonce are those of the [Provider.AuthURL] to which they were sent.
//
// Errors: [ErrInvalid], [ErrUnavailable], [ErrTooSoon], and those of Secret.
func (p *Provider) Exchange(ctx context.Context, code, verifier, nonce string) (access.Claims, error) {
	client, err := p.client(ctx)
	if err != nil {
		return nil, err
	}
	if p.config.Secret != nil {
		if client.ClientSecret, err = p.config.Secret(ctx); err != nil {
			return nil, fmt.Errorf("the secret with which the registry is known to %s cannot be read: %w", p.config.Issuer, err)
		}
	}
	answer, err := client.Exchange(context.WithValue(ctx, oauth2.HTTPClient, p.verifier.http), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, p.refusal(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return nil, unavailable(p.config.Issuer, "its answer to a login has no identity token (id_token); is the registry registered there as a client of OpenID Connect?")
	}
	claims, err := p.verifier.Verify(ctx, raw, p.config.Issuer, []string{p.config.ClientID})
	if err != nil {
		return nil, err
	}
	if err := p.check(claims, nonce); err != nil {
		return nil, err
	}
	return claims, nil
}

// check checks that verified claims are for this login at this registry (Core 1.0,
// 3.1.3.7).
func (p *Provider) check(claims access.Claims, nonce string) error {
	got, _ := claims["nonce"].(string)
	if nonce == "" || subtle.ConstantTimeCompare([]byte(got), []byte(nonce)) != 1 {
		return invalid("the identity token is for another login (nonce): log in again")
	}
	if party, ok := claims["azp"]; party != any(p.config.ClientID) && (ok || len(Audiences(claims)) > 1) {
		return invalid("the identity token was made for another client than the registry (azp)")
	}
	return nil
}

// errorCode is the form of a provider's error codes (RFC 6749, 5.2, and its extensions).
// Nothing else of an answer is shown.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// refusal says why there was no identity token for a code. It does not wrap the library's
// errors, which hold whole answers.
func (p *Provider) refusal(err error) error {
	if unanswered, ok := errors.AsType[*url.Error](err); ok {
		return unavailable(p.config.Issuer, "%s", explain(unanswered))
	}
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return unavailable(p.config.Issuer, "its answer to a login cannot be read")
	}
	code := refused.ErrorCode
	switch {
	case !errorCode.MatchString(code):
		return unavailable(p.config.Issuer, "%s", status(refused.Response.StatusCode))
	case code == "invalid_client" || code == "unauthorized_client":
		return unavailable(p.config.Issuer, "it refuses the registry itself (%s): whoever runs that must check its client ID and secret", code)
	case code == "server_error" || code == "temporarily_unavailable" || refused.Response.StatusCode >= 500:
		return unavailable(p.config.Issuer, "it answers with the error %s", code)
	default:
		return invalid("%.200s refused the login (%s): log in again", p.config.Issuer, code)
	}
}
