package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
)

func newTrustCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "trust",
		Short: "Say which pipelines and people get tokens, and for what",
		Long: `Say which pipelines and people get tokens of the registry for what others say of
them: a pipeline for the identity token of its CI system, a person who logs in for
what the company's identity provider says. Whoever no rule fits gets none.`,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	command.AddCommand(newTrustAddCommand(), newTrustListCommand(), newTrustRemoveCommand())
	return command
}

func newTrustAddCommand() *cobra.Command {
	var o reach.Options
	var r ruleFlags
	command := &cobra.Command{
		Use:   "add NAME (--issuer URL --audience TEXT | --login) --claim NAME=PATTERN (--scope SCOPE | --upload NAMESPACE)",
		Short: "Trust what an issuer says of some pipelines, or the provider of some people",
		Long: `Trust what an issuer of identity tokens says of some pipelines, or with --login what
the company's identity provider says of some people; and give those whom all
claims of a rule fit a token with its scopes. Whom several rules fit gets the
scopes of all, for the shortest of their lifetimes.

With --upload, pipelines get an access key for uploads to a namespace, too: on a single
node, by AWS's own clients, for up to an hour, as docs/ci.md says. On AWS, the trust policy
of an IAM role says who uploads.

A claim's pattern is its value, letter by letter. Of the parts between slashes and
colons each may be a * for any one part, and at the end for one or more:

  repository_owner=acme
  sub=repo:acme/*
  sub=repo:acme/*:ref:refs/heads/main
  groups=platform
` + scopeText + whichAccess,
		Example: `  larder trust add github --github --audience https://registry.example.com --claim repository_owner=acme --scope "read *"
  larder trust add gitlab --gitlab --audience https://registry.example.com --claim namespace_path=acme --scope "read modules:acme/*"
  larder trust add release --github --audience https://registry.example.com --claim repository=acme/widget --claim ref_type=tag --upload acme
  larder trust add platform --login --claim groups=platform --scope "read *"`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rule, err := r.rule(args[0])
			if err != nil {
				return err
			}
			if len(rule.Uploads) > 0 && o.Stack != "" {
				return errors.New("--upload is for a single node: on AWS, pipelines upload with an IAM role, whose trust policy says which do; docs/ci.md says more")
			}
			if _, err := askAccess(cmd, o, admin.Request{AddRule: &rule}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the rule %s gives %s %s that are good for %s\n", rule.Name, rule.Use, given(rule), formatLifetime(rule.Lifetime))
			return err
		},
	}
	r.add(command)
	addRegistryFlags(command, &o)
	return command
}

// given is what a rule gives.
func given(rule access.Rule) string {
	switch {
	case len(rule.Uploads) == 0:
		return "tokens"
	case len(rule.Scopes) == 0:
		return "access keys"
	default:
		return "tokens and access keys"
	}
}

// The issuers of identity tokens that have a flag of their own.
const (
	github = "https://token.actions.githubusercontent.com"
	gitlab = "https://gitlab.com"
)

// ruleFlags say what a rule is to be.
type ruleFlags struct {
	issuer, audience, lifetime string
	github, gitlab, login      bool
	claims, scopes, uploads    []string
}

func (r *ruleFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&r.issuer, "issuer", "", "the `URL` of the issuer, exactly as it stands in the claim iss")
	flags.BoolVar(&r.github, "github", false, "GitHub Actions: --issuer "+github)
	flags.BoolVar(&r.gitlab, "gitlab", false, "GitLab CI/CD on gitlab.com: --issuer "+gitlab)
	flags.BoolVar(&r.login, "login", false, "people who log in")
	flags.StringVar(&r.audience, "audience", "", "`what` pipelines ask their identity tokens to be for, such as https:// and the registry's host")
	flags.StringArrayVar(&r.claims, "claim", nil, "what a claim must be, as `name=pattern`; several flags for several, which all must fit")
	flags.StringArrayVar(&r.scopes, "scope", nil, "a `scope` that the tokens have; several flags for several")
	flags.StringArrayVar(&r.uploads, "upload", nil, "a `namespace` to which pipelines may upload; several flags for several")
	flags.StringVar(&r.lifetime, "lifetime", "", "`how long` a token or access key is good, in days, hours or minutes; without it, 15m for pipelines and 90d for people")
	checkFlags(command, oneOf("issuer", "github", "gitlab", "login"), notTogether("audience", "login"), needed("claim"), someOf("scope", "upload"))
}

func (r *ruleFlags) rule(name string) (rule access.Rule, err error) {
	rule = access.Rule{Name: name, Use: access.ForPipelines, Issuer: r.issuer, Audience: r.audience}
	lifetime := "15m"
	switch {
	case r.github:
		rule.Issuer = github
	case r.gitlab:
		rule.Issuer = gitlab
	case r.login:
		rule.Use, lifetime = access.ForPeople, "90d"
	}
	if r.lifetime != "" {
		lifetime = r.lifetime
	}
	if rule.Lifetime, err = parseLifetime(lifetime); err != nil {
		return rule, fmt.Errorf("--lifetime: %w", err)
	}
	for _, text := range r.claims {
		claim, err := access.ParseClaim(text)
		if err != nil {
			return rule, fmt.Errorf("--claim: %w", err)
		}
		rule.Claims = append(rule.Claims, claim)
	}
	if len(r.scopes) > 0 {
		if rule.Scopes, err = access.ParseScopes(r.scopes); err != nil {
			return rule, fmt.Errorf("--scope: %w", err)
		}
	}
	rule.Uploads = r.uploads
	return rule, rule.Validate()
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

// remaining says of what a removed rule has given how long that is good, and what ends it.
func remaining(rule access.Rule) (text string) {
	if len(rule.Scopes) > 0 {
		text = fmt.Sprintf("tokens that it gave are good until they expire, in %s at the latest: "+
			"\"larder token list --all\" lists them, and \"larder token revoke\" ends them\n", formatLifetime(rule.Lifetime))
	}
	if len(rule.Uploads) > 0 {
		text += "access keys that it gave are good until they expire, in an hour at the latest: \"larder keys rotate-access\" ends them\n"
	}
	return text
}

func newTrustRemoveCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "Trust nobody by a rule any more",
		Long: `Trust nobody by a rule any more. The tokens that it has given stay good until they
expire; "larder token list --all" lists them, and "larder token revoke" ends them
sooner. Access keys that it has given are good for an hour at most, and "larder keys
rotate-access" ends those.
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
