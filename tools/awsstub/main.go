// Command awsstub is a stub of Terraform's AWS provider. With it the real Terraform and OpenTofu plan, apply and
// destroy infra/ without an account. It takes what the provider's published schema takes. It makes up AWS's answers,
// the same each time, and leaves the state to the client. Beyond the schema it knows only what imitate.go says of AWS.
// It serves the resources and data sources that infra/ uses; the command renew adds others.
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/larder-registry/larder/tools/awsstub/schema"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "awsstub:", err)
		os.Exit(1)
	}
}

func serve() error {
	s, err := schema.Read()
	if err != nil {
		return err
	}
	p, err := newProvider(s)
	if err != nil {
		return err
	}
	return tf5server.Serve(schema.Address, func() tfprotov5.ProviderServer { return p })
}
