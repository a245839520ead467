package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/registry"
)

// standingText is what the help of all three commands says.
const standingText = `
ADDRESS is that of a provider, namespace/type, of a mirrored one,
hostname/namespace/type, or of a module, namespace/name/system. Bytes, checksums
and signatures of a version stay as they are, whatever it is declared to be.
` + whichRegistry

func newDeprecateCommand() *cobra.Command {
	var o reach.Options
	var message string
	command := &cobra.Command{
		Use:   "deprecate ADDRESS VERSION --message TEXT",
		Short: "Warn those who use a version of a provider or module",
		Long: `Warn those who use a version of a provider or module.

The version stays listed and is installed as before. Terraform and OpenTofu print
the message of a provider's version when they install a version of that provider,
whichever it is, at "init". Neither of them tells about modules: of a module's
version the message is in the registry's answers alone.

Another message takes the place of the one before.
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
		Long: `Take a version of a provider or module off the lists, so that nobody comes to use
it any more. It is not deleted: whoever asks for exactly this version is given it,
as before.

But Terraform and OpenTofu ask for the list first, also for what their lock file
names. So "init" of most who have the version locked fails, until they move on with
"init -upgrade"; docs/operations.md says what each of them does. A message tells
them why, as that of a deprecation does. To warn, and stop nobody, deprecate the
version.

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
	command.Flags().StringVar(&message, "message", "", "why, in one `line`: whoever asks for the list of a provider's versions is told")
	addRegistryFlags(command, &o)
	return command
}

func newRestoreCommand() *cobra.Command {
	var o reach.Options
	command := &cobra.Command{
		Use:   "restore ADDRESS VERSION",
		Short: "Take back that a version is deprecated or withdrawn",
		Long: `Take back that a version of a provider or module is deprecated or withdrawn: it is
listed again, without a message.
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

// declare declares how a version stands.
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

func describeStanding(s control.Stood) string {
	switch {
	case s.Changed:
		return fmt.Sprintf("%s is %s", s.Subject, s.State)
	case s.State == registry.Restored:
		return s.Subject + " was neither deprecated nor withdrawn"
	default:
		return fmt.Sprintf("%s was %s already", s.Subject, s.State)
	}
}
