// Package reading has what the functions that answer from the table have in common.
package reading

import (
	"log/slog"

	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/assembly/clients"
	"github.com/larder-registry/larder/pkg/catalog"
)

// New is the configuration of a handler that answers from the table and its tokens. A token
// is looked up in the same request as the data, and then remembered for a while. New sends
// no request.
func New(v variables.Values, log *slog.Logger) (clients.Config, error) {
	table, err := v.Catalog()
	if err != nil {
		return clients.Config{}, err
	}
	return clients.Config{
		Catalog: table, Directory: table, Tokens: table.Access(), Remember: catalog.MaxRemember,
		Hostname: v.Hostname, Open: v.Open, LoginIssuer: v.LoginIssuer, Logger: log,
	}, nil
}
