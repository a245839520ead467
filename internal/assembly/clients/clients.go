// Package clients puts together the HTTP handler that answers Terraform, OpenTofu, browsers
// and pipelines.
package clients

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/protocol"
)

// Config configures a handler. Without what some routes need, the handler does not have these
// routes.
type Config struct {
	// Catalog is the catalog to read, with Tokens and Remember as in [catalog.ReaderConfig].
	// It may be nil.
	Catalog  catalog.Catalog
	Tokens   catalog.TokenUses
	Remember time.Duration

	// Presigner, Origins and SignIn are those of [protocol.Config].
	Presigner protocol.Presigner
	Origins   protocol.Origins
	SignIn    http.Handler

	// Documents has what was read from archives, and Directory is the index over all
	// addresses, with the same tokens as the catalog. Without both nothing is listed, found
	// or described.
	Documents browse.Documents
	Directory catalog.Directory

	// Assistants makes what answers the messages of assistants, over what the handler reads.
	// Nil: nothing answers them.
	Assistants func(*catalog.Reader, *browse.Browser) protocol.Assistant

	// Hostname is the registry's own hostname, under which its mirror has its own providers.
	// Empty: the mirror does not have them.
	Hostname string

	// Open lets everybody read.
	Open bool

	// LoginIssuer is the URL of the provider that people log in with. Empty: they cannot.
	LoginIssuer string

	// Logger gets a line for every request and for every decision. Required.
	Logger *slog.Logger
}

// New makes the handler that answers clients.
func New(c Config) http.Handler {
	answers := protocol.Config{
		Presigner: c.Presigner, Origins: c.Origins, SignIn: c.SignIn,
		Hostname: c.Hostname, Open: c.Open, Login: c.LoginIssuer != "", Logger: c.Logger,
	}
	if c.Catalog != nil {
		answers.Reader = catalog.NewReader(catalog.ReaderConfig{
			Catalog: c.Catalog, Directory: c.Directory, TokenUses: c.Tokens, Remember: c.Remember, Logger: c.Logger,
		})
		if c.Documents != nil && c.Directory != nil {
			answers.Browser = browse.New(browse.Config{Catalog: answers.Reader, Directory: directory.NewView(answers.Reader), Documents: c.Documents})
			if c.Assistants != nil {
				answers.Assistant = c.Assistants(answers.Reader, answers.Browser)
			}
		}
	}
	return protocol.New(answers)
}
