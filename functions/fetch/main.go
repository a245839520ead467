// Command fetch is the mirror of a registry that pulls through: it answers what
// clients ask the mirror, and fetches from other registries what is missing.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/larder-registry/larder/functions/internal/config"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/mirror"
)

func main() {
	logger := jsonlog.Start()
	cfg, err := config.Read(os.Getenv, config.Table, config.Bucket, config.Hostname, config.Auth, config.LoginIssuer, config.URLLifetime,
		config.FetchQueue, config.Upstreams, config.Platforms)
	var m *mirror.Mirror
	if err == nil {
		m, err = mirror.Open(cfg, nil, logger)
	}
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(m.Handle)
}
