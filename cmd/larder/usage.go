package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arguments bounds the number of arguments of a command. Cobra's own rules, for
// arguments and for flags, report in words for programmers.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("too few arguments: use %s", cmd.UseLine())
		case len(args) > most:
			return fmt.Errorf("too many arguments: use %s", cmd.UseLine())
		}
		return nil
	}
}

// showHelp runs a command that only has subcommands. Without it, the command would take
// a misspelt subcommand for an argument, and succeed.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// manyArguments is for commands that take any number.
const manyArguments = math.MaxInt

// explainFlag says what a flag is for, when its value cannot be read. The library's own
// words are about conversions.
func explainFlag(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	_, usage := pflag.UnquoteUsage(invalid.GetFlag())
	return fmt.Errorf("--%s: %q does not fit: %s", invalid.GetFlag().Name, invalid.GetValue(), usage)
}

// A flagRule says what is wrong with the flags that were set, or nil.
type flagRule func(flags *pflag.FlagSet) error

// checkFlags makes a command refuse flags that break a rule, before it runs.
func checkFlags(command *cobra.Command, rules ...flagRule) {
	before := command.PreRunE
	command.PreRunE = func(cmd *cobra.Command, args []string) error {
		for _, rule := range rules {
			if err := rule(cmd.Flags()); err != nil {
				return err
			}
		}
		if before == nil {
			return nil
		}
		return before(cmd, args)
	}
}

// needed requires a flag.
func needed(name string) flagRule {
	return func(flags *pflag.FlagSet) error {
		if flags.Changed(name) {
			return nil
		}
		_, usage := pflag.UnquoteUsage(flags.Lookup(name))
		return fmt.Errorf("--%s is missing: %s", name, usage)
	}
}

// oneOf requires exactly one of some flags.
func oneOf(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		if len(changed(flags, names)) == 0 {
			return errors.New("say one of " + enumerate(names, "and"))
		}
		return notTogether(names...)(flags)
	}
}

// someOf requires at least one of some flags.
func someOf(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		if len(changed(flags, names)) > 0 {
			return nil
		}
		return errors.New("say " + enumerate(names, "or"))
	}
}

// notTogether allows at most one of some flags.
func notTogether(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		set := changed(flags, names)
		if len(set) < 2 {
			return nil
		}
		return errors.New("--" + strings.Join(set, " and --") + " do not go together: say one of them")
	}
}

// together requires all of some flags, or none of them.
func together(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		set := changed(flags, names)
		for _, name := range names {
			if len(set) > 0 && !flags.Changed(name) {
				return fmt.Errorf("--%s goes with --%s, which is missing", set[0], name)
			}
		}
		return nil
	}
}

// enumerate names flags, with a word before the last one.
func enumerate(names []string, word string) string {
	last := len(names) - 1
	return "--" + strings.Join(names[:last], ", --") + " " + word + " --" + names[last]
}

// changed lists those of the flags that were set.
func changed(flags *pflag.FlagSet, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
}
