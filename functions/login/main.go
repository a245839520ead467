// Command login logs people in and gives tokens, to them and to pipelines, and
// does what operators ask about tokens and rules of trust.
package main

import (
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/parameter"
	"github.com/larder-registry/larder/functions/internal/signin"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/identity"
	"github.com/larder-registry/larder/pkg/login"
	"github.com/larder-registry/larder/pkg/protocol"
)

func main() {
	logger := jsonlog.Start()
	function, err := newFunction(logger)
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function.Handle)
}

func newFunction(logger *slog.Logger) (*signin.Function, error) {
	env, err := variables.Read(os.Getenv, variables.Table, variables.Host,
		variables.LoginIssuer, variables.LoginClientID, variables.LoginSecretName, variables.LoginScopes)
	if err != nil {
		return nil, err
	}
	store, err := env.Catalog()
	if err != nil {
		return nil, err
	}
	verifier := identity.NewVerifier(identity.Config{})
	signIn := login.Config{Store: store, Identities: verifier, Host: env.Host, Logger: logger}
	if env.LoginIssuer != "" {
		if err := setProvider(&signIn, verifier, env); err != nil {
			return nil, err
		}
	}
	return signin.New(signin.Config{
		Handler: protocol.New(protocol.Config{SignIn: login.New(signIn), Login: env.LoginIssuer != "", Logger: logger}),
		Answer:  admin.New(store, access.LogTo(logger)).Handle,
	}), nil
}

// setProvider says with whom people log in.
func setProvider(c *login.Config, verifier *identity.Verifier, env variables.Values) error {
	issuer, err := url.Parse(env.LoginIssuer)
	if err != nil {
		return err
	}
	if env.LoginClientID == "" {
		return errors.New("LARDER_LOGIN_CLIENT_ID is not set: LARDER_LOGIN_ISSUER needs it")
	}
	provider := identity.ProviderConfig{
		Issuer: env.LoginIssuer, ClientID: env.LoginClientID, Scopes: strings.Fields(env.LoginScopes),
		RedirectURL: "https://" + env.Host + protocol.LoginCallbackPath,
	}
	if env.LoginSecretName != "" {
		provider.Secret = parameter.New(env, env.LoginSecretName).Value
	}
	c.Provider, c.ProviderName = verifier.Provider(provider), issuer.Host
	return nil
}
