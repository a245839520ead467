package main

import (
	"fmt"
	"os"

	"github.com/larder-registry/larder/internal/credentials"
	"github.com/larder-registry/larder/internal/transfer/mirror"
	"github.com/larder-registry/larder/internal/transfer/netmirror"
	"github.com/larder-registry/larder/internal/transfer/upload"
	"github.com/larder-registry/larder/pkg/upstream"
	"github.com/spf13/cobra"
)

// inboxNeeds says what a command needs that uploads to a mirror.
const inboxNeeds = `
It needs s3:PutObject, s3:GetObjectTagging and s3:GetObjectVersionTagging on the
inbox's mirror/, and nothing else. Region and credentials are found as the AWS CLI
finds them; AWS_ENDPOINT_URL_S3 sets another server. Packages that the mirror has
already are uploaded again, and published as they were.

The exit status is 0 unless something could not be fetched, was rejected, could not be
uploaded or had no outcome in time.`

func newMirrorCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "mirror",
		Short: "Bring providers of other registries into a registry's mirror",
		Args:  cobra.NoArgs,
		RunE:  showHelp,
	}
	command.AddCommand(newMirrorAddCommand(), newMirrorExportCommand(), newMirrorImportCommand())
	return command
}

func newMirrorAddCommand() *cobra.Command {
	var o upload.Options
	var platforms []string
	command := &cobra.Command{
		Use:   "add ADDRESS [VERSION-CONSTRAINT]",
		Short: "Bring a provider from its origin registry into the mirror, ahead of time",
		Long: `Bring a provider from its origin registry into a registry's mirror, ahead of time,
and say what became of each package.

ADDRESS is [hostname/]namespace/type. Without a hostname, the origin is Terraform's
public registry, registry.terraform.io. Write registry.opentofu.org/namespace/type for
OpenTofu's. It takes all versions that the constraint allows, read as the clients read
it; without one, the newest release.

What the origin offers is verified before anything is uploaded: the signature over
SHA256SUMS with the keys that the origin names, and every package with SHA256SUMS. It
connects to public addresses only. One version at a time is kept in the folder for
temporary files (TMPDIR).
` + inboxNeeds,
		Example: `  larder mirror add hashicorp/time
  larder mirror add hashicorp/time '>= 0.9, < 1.0' --platform linux_amd64 --platform darwin_arm64
  larder mirror add registry.opentofu.org/hashicorp/random 3.6.0 --platform all --bucket acme-registry`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice, err := mirror.ParseChoice(args[0], constraintOf(args[1:]))
			if err != nil {
				return err
			}
			wanted, err := mirror.ParsePlatforms(platforms)
			if err != nil {
				return fmt.Errorf("--platform: %w", err)
			}
			inbox, err := openInbox(cmd, o)
			if err != nil {
				return err
			}
			origin := upstream.New(upstream.Config{})
			return mirror.Add(cmd.Context(), origin, inbox, choice, wanted, cmd.OutOrStdout(), newProgress(cmd))
		},
	}
	addPlatformFlag(command, &platforms)
	addInboxFlags(command, &o)
	return command
}

func constraintOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func newMirrorExportCommand() *cobra.Command {
	var from, tokenEnv string
	var platforms []string
	command := &cobra.Command{
		Use:   "export FILE ADDRESS[@VERSION-CONSTRAINT]... --from HOST",
		Short: "Write a part of a mirror to one file, for a place without a network",
		Long: `Take providers from a network mirror and write them to one file, to be carried to a
place without a network and imported there.

HOST is the host name of a registry, or the URL of any network mirror. A registry's own
providers are in its mirror, too, under its own hostname. An ADDRESS is
[hostname/]namespace/type, as for "larder mirror add". Constraints are the same, too;
without one, it takes the newest release.

Every package is compared with the hashes that the mirror names. The same packages
give the same file, to the byte. It is an uncompressed tar with the layout of
"terraform providers mirror" and a manifest, larder-mirror.json: unpacked, it can be
synced to any bucket. There is no file until it is whole. Its folder must have room
for it twice.

A token is read from TF_TOKEN_<host>, with "_" for a dot and "__" for a hyphen, as the
clients read it. The certificates of SSL_CERT_FILE are trusted.`,
		Example: `  larder mirror export carry.tar hashicorp/time --from registry.example.com
  larder mirror export carry.tar 'hashicorp/time@>= 0.9' registry.example.com/acme/widget@1.2.3 --platform all --from registry.example.com`,
		Args: arguments(2, manyArguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			choices, err := parseChoices(args[1:])
			if err != nil {
				return err
			}
			wanted, err := mirror.ParsePlatforms(platforms)
			if err != nil {
				return fmt.Errorf("--platform: %w", err)
			}
			source, err := openMirror(from, tokenEnv)
			if err != nil {
				return err
			}
			return mirror.Export(cmd.Context(), source, choices, wanted, args[0], cmd.OutOrStdout(), newProgress(cmd))
		},
	}
	addPlatformFlag(command, &platforms)
	command.Flags().StringVar(&from, "from", "", "the `host` of the mirror's registry, or the URL of any mirror")
	command.Flags().StringVar(&tokenEnv, "token-env", "", "read the token from the environment variable `NAME`")
	checkFlags(command, needed("from"))
	return command
}

// parseChoices reads which providers are to be exported, and which of their versions.
func parseChoices(texts []string) ([]mirror.Choice, error) {
	choices := make([]mirror.Choice, len(texts))
	for i, text := range texts {
		var err error
		if choices[i], err = mirror.ParseChoiceAt(text); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

// openMirror finds the mirror and the token for it.
func openMirror(from, tokenEnv string) (*netmirror.Client, error) {
	base, host, err := netmirror.ParseBase(from)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	token := credentials.FindToken(host, os.Environ())
	if tokenEnv != "" {
		if token = os.Getenv(tokenEnv); token == "" {
			return nil, fmt.Errorf("--token-env: there is no token in %s", tokenEnv)
		}
	}
	return netmirror.New(netmirror.Options{Base: base, Token: token}), nil
}

func newMirrorImportCommand() *cobra.Command {
	var o upload.Options
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Bring what was exported into a registry's mirror",
		Long: `Upload a file of "larder mirror export" to a registry's mirror, and say what became of
each package.

First the whole file is read. Every name, size and SHA-256 must be as the manifest
says, every document must match the packages, and a registry must be able to take every
package. If anything is wrong, it is reported and nothing is uploaded.

The providers keep their addresses. The own providers of the registry that the file
comes from are mirrored here under its hostname.
` + inboxNeeds,
		Example: `  larder mirror import carry.tar --bucket acme-registry
  (. .larder/env && larder mirror import carry.tar)`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			inbox, err := openInbox(cmd, o)
			if err != nil {
				return err
			}
			return mirror.Import(cmd.Context(), args[0], inbox, cmd.OutOrStdout(), newProgress(cmd))
		},
	}
	addInboxFlags(command, &o)
	return command
}

func addPlatformFlag(command *cobra.Command, value *[]string) {
	command.Flags().StringArrayVar(value, "platform", nil, "take the packages for `os_arch`, or for all; may be repeated; without it, for this machine")
}
