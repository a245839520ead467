package main

import (
	"context"
	"fmt"
	"os"

	"github.com/larder-registry/larder/internal/check/doctor"
	"github.com/larder-registry/larder/internal/check/findings"
	"github.com/larder-registry/larder/internal/credentials"
	"github.com/spf13/cobra"
)

func newDoctorCommand() *cobra.Command {
	var module, provider, platform, tokenEnv string
	var asJSON bool
	command := &cobra.Command{
		Use:   "doctor HOST",
		Short: "Visit a live registry as Terraform and OpenTofu do, and say what is wrong",
		Long: `Visit a live registry as Terraform and OpenTofu do, and say what is wrong,
where, and what to do. HOST is the registry's host name, with its port unless
that is 443, or its URL. It reads, and changes nothing: POST, PUT and DELETE,
which a registry must refuse, go to its discovery document and to addresses that
do not exist.

It checks the certificate, service discovery, and the answers to addresses that
do not exist or are malformed. With --module or --provider it checks a whole
installation, too: the list of versions, the answer to a download, the archive
with its checksum, and for a provider its SHA256SUMS, signature and signing keys.

A token is read from TF_TOKEN_<host>, with "_" for a dot and "__" for a hyphen,
as the clients read it. The certificates of SSL_CERT_FILE are trusted, as by the
clients on Linux.

Each check is one line: ok; warn, for what works but should be looked at; or
FAIL, for what the clients fail at, with advice. The exit status is 0 when no
check fails.`,
		Example: `  larder doctor registry.example.com
  larder doctor registry.example.com --module acme/network/aws --provider acme/widget@1.2.3 --platform linux_arm64
  TF_TOKEN_registry_example_com=... larder doctor https://registry.example.com --provider acme/widget
  (. .larder/env && larder doctor "$LARDER_HOST")`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := doctorOptions(args[0], module, provider, platform, tokenEnv)
			if err != nil {
				return err
			}
			return report(cmd, asJSON, o.Host, func(ctx context.Context, list *findings.List) { doctor.Run(ctx, o, list) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&module, "module", "", "install this module, as `namespace/name/system[@version]`; without a version, the newest")
	flags.StringVar(&provider, "provider", "", "install this provider, as `namespace/type[@version]`; without a version, the newest")
	flags.StringVar(&platform, "platform", "", "install the provider for `os_arch`; without it, for this machine")
	flags.StringVar(&tokenEnv, "token-env", "", "read the token from the environment variable `NAME`")
	addJSONFlag(command, &asJSON)
	return command
}

func doctorOptions(host, module, provider, platform, tokenEnv string) (o doctor.Options, err error) {
	if o.Host, err = credentials.ParseHost(host); err != nil {
		return o, err
	}
	if module != "" {
		if o.Module, err = doctor.ParseModule(module); err != nil {
			return o, fmt.Errorf("--module: %w", err)
		}
	}
	if provider != "" {
		if o.Provider, err = doctor.ParseProvider(provider, platform); err != nil {
			return o, fmt.Errorf("--provider, --platform: %w", err)
		}
	} else if platform != "" {
		return o, fmt.Errorf("--platform is for a provider: give --provider, too")
	}
	if tokenEnv == "" {
		o.Token = credentials.FindToken(o.Host, os.Environ())
		return o, nil
	}
	if o.Token = os.Getenv(tokenEnv); o.Token == "" {
		return o, fmt.Errorf("--token-env: there is no token in %s", tokenEnv)
	}
	return o, nil
}
