package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/internal/node/localca"
	"github.com/larder-registry/larder/internal/node/settings"
)

// certificates are the certificates of a node's two endpoints. The registry uses the
// operator's, if there is one. So does the bucket, if the operator's is valid for its
// address. Otherwise they use one of the local CA, which is also valid for 127.0.0.1.
type certificates struct {
	// roots are the authorities with which this process trusts both at the start.
	roots *x509.CertPool

	dir     *datadir.Dir
	ca      *localca.CA
	hosts   []string
	local   atomic.Pointer[tls.Certificate] // of the local CA
	due     time.Time                       // when local must be renewed
	brought *brought                        // the operator's; nil if there is none
}

// loadCertificates gets the node's certificates, from the local CA if the operator brings
// none.
//
// Errors name LARDER_TLS_CERT if the operator's cannot be used.
func loadCertificates(dir *datadir.Dir, set settings.Settings, logger *slog.Logger, now time.Time) (*certificates, error) {
	ca, err := localca.Load(dir, now, set.CertificateHosts()...)
	if err != nil {
		return nil, err
	}
	c := &certificates{dir: dir, ca: ca, hosts: set.CertificateHosts()}
	if c.roots, err = x509.SystemCertPool(); err != nil {
		c.roots = x509.NewCertPool()
	}
	c.roots.AppendCertsFromPEM(ca.CertificatePEM())
	if err := c.refreshLocal(now); err != nil {
		return nil, err
	}
	if set.TLSCert == "" {
		return c, nil
	}
	if c.brought, err = openBrought(set, logger, now); err != nil {
		return nil, fmt.Errorf("LARDER_TLS_CERT and LARDER_TLS_KEY: %w", err)
	}
	for _, cert := range c.brought.chain() {
		c.roots.AddCert(cert) // this process may trust it, whoever has issued it
	}
	return c, nil
}

// refresh renews the certificate of the local CA when that is due, and uses the operator's
// if it was renewed. It says whether the operator's was.
func (c *certificates) refresh(now time.Time) (renewed bool, err error) {
	if c.brought != nil {
		renewed = c.brought.look(now)
	}
	if now.Before(c.due) {
		return renewed, nil
	}
	return renewed, c.refreshLocal(now)
}

// refreshLocal has the local CA issue a certificate, unless the one in the data folder is
// good.
func (c *certificates) refreshLocal(now time.Time) error {
	issued, _ := os.ReadFile(c.dir.Path(datadir.ServerCert)) // an unreadable one is not good
	due, good := c.ca.Due(issued, c.hosts, now)
	if !good {
		var err error
		if issued, err = c.ca.Issue(c.hosts, now); err != nil {
			return err
		}
		if err := c.dir.WriteFile(datadir.ServerCert, issued); err != nil {
			return err
		}
		due, _ = c.ca.Due(issued, c.hosts, now)
	}
	cert, err := tls.X509KeyPair(issued, issued)
	if err != nil {
		return fmt.Errorf("read the certificate of the local CA: %w", err)
	}
	c.local.Store(&cert)
	c.due = due
	return nil
}

// ofRegistry returns the certificate for clients of the registry.
func (c *certificates) ofRegistry(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.brought != nil {
		return c.brought.current.Load().pair, nil
	}
	return c.local.Load(), nil
}

// ofBucket returns the certificate for clients of the bucket.
func (c *certificates) ofBucket(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.forBoth() {
		return c.ofRegistry(hello)
	}
	return c.local.Load(), nil
}

// forBoth says whether the operator's certificate is the bucket's, too. Once it is, every
// renewed one must be.
func (c *certificates) forBoth() bool { return c.brought != nil && c.brought.current.Load().forBucket }

// bucketTrust returns the file with which clients trust the bucket's certificate, if the
// operator's is the registry's only.
func (c *certificates) bucketTrust() string {
	if c.brought == nil || c.forBoth() {
		return ""
	}
	return c.dir.Path(datadir.CACert)
}

// bucketName returns a name for which the bucket's certificate is valid.
func (c *certificates) bucketName() string {
	if c.forBoth() {
		return c.brought.bucket
	}
	return own
}

// adviceOfRegistry says what to do about clients that do not trust the registry's
// certificate, and adviceOfBucket the same for the bucket's.
func (c *certificates) adviceOfRegistry() string {
	if c.brought == nil {
		return c.adviceOfLocal()
	}
	return fmt.Sprintf("have it trust the authority that issued the certificate in %s, and see that the intermediate certificates are in that file, too", c.brought.cert)
}

func (c *certificates) adviceOfBucket() string {
	if c.forBoth() {
		return c.adviceOfRegistry()
	}
	return c.adviceOfLocal()
}

func (c *certificates) adviceOfLocal() string {
	return fmt.Sprintf("have it trust the certificate in %s, in the system's store or by SSL_CERT_FILE", c.dir.Path(datadir.CACert))
}

// own is an address for which certificates of the local CA are always valid.
const own = "127.0.0.1"

func (c *certificates) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.ofRegistry}
}

// probe connects to the registry's own listener as a client.
func (c *certificates) probe(ctx context.Context, addr net.Addr) error {
	name := own
	if c.brought != nil {
		name = c.brought.registry
	}
	return front.Probe(ctx, addr, &tls.Config{RootCAs: c.roots, ServerName: name})
}
