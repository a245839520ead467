package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/spf13/cobra"
)

func newTrustCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "trust",
		Short: "Say which pipelines and people get tokens, and for what",
		Long: `Say which pipelines and people get tokens of the registry: a pipeline by the identity
token of its CI system, a person who logs in by what the company's identity provider
says. Without a rule that fits, there is no token.`,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	command.AddCommand(newTrustAddCommand(), newTrustListCommand(), newTrustRemoveCommand())
	return command
}

func newTrustListCommand() *cobra.Command {
	var o reach.Options
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the rules",
		Long:  "List the rules by which pipelines and people get tokens.\n" + whichAccess,
		Example: `  larder trust list
  larder trust list --json --stack acme-registry`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := askAccess(cmd, o, admin.Request{ListRules: &admin.ListRules{}})
			if err != nil {
				return err
			}
			rules := append([]access.Rule{}, answer.Rules.Rules...) // no rules are [] in JSON, not null
			return show(cmd, asJSON, map[string][]access.Rule{"rules": rules}, func(out io.Writer) error {
				return writeRules(out, rules)
			})
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().BoolVar(&asJSON, "json", false, "write the rules as one JSON document")
	return command
}

func writeRules(out io.Writer, rules []access.Rule) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "NAME\tFOR\tISSUER\tAUDIENCE\tCLAIMS\tSCOPES\tUPLOADS\tLIFETIME")
	for _, r := range rules {
		claims := make([]string, len(r.Claims))
		for i, claim := range r.Claims {
			claims[i] = claim.String()
		}
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.Name, r.Use, r.Issuer, r.Audience, strings.Join(claims, ", "), r.Scopes, strings.Join(r.Uploads, ", "), formatLifetime(r.Lifetime))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, table.Flush())
}

// remaining says how long the tokens and keys of a removed rule stay valid, and what
// ends them.
func remaining(rule access.Rule) (text string) {
	if len(rule.Scopes) > 0 {
		text = fmt.Sprintf("tokens that it gave are valid until they expire, in %s at the latest: "+
			"\"larder token list --all\" lists them, and \"larder token revoke\" ends them\n", formatLifetime(rule.Lifetime))
	}
	if len(rule.Uploads) > 0 {
		text += "access keys that it gave are valid until they expire, in an hour at the latest: \"larder keys rotate-access\" ends them\n"
	}
	return text
}

func newTrustRemoveCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a rule",
		Long: `Remove a rule. The tokens that it has given stay valid until they expire; "larder
token list --all" lists them, and "larder token revoke" ends them sooner. Access keys
that it has given are valid for an hour at most, and "larder keys rotate-access" ends
them sooner.
` + whichAccess,
		Example: `  larder trust remove github`,
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := admin.RemoveRule{Name: args[0]}
			if err := request.Validate(); err != nil {
				return err
			}
			answer, err := askAccess(cmd, o, admin.Request{RemoveRule: &request})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the rule %s is removed\n%s", args[0], remaining(*answer.Rule))
			return err
		},
	}
	addRegistryFlags(command, &o)
	return command
}
