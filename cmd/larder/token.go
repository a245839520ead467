package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/user"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
)

// scopeText is what the help of commands says that give scopes.
const scopeText = `
A scope is "read ", what may be read, and which of it; a * stands for all that may
come in its place:

  read *                                          everything
  read providers:acme/*                           providers of the namespace acme
  read modules:acme/network/aws                   one module
  read mirror:registry.terraform.io/hashicorp/*   what is mirrored of hashicorp
`

// whichAccess is what the help of a command says that asks a registry about
// tokens or rules of trust.
const whichAccess = `
The registry is the one that "larder serve" runs from the data folder, as the same
user; or with --stack a deployment on AWS, by the name of its bucket. A deployment
is asked with your own credentials, found as the AWS CLI finds them, which need
lambda:InvokeFunction on its function <name>-login, as its policy <name>-access
allows it. AWS_ENDPOINT_URL_LAMBDA leads to another server.`

func newTokenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens that reading needs",
		Long: `Make, list and revoke the tokens that reading a registry needs, unless it is open
to all. Pipelines can do without a token of this kind, and people can log in:
see "larder trust".`,
		Args: cobra.NoArgs,
		RunE: showHelp,
	}
	command.AddCommand(newTokenCreateCommand(), newTokenListCommand(), newTokenRevokeCommand())
	return command
}

func newTokenCreateCommand() *cobra.Command {
	var o reach.Options
	var t tokenFlags
	command := &cobra.Command{
		Use:   "create --name NAME --scope SCOPE",
		Short: "Make a token, and print it this once",
		Long: `Make a token and print it, alone on a line. It is printed this once: the registry
keeps a hash of it, from which nobody can work it out. The token is made here, and
does not leave this machine.
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
			registry, err := findRegistry(cmd, o)
			if err != nil {
				return err
			}
			return createToken(cmd, registry, secret, request)
		},
	}
	t.add(command)
	addRegistryFlags(command, &o)
	return command
}

// tokenFlags say what a token is to be.
type tokenFlags struct {
	name, owner, expires string
	scopes               []string
}

func (t *tokenFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&t.name, "name", "", "a `name` to know the token by, which no other one has")
	flags.StringArrayVar(&t.scopes, "scope", nil, "a `scope` that the token has; several flags for several")
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
func createToken(cmd *cobra.Command, registry *reach.Registry, secret string, r admin.CreateToken) error {
	revoke := "larder token revoke " + r.ID.String()
	answer, err := registry.Ask(cmd.Context(), control.Request{Access: &admin.Request{CreateToken: &r}})
	if errors.Is(err, reach.ErrUnknown) {
		return fmt.Errorf("%w; the registry may have made a token that nobody has got: \"%s\" ends it, and the name is free again", err, revoke)
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), secret); err != nil {
		return fmt.Errorf("the token is made, and cannot be written: %w; end it with \"%s\"", err, revoke)
	}
	if isatty.IsTerminal(os.Stdout.Fd()) {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), tokenHint, formatExpiry(answer.Access.Token.Expires))
	}
	return err
}

// tokenHint is what a person is told who has got a token.
const tokenHint = `
That is the token; it is shown this once. It expires: %s.
Terraform and OpenTofu take it from their CLI configuration,

  credentials "registry.example.com" {
    token = "larder_…"
  }

or, of a registry without a port in its hostname, from an environment variable that
is called as the hostname is: TF_TOKEN_registry_example_com, with __ for a hyphen.
`

func newTokenListCommand() *cobra.Command {
	var o reach.Options
	var all, asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the tokens that are good, and those that expired lately",
		Long: `List the tokens that were made by "larder token create", and those that people got
when they logged in, also a week after they have expired. How many tokens
pipelines have, which live for minutes, is counted.

Times are in UTC, and that of the last use is a day.
` + whichAccess,
		Example: `  larder token list
  larder token list --all --json --stack acme-registry`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			registry, err := findRegistry(cmd, o)
			if err != nil {
				return err
			}
			tokens, ofPipelines, err := listTokens(cmd, registry, all)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), map[string][]access.Token{"tokens": tokens})
			}
			return writeTokens(cmd.OutOrStdout(), tokens, ofPipelines, time.Now())
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().BoolVar(&all, "all", false, "list the tokens of pipelines, too")
	command.Flags().BoolVar(&asJSON, "json", false, "write the tokens as one JSON document, with their whole IDs")
	return command
}

// listTokens is all tokens; unless all are wanted, those of pipelines are counted
// that are good.
func listTokens(cmd *cobra.Command, registry *reach.Registry, all bool) (tokens []access.Token, ofPipelines int, err error) {
	now := time.Now()
	tokens = []access.Token{}
	for t, err := range allTokens(cmd, registry) {
		switch {
		case err != nil:
			return nil, 0, err
		case all || t.Origin != access.ByExchange:
			tokens = append(tokens, t)
		case !t.Expired(now):
			ofPipelines++
		}
	}
	return tokens, ofPipelines, nil
}

// allTokens asks for one page after the other.
func allTokens(cmd *cobra.Command, registry *reach.Registry) iter.Seq2[access.Token, error] {
	return func(yield func(access.Token, error) bool) {
		for list := new(admin.ListTokens); ; {
			answer, err := registry.Ask(cmd.Context(), control.Request{Access: &admin.Request{ListTokens: list}})
			if err != nil {
				yield(access.Token{}, err)
				return
			}
			page := answer.Access.Tokens
			for _, t := range page.Tokens {
				if !yield(t, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			if page.Next == list.After {
				yield(access.Token{}, errors.New("the registry does not get on with the list"))
				return
			}
			list = &admin.ListTokens{After: page.Next}
		}
	}
}

func writeTokens(out io.Writer, tokens []access.Token, ofPipelines int, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "NAME\tID\tOWNER\tORIGIN\tSCOPES\tEXPIRES\tLAST USED")
	for _, t := range tokens {
		expires, used := formatExpiry(t.Expires), string(t.Used)
		if t.Expired(now) {
			expires += " (expired)"
		}
		if used == "" {
			used = "never"
		}
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.ID.Short(), t.Owner, t.Origin, t.Scopes, expires, used)
		err = errors.Join(err, failed)
	}
	err = errors.Join(err, table.Flush())
	if ofPipelines > 0 {
		_, failed := fmt.Fprintf(out, "\nand %d of pipelines, which --all lists\n", ofPipelines)
		err = errors.Join(err, failed)
	}
	return err
}

func newTokenRevokeCommand() *cobra.Command {
	var o reach.Options
	var owner string
	command := &cobra.Command{
		Use:   "revoke (NAME|ID... | --owner OWNER)",
		Short: "End tokens for ever",
		Long: `End tokens for ever. Name each token by its name, by its ID, by 8 or more of the
ID's first digits, or by the token itself. The token itself is not sent: the
registry gets its ID.

--owner ends all tokens of one owner, for instance of somebody who has left. Write
the owner as "larder token list" shows it. For people who log in, it shows a name
and, in parentheses, what identifies them. Give the part in parentheses alone: it
never changes, and the name may have changed.

A token ends at once on a single node, and within 60 seconds on AWS. A link
to an archive that a client already has is good until it expires: for 15 minutes,
or on AWS for UrlLifetime.
` + whichAccess,
		Example: `  larder token revoke ci
  larder token revoke 3f2a90c1 --stack acme-registry
  larder token revoke --owner 00u1abc`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == (owner == "") {
				return errors.New("say which tokens end: by their names or IDs, or by their --owner")
			}
			registry, err := findRegistry(cmd, o)
			if err != nil {
				return err
			}
			if owner != "" {
				args, err = tokensOf(cmd, registry, owner)
			}
			if err != nil {
				return err
			}
			for _, which := range args {
				if err := revokeToken(cmd, registry, which, o.Stack != ""); err != nil {
					return err
				}
			}
			return nil
		},
	}
	command.Flags().StringVar(&owner, "owner", "", "end all tokens of this `owner`")
	addRegistryFlags(command, &o)
	return command
}

// tokensOf is the IDs of the tokens of an owner that have not expired. There is
// at least one.
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
		return nil, fmt.Errorf("no token that is good has the owner %.200q: \"larder token list --all\" says the owners", owner)
	}
	return ids, nil
}

// isOwner says whether a token is an owner's. That of a person may be named by
// what the provider of identities knows them by (sub), at the end of the owner.
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

// maxLifetime bounds lifetimes to what is not a mistake, and a [time.Duration].
const maxLifetime = 100 * 366 * 24 * time.Hour

// parseLifetime reads how long something is to be good: a number and d, h or m.
func parseLifetime(text string) (access.Duration, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute}
	number := strings.TrimRight(text, "dhm")
	unit := units[strings.TrimPrefix(text, number)]
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 || unit == 0 || n > uint64(maxLifetime/unit) {
		return 0, fmt.Errorf("%.100q is not how long something lasts: write a number of days, hours or minutes, like 90d, 12h or 30m", text)
	}
	return access.Duration(time.Duration(n) * unit), nil
}

// formatExpiry is when something expires, which is never for the zero time.
func formatExpiry(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return formatTime(t)
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// formatLifetime is a lifetime as [parseLifetime] reads it, or, where that takes
// more than one unit, as any duration is written.
func formatLifetime(d access.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if whole := time.Duration(d); whole%unit.length == 0 {
			return strconv.FormatInt(int64(whole/unit.length), 10) + unit.name
		}
	}
	return d.String()
}
