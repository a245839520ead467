// Command catalog lists, searches and describes what there is, also to assistants.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/larder-registry/larder/functions/internal/documents"
	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/reading"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/assembly/assistants"
	"github.com/larder-registry/larder/internal/assembly/clients"
)

func main() {
	logger := jsonlog.Start()
	handler, err := newHandler(logger)
	if err != nil {
		logger.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	gateway.ServeBodies(handler)
}

func newHandler(logger *slog.Logger) (http.Handler, error) {
	env, err := variables.Read(os.Getenv, variables.Table, variables.Bucket, variables.Hostname, variables.Auth, variables.LoginIssuer)
	if err != nil {
		return nil, err
	}
	answers, err := reading.New(env, logger)
	if err != nil {
		return nil, err
	}
	if answers.Documents, err = documents.New(env); err != nil {
		return nil, err
	}
	answers.Assistants = assistants.New
	return clients.New(answers), nil
}
