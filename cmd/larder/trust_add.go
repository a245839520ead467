package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
)

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
