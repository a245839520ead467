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

// certificates are those of a node's two endpoints. The registry's is the
// operator's, where there is one, and so is the bucket's if the operator's
// covers its address; else they have one of the local CA, which also speaks
// for 127.0.0.1.
type certificates struct {
	// roots vouch for both at the start, as far as this process is concerned.
	roots *x509.CertPool

	dir     *datadir.Dir
	ca      *localca.CA
	hosts   []string
	local   atomic.Pointer[tls.Certificate] // of the local CA
	due     time.Time                       // when that is due for renewal
	brought *brought                        // nil: there is none
}

// loadCertificates gets the node's certificates, from the local CA where the
// operator brings none.
//
// Errors name LARDER_TLS_CERT when the operator's does not do.
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
		c.roots.AddCert(cert) // whoever issued it, this process has reason to trust it
	}
	return c, nil
}

// refresh has another certificate of the local CA when one is due, and looks
// whether the operator has renewed theirs. It says whether that was so.
func (c *certificates) refresh(now time.Time) (renewed bool, err error) {
	if c.brought != nil {
		renewed = c.brought.look(now)
	}
	if now.Before(c.due) {
		return renewed, nil
	}
	return renewed, c.refreshLocal(now)
}

// refreshLocal has the local CA issue a certificate, unless that which lies in the
// data folder is good.
func (c *certificates) refreshLocal(now time.Time) error {
	issued, _ := os.ReadFile(c.dir.Path(datadir.ServerCert)) // what cannot be read is not good
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

// ofRegistry is what clients of the registry are shown.
func (c *certificates) ofRegistry(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.brought != nil {
		return c.brought.current.Load().pair, nil
	}
	return c.local.Load(), nil
}

// ofBucket is what clients of the bucket are shown.
func (c *certificates) ofBucket(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.forBoth() {
		return c.ofRegistry(hello)
	}
	return c.local.Load(), nil
}

// forBoth says whether the operator's certificate is the bucket's, too. Once it is,
// it stays so.
func (c *certificates) forBoth() bool { return c.brought != nil && c.brought.current.Load().forBucket }

// bucketTrust is the file by which clients trust the bucket's certificate, where the
// operator's is the registry's alone.
func (c *certificates) bucketTrust() string {
	if c.brought == nil || c.forBoth() {
		return ""
	}
	return c.dir.Path(datadir.CACert)
}

// bucketName is a name that the bucket's certificate is valid for.
func (c *certificates) bucketName() string {
	if c.forBoth() {
		return c.brought.bucket
	}
	return own
}

// adviceOfRegistry is what to do about clients of the registry that do not trust its
// certificate, and adviceOfBucket the same of the bucket's.
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

// own is an address that certificates of the local CA are always valid for.
const own = "127.0.0.1"

func (c *certificates) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.ofRegistry}
}

// probe connects to the registry's own listener as a client does.
func (c *certificates) probe(ctx context.Context, addr net.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, front.HeaderTimeout)
	defer cancel()
	name := own
	if c.brought != nil {
		name = c.brought.registry
	}
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: c.roots, ServerName: name}}
	conn, err := dialer.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return err
	}
	return conn.Close()
}
