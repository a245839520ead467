// Command download tells of one version of a module or a provider: what there is to
// say of it, and where its archive or packages are.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/config"
	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
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
	cfg, err := config.Read(os.Getenv, config.Table, config.Bucket, config.Hostname, config.Auth, config.LoginIssuer, config.URLLifetime)
	if err != nil {
		return nil, err
	}
	reader, err := cfg.Reader(logger)
	if err != nil {
		return nil, err
	}
	bucket, err := s3blob.New(s3blob.Config{
		Bucket: cfg.Bucket, Region: cfg.Region, Credentials: cfg.Credentials,
		Endpoint: cfg.S3Endpoint, PathStyle: cfg.S3Endpoint != "", URLLifetime: cfg.URLLifetime,
	})
	if err != nil {
		return nil, err
	}
	return protocol.New(protocol.Config{
		Reader: reader, Presigner: bucket, Hostname: cfg.Hostname, Open: cfg.Open, Login: cfg.LoginIssuer != "", Logger: logger,
	}), nil
}
