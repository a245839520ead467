// Command fetch is the mirror of a registry that pulls through: it answers requests to the
// mirror, and fetches from other registries what is missing.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/pullmirror"
	"github.com/larder-registry/larder/functions/internal/variables"
)

func main() {
	logger := jsonlog.Start()
	env, err := variables.Read(os.Getenv, variables.Table, variables.Bucket, variables.Hostname, variables.Auth, variables.LoginIssuer, variables.URLLifetime,
		variables.FetchQueue, variables.Upstreams, variables.Platforms)
	var function *pullmirror.Function
	if err == nil {
		function, err = pullmirror.Open(env, nil, logger)
	}
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function.Handle)
}
