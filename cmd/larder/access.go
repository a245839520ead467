package main

import (
	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
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

// askAccess asks the registry that the flags, or else the environment, name about
// tokens or rules of trust.
func askAccess(cmd *cobra.Command, o reach.Options, r admin.Request) (admin.Answer, error) {
	answer, err := ask(cmd, o, control.Request{Access: &r})
	if err != nil {
		return admin.Answer{}, err
	}
	return *answer.Access, nil
}
