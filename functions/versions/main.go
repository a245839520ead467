// Command versions lists the versions of modules and providers.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/config"
	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
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
	cfg, err := config.Read(os.Getenv, config.Table, config.Hostname, config.Auth, config.LoginIssuer)
	if err != nil {
		return nil, err
	}
	reader, err := cfg.Reader(logger)
	if err != nil {
		return nil, err
	}
	return protocol.New(protocol.Config{
		Reader: reader, Hostname: cfg.Hostname, Open: cfg.Open, Login: cfg.LoginIssuer != "", Logger: logger,
	}), nil
}
