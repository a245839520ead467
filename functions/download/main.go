// Command download answers for one version of a module or a provider: its details, and
// where its archive or packages are.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/links"
	"github.com/larder-registry/larder/functions/internal/reading"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/assembly/clients"
)

func main() {
	logger := jsonlog.Start()
	handler, err := newHandler(logger)
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	gateway.Serve(handler)
}

func newHandler(logger *slog.Logger) (http.Handler, error) {
	env, err := variables.Read(os.Getenv, variables.Table, variables.Bucket, variables.Hostname, variables.Auth, variables.LoginIssuer, variables.URLLifetime)
	if err != nil {
		return nil, err
	}
	answers, err := reading.New(env, logger)
	if err != nil {
		return nil, err
	}
	if answers.Presigner, err = links.New(env); err != nil {
		return nil, err
	}
	return clients.New(answers), nil
}
