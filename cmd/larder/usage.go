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

// arguments makes a command take so many arguments. Cobra has rules of its own, for
// arguments and for flags, whose words are for those who wrote the command.
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

// showHelp is what a command runs that only has others below it. A command that runs
// nothing would take the misspelt name of one below for an argument, and succeed.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// manyArguments is for commands that take any number.
const manyArguments = math.MaxInt

// explainFlag says of a flag's value that cannot be read what the flag is for. The
// library's words are those of its conversions.
func explainFlag(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	_, usage := pflag.UnquoteUsage(invalid.GetFlag())
	return fmt.Errorf("--%s: %q does not fit: %s", invalid.GetFlag().Name, invalid.GetValue(), usage)
}

// A flagRule says what is wrong with the flags that were set. Nil: nothing.
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

// needed says that a command cannot do without a flag.
func needed(name string) flagRule {
	return func(flags *pflag.FlagSet) error {
		if flags.Changed(name) {
			return nil
		}
		_, usage := pflag.UnquoteUsage(flags.Lookup(name))
		return fmt.Errorf("--%s is missing: %s", name, usage)
	}
}

// oneOf says that one of some flags is needed, and no second one.
func oneOf(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		if len(changed(flags, names)) == 0 {
			return errors.New("say one of " + enumerate(names, "and"))
		}
		return notTogether(names...)(flags)
	}
}

// someOf says that at least one of some flags is needed.
func someOf(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		if len(changed(flags, names)) > 0 {
			return nil
		}
		return errors.New("say " + enumerate(names, "or"))
	}
}

// notTogether says that at most one of some flags may be set.
func notTogether(names ...string) flagRule {
	return func(flags *pflag.FlagSet) error {
		set := changed(flags, names)
		if len(set) < 2 {
			return nil
		}
		return errors.New("--" + strings.Join(set, " and --") + " do not go together: say one of them")
	}
}

// together says that some flags are set all, or none of them.
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

// changed are the flags of these that were set.
func changed(flags *pflag.FlagSet, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
}
