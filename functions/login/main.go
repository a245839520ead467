// Command login logs people in, gives tokens to them and to pipelines, and answers
// operators about tokens and rules of trust.
package main

import (
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/parameter"
	"github.com/larder-registry/larder/functions/internal/signin"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/assembly/clients"
	"github.com/larder-registry/larder/internal/assembly/tokens"
	"github.com/larder-registry/larder/pkg/identity"
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
	catalog, err := env.Catalog()
	if err != nil {
		return nil, err
	}
	provider, err := provider(env)
	if err != nil {
		return nil, err
	}
	given, err := tokens.New(tokens.Config{Store: catalog.Access(), Host: env.Host, Provider: provider, Logger: logger})
	if err != nil {
		return nil, err
	}
	return signin.New(signin.Config{
		Handler: clients.New(clients.Config{SignIn: given.SignIn, LoginIssuer: env.LoginIssuer, Logger: logger}),
		Answer:  given.Operators.Handle,
	}), nil
}

// provider is the configuration of the provider that people log in with.
func provider(env variables.Values) (identity.ProviderConfig, error) {
	p := identity.ProviderConfig{Issuer: env.LoginIssuer, ClientID: env.LoginClientID, Scopes: strings.Fields(env.LoginScopes)}
	if p.Issuer != "" && p.ClientID == "" {
		return p, errors.New("LARDER_LOGIN_CLIENT_ID is not set: LARDER_LOGIN_ISSUER needs it")
	}
	if env.LoginSecretName != "" {
		p.Secret = parameter.New(env, env.LoginSecretName).Value
	}
	return p, nil
}
