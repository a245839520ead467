package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/scripts/larder/internal/config"
	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
	"github.com/larder-registry/larder/scripts/larder/internal/front"
	"github.com/larder-registry/larder/scripts/larder/internal/localca"
)

// pair is where a server certificate and its private key lie, and a name or
// address that it is valid for.
type pair struct{ cert, key, name string }

// certificates are those of a node's two endpoints. The registry's is the
// operator's, where there is one, and so is the bucket's if the operator's
// covers its address; else they have one of the local CA, which also speaks
// for 127.0.0.1.
type certificates struct {
	registry, bucket pair
	// roots vouch for both, as far as this process is concerned.
	roots *x509.CertPool

	dir     *datadir.Dir
	ca      *localca.CA
	hosts   []string
	current atomic.Pointer[tls.Certificate] // of the registry
	local   atomic.Pointer[time.Time]       // when the local CA's is due for renewal
}

// loadCertificates gets the node's certificates, from the local CA where the
// operator brings none.
//
// Errors name LARDER_TLS_CERT when the operator's does not do.
func loadCertificates(dir *datadir.Dir, cfg config.Config, now time.Time) (*certificates, error) {
	ca, err := localca.Load(dir, now, cfg.CertificateHosts()...)
	if err != nil {
		return nil, err
	}
	own := pair{dir.Path(datadir.ServerCert), dir.Path(datadir.ServerCert), "127.0.0.1"}
	c := &certificates{registry: own, bucket: own, dir: dir, ca: ca, hosts: cfg.CertificateHosts()}
	if c.roots, err = x509.SystemCertPool(); err != nil {
		c.roots = x509.NewCertPool()
	}
	c.roots.AppendCertsFromPEM(ca.CertificatePEM())
	if cfg.TLSCert != "" {
		if err := c.useOperators(cfg, now); err != nil {
			return nil, fmt.Errorf("LARDER_TLS_CERT and LARDER_TLS_KEY: %w", err)
		}
	}
	return c, c.refresh(now)
}

// useOperators has the registry, and the bucket if possible, use the
// certificate that the operator brought.
func (c *certificates) useOperators(cfg config.Config, now time.Time) error {
	loaded, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return err
	}
	leaf := loaded.Leaf
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("the certificate in %s ended on %s", cfg.TLSCert, leaf.NotAfter.Format(time.DateOnly))
	}
	if leaf.VerifyHostname(cfg.ServerName()) != nil {
		return fmt.Errorf("the certificate in %s is for %s, clients will look for %s: set LARDER_HOSTNAME to a name that it is for",
			cfg.TLSCert, strings.Join(names(leaf), ", "), cfg.ServerName())
	}
	c.registry = pair{cfg.TLSCert, cfg.TLSKey, cfg.ServerName()}
	if leaf.VerifyHostname(cfg.S3Host()) == nil {
		c.bucket = pair{cfg.TLSCert, cfg.TLSKey, cfg.S3Host()}
	}
	chain, err := os.ReadFile(cfg.TLSCert)
	if err != nil {
		return err
	}
	c.roots.AppendCertsFromPEM(chain) // whoever issued it, this process has reason to trust it
	return nil
}

func names(leaf *x509.Certificate) []string {
	all := leaf.DNSNames
	for _, ip := range leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

// refresh has another certificate of the local CA when one is due, and reads anew
// what the registry uses.
func (c *certificates) refresh(now time.Time) error {
	if due := c.local.Load(); due == nil || now.After(*due) {
		if err := c.refreshLocal(now); err != nil {
			return err
		}
	}
	cert, err := tls.LoadX509KeyPair(c.registry.cert, c.registry.key)
	if err != nil {
		return fmt.Errorf("read the registry's certificate: %w", err)
	}
	c.current.Store(&cert)
	return nil
}

// refreshLocal has the local CA issue a certificate, unless that which lies in the
// data folder is good.
func (c *certificates) refreshLocal(now time.Time) error {
	issued, _ := os.ReadFile(c.dir.Path(datadir.ServerCert)) // what cannot be read is not good
	due, good := c.ca.Due(issued, c.hosts, now)
	if !good {
		issued, err := c.ca.Issue(c.hosts, now)
		if err != nil {
			return err
		}
		if err := c.dir.WriteFile(datadir.ServerCert, issued); err != nil {
			return err
		}
		due, _ = c.ca.Due(issued, c.hosts, now)
	}
	c.local.Store(&due)
	return nil
}

func (c *certificates) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// probe connects to the registry's own listener as a client does.
func (c *certificates) probe(ctx context.Context, addr net.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, front.HeaderTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: c.roots, ServerName: c.registry.name}}
	conn, err := dialer.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return err
	}
	return conn.Close()
}
