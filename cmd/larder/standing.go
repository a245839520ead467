package main

import (
	"fmt"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/spf13/cobra"
)

// standingText is part of the help of all three commands.
const standingText = `
ADDRESS is a provider, namespace/type, a mirrored provider, hostname/namespace/type,
or a module, namespace/name/system. The bytes, checksums and signatures of the
version do not change.
` + whichRegistry

func newDeprecateCommand() *cobra.Command {
	var o reach.Options
	var message string
	command := &cobra.Command{
		Use:   "deprecate ADDRESS VERSION --message TEXT",
		Short: "Warn those who use a version of a provider or module",
		Long: `Warn those who use a version of a provider or module.

The version stays listed and is installed as before. Terraform and OpenTofu print
the message of a provider's version at "init", when they install any version of that
provider. They print no message about modules. People and assistants find both
messages where they read about the version: "larder show", and the registry's pages.

A new message replaces the old one.
` + standingText,
		Example: `  larder deprecate acme/widget 1.0.0 --message "It leaks memory: use 1.0.1"
  larder deprecate acme/network/aws 1.2.3 --message "Use 2.0.0" --stack acme-registry`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return declare(cmd, o, control.Standing{Address: args[0], Version: args[1], State: registry.Deprecated, Message: message})
		},
	}
	command.Flags().StringVar(&message, "message", "", "what is wrong with it and what to use instead, in one `line`")
	addRegistryFlags(command, &o)
	checkFlags(command, needed("message"))
	return command
}

func newWithdrawCommand() *cobra.Command {
	var o reach.Options
	var message string
	command := &cobra.Command{
		Use:   "withdraw ADDRESS VERSION [--message TEXT]",
		Short: "Take a version of a provider or module off the lists",
		Long: `Take a version of a provider or module off the lists, so that nobody new uses it. It
is not deleted: the registry still serves it to a client that asks for exactly this
version.

But Terraform and OpenTofu ask for the list first, also for versions in their lock
file. So "init" fails for most users who have locked the version, until they run
"init -upgrade"; docs/operations.md says what each client does. Clients print a message
as that of a deprecation. To warn, and stop nobody, deprecate the version.

Uploading the version again does not put it back on the list: "larder restore"
does.
` + standingText,
		Example: `  larder withdraw acme/widget 1.0.0
  larder withdraw acme/network/aws 1.2.3 --message "It opens port 22 to all" --stack acme-registry`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return declare(cmd, o, control.Standing{Address: args[0], Version: args[1], State: registry.Withdrawn, Message: message})
		},
	}
	command.Flags().StringVar(&message, "message", "", "why, in one `line`: it is in the list of a provider's versions")
	addRegistryFlags(command, &o)
	return command
}

func newRestoreCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "restore ADDRESS VERSION",
		Short: "List a deprecated or withdrawn version as before",
		Long: `List a deprecated or withdrawn version of a provider or module as before, without a
message.
` + standingText,
		Example: `  larder restore acme/widget 1.0.0`,
		Args:    arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return declare(cmd, o, control.Standing{Address: args[0], Version: args[1], State: registry.Restored})
		},
	}
	addRegistryFlags(command, &o)
	return command
}

// declare declares the standing of a version.
func declare(cmd *cobra.Command, o reach.Options, s control.Standing) error {
	if err := s.Validate(); err != nil {
		return err
	}
	answer, err := ask(cmd, o, control.Request{Standing: &s})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), describeStanding(*answer.Standing))
	return err
}

func describeStanding(s control.VersionStanding) string {
	switch {
	case s.Changed:
		return fmt.Sprintf("%s is %s", s.Subject, s.State)
	case s.State == registry.Restored:
		return s.Subject + " was neither deprecated nor withdrawn"
	default:
		return fmt.Sprintf("%s was %s already", s.Subject, s.State)
	}
}
