package doctor

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/check/findings"
)

// renewal is how long before its end a certificate should have been renewed. For a shorter
// lifetime it is the last third of that.
const renewal = 14 * 24 * time.Hour

// checkTLS says whether the clients would connect to the registry. The chain is its
// certificates; without them, the error says why there was no connection.
func (v *visit) checkTLS(chain []*x509.Certificate, err error) bool {
	if len(chain) == 0 {
		v.Fail("tls.connect", "see that the host name resolves, that the registry runs there, and that it speaks TLS 1.2 or newer",
			"no TLS connection to %s: %v", v.Host, err)
		return false
	}
	v.OK("tls.connect", "%s", v.Host)
	leaf, name := chain[0], v.client.serverName()
	failed := v.Count(findings.Fail)
	v.checkName(leaf, name)
	v.checkExpiry(leaf)
	v.checkChain(chain)
	return v.Count(findings.Fail) == failed
}

func (v *visit) checkName(leaf *x509.Certificate, name string) {
	if leaf.VerifyHostname(name) != nil {
		v.Fail("tls.name", "get a certificate for "+name+", with the name among its subject alternative names",
			"the certificate is for %s, not for %s", quote(strings.Join(namesOf(leaf), ", ")), name)
		return
	}
	v.OK("tls.name", "the certificate is for %s", name)
}

func namesOf(leaf *x509.Certificate) []string {
	all := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

func (v *visit) checkExpiry(leaf *x509.Certificate) {
	const advice = "renew it, and let a program renew it from then on"
	end := leaf.NotAfter.UTC().Format(time.DateOnly)
	soon := min(renewal, leaf.NotAfter.Sub(leaf.NotBefore)/3)
	switch now := v.Now(); {
	case now.Before(leaf.NotBefore):
		v.Fail("tls.expiry", "check the clocks of this machine and of the one that issued it",
			"the certificate is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		v.Fail("tls.expiry", advice, "the certificate ended on %s", end)
	case now.Add(soon).After(leaf.NotAfter):
		v.Warn("tls.expiry", advice, "the certificate ends on %s", end)
	default:
		v.OK("tls.expiry", "the certificate is valid until %s", end)
	}
}

// checkChain checks the issuers of the certificate, at a time at which it is valid.
func (v *visit) checkChain(chain []*x509.Certificate) {
	options := x509.VerifyOptions{Roots: v.Roots, Intermediates: x509.NewCertPool(), CurrentTime: v.Now()}
	for _, issuer := range chain[1:] {
		options.Intermediates.AddCert(issuer)
	}
	leaf := chain[0]
	if options.CurrentTime.After(leaf.NotAfter) || options.CurrentTime.Before(leaf.NotBefore) {
		options.CurrentTime = leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
	}
	if _, err := leaf.Verify(options); err != nil {
		v.Fail("tls.chain", chainAdvice(chain), "this machine does not trust the issuer of the certificate: %v", err)
		return
	}
	v.OK("tls.chain", "issued by %s", quote(leaf.Issuer.String()))
}

func chainAdvice(chain []*x509.Certificate) string {
	if len(chain) == 1 {
		return "serve the intermediate certificates with it; if the issuer is a CA of your own, trust it on every machine (SSL_CERT_FILE, or its system's store)"
	}
	return fmt.Sprintf("trust %s on every machine (SSL_CERT_FILE, or its system's store), or get a certificate from a public CA",
		quote(chain[len(chain)-1].Issuer.String()))
}
