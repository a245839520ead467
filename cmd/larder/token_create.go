package main

import (
	"errors"
	"fmt"
	"os/user"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/spf13/cobra"
)

func newTokenCreateCommand() *cobra.Command {
	var o reach.Options
	var t tokenFlags
	command := &cobra.Command{
		Use:   "create --name NAME --scope SCOPE",
		Short: "Make a token, and print it this once",
		Long: `Make a token and print it, alone on a line. It is printed this once: the registry
keeps only a hash of it. The token is made here, and does not leave this machine.
` + scopeText + whichAccess,
		Example: `  larder token create --name ci --scope "read *"
  larder token create --name laptop --scope "read providers:acme/*" --scope "read modules:acme/*" --expires 30d
  larder token create --name ci --scope "read *" --stack acme-registry`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret, request, err := t.request()
			if err != nil {
				return err
			}
			return createToken(cmd, o, secret, request)
		},
	}
	t.add(command)
	addRegistryFlags(command, &o)
	return command
}

// tokenFlags describe the token to make.
type tokenFlags struct {
	name, owner, expires string
	scopes               []string
}

func (t *tokenFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&t.name, "name", "", "a `name` for the token, which no other token has")
	flags.StringArrayVar(&t.scopes, "scope", nil, "a `scope` of the token; may be repeated")
	flags.StringVar(&t.expires, "expires", "90d", "`how long` the token is good, in days, hours or minutes like 90d, 12h or 30m, or never")
	flags.StringVar(&t.owner, "owner", "", "`whom` to ask about the token; without it, the user who runs the command")
	checkFlags(command, needed("name"), needed("scope"))
}

// request makes the text of a token, and the request to keep its ID.
func (t *tokenFlags) request() (secret string, r admin.CreateToken, err error) {
	r.Name, r.Owner = t.name, t.owner
	if r.Scopes, err = access.ParseScopes(t.scopes); err != nil {
		return "", r, fmt.Errorf("--scope: %w", err)
	}
	if r.Forever = t.expires == "never"; !r.Forever {
		if r.Lifetime, err = parseLifetime(t.expires); err != nil {
			return "", r, fmt.Errorf("--expires: %w, or never", err)
		}
	}
	if r.Owner == "" {
		me, err := user.Current()
		if err != nil {
			return "", r, fmt.Errorf("find out who you are: %w; say it with --owner", err)
		}
		r.Owner = me.Username
	}
	secret, r.ID = access.NewToken()
	return secret, r, r.Validate()
}

// createToken asks for a token and prints it.
func createToken(cmd *cobra.Command, o reach.Options, secret string, r admin.CreateToken) error {
	revoke := "larder token revoke " + r.ID.String()
	answer, err := askAccess(cmd, o, admin.Request{CreateToken: &r})
	if errors.Is(err, reach.ErrUnknown) {
		return fmt.Errorf("%w; the registry may have made a token that was not printed: \"%s\" ends it, and the name is free again", err, revoke)
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), secret); err != nil {
		return fmt.Errorf("the token is made, and cannot be printed: %w; end it with \"%s\"", err, revoke)
	}
	return hint(cmd, tokenHint, formatExpiry(answer.Token.Expires))
}

// tokenHint tells a person what to do with a new token.
const tokenHint = `
That is the token; it is shown this once. It expires: %s.
Terraform and OpenTofu take it from their CLI configuration,

  credentials "registry.example.com" {
    token = "larder_…"
  }

or, if the registry's hostname has no port, from an environment variable with the
hostname in its name: TF_TOKEN_registry_example_com, with _ for a dot and __ for a hyphen.
`
