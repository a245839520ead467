package main

import (
	"errors"
	"fmt"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/spf13/cobra"
)

func newTrustAddCommand() *cobra.Command {
	var o reach.Options
	var r ruleFlags
	command := &cobra.Command{
		Use:   "add NAME (--issuer URL --audience TEXT | --login) --claim NAME=PATTERN (--scope SCOPE | --upload NAMESPACE)",
		Short: "Add a rule that gives tokens to some pipelines or people",
		Long: `Trust what an issuer of identity tokens says of some pipelines, or with --login what
the company's identity provider says of some people. A pipeline or person gets a token
with the scopes of the rule if all its claims fit. If several rules fit, the token has
the scopes of all, and the shortest of their lifetimes.

With --upload, pipelines get an access key for uploads to a namespace, too: on a single
node, by AWS's own clients, for up to an hour, as docs/ci.md says. On AWS, the trust policy
of an IAM role says who uploads.

A claim's pattern is its exact value. But between slashes and colons, a * is any one
part, and at the end one part or more:

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
				return errors.New("--upload is for a single node: on AWS, pipelines upload with an IAM role, whose trust policy says which pipelines may; docs/ci.md says more")
			}
			if _, err := askAccess(cmd, o, admin.Request{AddRule: &rule}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the rule %s gives %s %s that are valid for %s\n", rule.Name, rule.Use, grants(rule), formatLifetime(rule.Lifetime))
			return err
		},
	}
	r.add(command)
	addRegistryFlags(command, &o)
	return command
}

// grants names what a rule gives.
func grants(rule access.Rule) string {
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

// ruleFlags describe the rule to add.
type ruleFlags struct {
	issuer, audience, lifetime string
	github, gitlab, login      bool
	claims, scopes, uploads    []string
}

func (r *ruleFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&r.issuer, "issuer", "", "the `URL` of the issuer, exactly as in the claim iss")
	flags.BoolVar(&r.github, "github", false, "GitHub Actions: --issuer "+github)
	flags.BoolVar(&r.gitlab, "gitlab", false, "GitLab CI/CD on gitlab.com: --issuer "+gitlab)
	flags.BoolVar(&r.login, "login", false, "people who log in")
	flags.StringVar(&r.audience, "audience", "", "the `audience` of the pipelines' identity tokens: usually https:// and the registry's host")
	flags.StringArrayVar(&r.claims, "claim", nil, "a claim that must fit, as `name=pattern`; may be repeated, and then all must fit")
	flags.StringArrayVar(&r.scopes, "scope", nil, "a `scope` of the tokens; may be repeated")
	flags.StringArrayVar(&r.uploads, "upload", nil, "a `namespace` to which pipelines may upload; may be repeated")
	flags.StringVar(&r.lifetime, "lifetime", "", "`how long` a token or access key is valid, in days, hours or minutes; without it, 15m for pipelines and 90d for people")
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
