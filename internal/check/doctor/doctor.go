// Package doctor visits a live registry as Terraform and OpenTofu do, and says
// what they would stumble over: in its certificate, its discovery document, its
// answers to what is not there, and on the whole way of installing a module or
// a provider.
//
// It looks and changes nothing. What it reads is bounded in size and time. A
// token goes where the clients send it: to the addresses that the discovery
// document names, over verified TLS alone, and never to an archive. No finding
// has a token in it, nor the query of a URL, for that may be a signature.
package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/check/findings"
)

// limit is for a whole visit.
const limit = 20 * time.Minute

// Options say whom to visit, and what to install there.
type Options struct {
	// Host is the registry's, as [ParseHost] returns it. Required.
	Host string

	// Token is what the clients would send. Empty: none.
	Token string

	// Module and Provider are what to install. Nil: none.
	Module   *Module
	Provider *Provider

	// Roots are the certificate authorities to trust. Nil: the system's.
	Roots *x509.CertPool

	// Now is the clock. Nil: [time.Now].
	Now func() time.Time
}

// visit is one walk through a registry.
type visit struct {
	Options
	*findings.List
	client    *client
	discovery *url.URL // of the discovery document
	modules   *url.URL // where the module protocol is; nil if it is not offered
	providers *url.URL // where the provider protocol is, likewise
}

// Run visits a registry and adds what it finds. Where the clients would get no
// further, it ends.
func Run(ctx context.Context, o Options, list *findings.List) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &visit{Options: o, List: list, client: newClient(o), discovery: &url.URL{
		Scheme: "https", Host: o.Host, Path: "/.well-known/terraform.json",
	}}
	if !v.checkTLS(ctx) || !v.checkDiscovery(ctx) {
		return
	}
	v.checkAbsent(ctx)
	v.checkMethods(ctx)
	v.checkHead(ctx)
	v.checkTrailingSlash(ctx)
	v.checkEncoded(ctx)
	if !v.checkAccess(ctx) {
		return
	}
	if o.Module != nil {
		v.checkModule(ctx, *o.Module)
	}
	if o.Provider != nil {
		v.checkProvider(ctx, *o.Provider)
	}
}

// verdict adds how a check with several parts ended: well, where nothing is
// wrong.
func (v *visit) verdict(check string, wrong []string, good, advice string) {
	const most = 3
	switch {
	case len(wrong) == 0:
		v.OK(check, "%s", good)
	case len(wrong) > most:
		v.Fail(check, advice, "%s; and %d more", strings.Join(wrong[:most], "; "), len(wrong)-most)
	default:
		v.Fail(check, advice, "%s", strings.Join(wrong, "; "))
	}
}

// quote repeats what a registry sent, cut to a length that suits a line.
func quote(text string) string {
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
