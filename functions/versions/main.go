// Command versions lists the versions of modules and providers.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/protocol"
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
	env, err := variables.Read(os.Getenv, variables.Table, variables.Hostname, variables.Auth, variables.LoginIssuer)
	if err != nil {
		return nil, err
	}
	reader, err := env.Reader(logger)
	if err != nil {
		return nil, err
	}
	return protocol.New(protocol.Config{
		Reader: reader, Hostname: env.Hostname, Open: env.Open, Login: env.LoginIssuer != "", Logger: logger,
	}), nil
}
