package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// authority is a CA of a test's own. The registry trusts it, for the issuers of identities on this machine.
type authority struct {
	file string // its certificate, in PEM
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.file = filepath.Join(a.dir, "ca.pem")
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Issuers of the tests"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writeFile(t, a.file, pemOf("CERTIFICATE", der))
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// issue makes a certificate for 127.0.0.1, and returns the files of its chain and its key.
func (a *authority) issue(t testing.TB) (chain, key string) {
	t.Helper()
	private := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "127.0.0.1"},
		NotBefore:    a.cert.NotBefore,
		NotAfter:     a.cert.NotAfter,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	chain, key = filepath.Join(a.dir, "chain.pem"), filepath.Join(a.dir, "key.pem")
	writeFile(t, chain, pemOf("CERTIFICATE", der))
	writeFile(t, key, pemOf("PRIVATE KEY", encoded))
	return chain, key
}

// certificate is issue for a server in this process.
func (a *authority) certificate(t testing.TB) tls.Certificate {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(a.issue(t))
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
