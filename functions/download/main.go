// Command download tells of one version of a module or a provider: what there is to
// say of it, and where its archive or packages are.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/variables"
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
	env, err := variables.Read(os.Getenv, variables.Table, variables.Bucket, variables.Hostname, variables.Auth, variables.LoginIssuer, variables.URLLifetime)
	if err != nil {
		return nil, err
	}
	reader, err := env.Reader(logger)
	if err != nil {
		return nil, err
	}
	bucket, err := s3blob.New(s3blob.Config{
		Bucket: env.Bucket, Region: env.Region, Credentials: env.Credentials,
		Endpoint: env.S3Endpoint, PathStyle: env.S3Endpoint != "", URLLifetime: env.URLLifetime,
	})
	if err != nil {
		return nil, err
	}
	return protocol.New(protocol.Config{
		Reader: reader, Presigner: bucket, Hostname: env.Hostname, Open: env.Open, Login: env.LoginIssuer != "", Logger: logger,
	}), nil
}
