package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"text/tabwriter"
	"time"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/spf13/cobra"
)

func newTokenListCommand() *cobra.Command {
	var o reach.Options
	var all, asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the tokens that are valid, and those that expired lately",
		Long: `List the tokens that "larder token create" made, and those that people got when they
logged in, until a week after they have expired. The tokens of pipelines, which live
for minutes, are only counted.

Times are in UTC. The last use is a day.
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
			return show(cmd, asJSON, map[string][]access.Token{"tokens": tokens}, func(out io.Writer) error {
				return writeTokens(out, tokens, ofPipelines, time.Now())
			})
		},
	}
	addRegistryFlags(command, &o)
	command.Flags().BoolVar(&all, "all", false, "list the tokens of pipelines, too")
	command.Flags().BoolVar(&asJSON, "json", false, "write the tokens as one JSON document, with their whole IDs")
	return command
}

// listTokens lists all tokens. Unless all are wanted, it only counts the valid tokens
// of pipelines.
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

// allTokens asks for one page of tokens after the other.
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
				yield(access.Token{}, errors.New("the registry makes no progress with the list"))
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
