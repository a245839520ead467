// Package doctor visits a live registry as Terraform and OpenTofu do, and says what would make
// them fail: in its certificate, its discovery document, its answers to addresses that do not
// exist, and in a whole installation of a module or a provider.
//
// It changes nothing. All that it reads is bounded in size and time. It sends a token where the
// clients send it: to the addresses in the discovery document, only over verified TLS, and
// never to the URL of an archive. No finding has a token, or the query of a URL, which may be a
// signature.
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

// limit bounds the time of a whole visit.
const limit = 20 * time.Minute

// Options say which registry to visit, and what to install from it.
type Options struct {
	// Host is the registry's, as [ParseHost] returns it. Required.
	Host string

	// Token is the token that the clients would send. Empty: none.
	Token string

	// Module and Provider are what to install. Nil: nothing.
	Module   *Module
	Provider *Provider

	// Roots are the certificate authorities to trust. Nil: the system's.
	Roots *x509.CertPool

	// Now returns the time. Nil: [time.Now].
	Now func() time.Time
}

// visit is one visit to a registry.
type visit struct {
	Options
	*findings.List
	client    *client
	discovery *url.URL // of the discovery document
	modules   *url.URL // of the module protocol; nil if it is not offered
	providers *url.URL // of the provider protocol; nil if it is not offered
}

// Run visits a registry and adds its findings. It ends where the clients would end.
func Run(ctx context.Context, o Options, list *findings.List) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &visit{Options: o, List: list, client: newClient(o), discovery: &url.URL{
		Scheme: "https", Host: o.Host, Path: "/.well-known/terraform.json",
	}}
	first, chain, err := v.client.askFirst(ctx, v.discovery, asJSON...)
	if !v.checkTLS(chain, err) || !v.checkDiscovery(ctx, first, err) {
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

// verdict adds the result of a check with several parts: OK if nothing is wrong.
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

// quote quotes a text of a registry, cut to a length for a line.
func quote(text string) string {
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
