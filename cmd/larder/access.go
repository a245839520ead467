package main

import (
	"github.com/spf13/cobra"

	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
)

// scopeText explains scopes, in the help of the commands that give them.
const scopeText = `
A scope is "read ", what may be read, and which of it. A * means all of them:

  read *                                          everything
  read providers:acme/*                           providers of the namespace acme
  read modules:acme/network/aws                   one module
  read mirror:registry.terraform.io/hashicorp/*   mirrored providers of hashicorp
`

// whichAccess says which registry a command asks about tokens or rules of trust.
const whichAccess = `
The registry is the one that "larder serve" runs from the data folder, as the same
user; or with --stack a deployment on AWS, by the name of its bucket. A deployment
is asked with your own credentials, found as the AWS CLI finds them. They need
lambda:InvokeFunction on the function <name>-login; the policy <name>-access of the
deployment allows it. AWS_ENDPOINT_URL_LAMBDA sets another server.`

// askAccess asks a registry about tokens or rules of trust. The flags, or else the
// environment, name the registry.
func askAccess(cmd *cobra.Command, o reach.Options, r admin.Request) (admin.Answer, error) {
	answer, err := ask(cmd, o, control.Request{Access: &r})
	if err != nil {
		return admin.Answer{}, err
	}
	return *answer.Access, nil
}
