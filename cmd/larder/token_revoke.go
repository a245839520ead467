package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

func newTokenRevokeCommand() *cobra.Command {
	var o reach.Options
	var owner string
	command := &cobra.Command{
		Use:   "revoke (NAME|ID... | --owner OWNER)",
		Short: "End tokens for ever",
		Long: `End tokens for ever. Name each token by its name, by its ID, by 8 or more of the
ID's first digits, or by the token itself. The token itself is not sent: the
registry gets its ID.

--owner ends all tokens of one owner, for example of somebody who has left. Write
the owner as "larder token list" shows it. For people who log in, it shows a name
and, in parentheses, their ID. Give only the ID: it never changes, and the name may
have changed.

A token ends at once on a single node, and within 60 seconds on AWS. A link to an
archive that a client already has works until it expires: for 15 minutes, or on AWS
for UrlLifetime.
` + whichAccess,
		Example: `  larder token revoke ci
  larder token revoke 3f2a90c1 --stack acme-registry
  larder token revoke --owner 00u1abc`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (owner == "") {
				return errors.New("say which tokens end: by their names or IDs, or by their --owner")
			}
			return revokeTokens(cmd, o, args, owner)
		},
	}
	command.Flags().StringVar(&owner, "owner", "", "end all tokens of this `owner`")
	addRegistryFlags(command, &o)
	return command
}

// revokeTokens revokes the tokens that are named, or else those of an owner.
func revokeTokens(cmd *cobra.Command, o reach.Options, named []string, owner string) error {
	registry, err := findRegistry(cmd, o)
	if err != nil {
		return err
	}
	if owner != "" {
		if named, err = tokensOf(cmd, registry, owner); err != nil {
			return err
		}
	}
	for _, which := range named {
		if err := revokeToken(cmd, registry, which, o.Stack != ""); err != nil {
			return err
		}
	}
	return nil
}

// tokensOf lists the IDs of an owner's tokens that have not expired: at least one, or
// an error.
func tokensOf(cmd *cobra.Command, registry *reach.Registry, owner string) (ids []string, err error) {
	now := time.Now()
	for t, err := range allTokens(cmd, registry) {
		if err != nil {
			return nil, err
		}
		if isOwner(t, owner) && !t.Expired(now) {
			ids = append(ids, t.ID.String())
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no valid token has the owner %.200q: \"larder token list --all\" shows the owners", owner)
	}
	return ids, nil
}

// isOwner says whether a token is an owner's. A person may be named by the ID that
// the identity provider has for them (sub), at the end of the owner.
func isOwner(t access.Token, owner string) bool {
	return t.Owner == owner || t.Origin == access.ByLogin && strings.HasSuffix(t.Owner, " ("+owner+")")
}

func revokeToken(cmd *cobra.Command, registry *reach.Registry, which string, onAWS bool) error {
	if id, err := access.ParseToken(which); err == nil {
		which = id.String()
	}
	request := admin.RevokeToken{Which: which}
	if err := request.Validate(); err != nil { // a token with a slip in it
		return err
	}
	answer, err := registry.Ask(cmd.Context(), control.Request{Access: &admin.Request{RevokeToken: &request}})
	if err != nil {
		return err
	}
	when := "at once"
	if onAWS {
		when = "within 60 seconds"
	}
	t := answer.Access.Token
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "the token %q of %s (%s) is revoked, which takes effect %s\n", t.Name, t.Owner, t.ID.Short(), when)
	return err
}
