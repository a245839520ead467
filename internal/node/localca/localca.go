// Package localca is the certificate authority of a single node. It is made on the first
// start, stays in the data folder, and issues the node's server certificates if the
// operator brings none.
//
// Clients that trust it trust it for the node's own names and addresses only: it has name
// constraints (RFC 5280, section 4.2.1.10). So a node with other names gets another CA.
package localca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
)

const (
	lifetime = 10 * 365 * 24 * time.Hour
	// leafLifetime stays below the 398 days beyond which some clients refuse
	// a server certificate.
	leafLifetime = 90 * 24 * time.Hour
	// skew is how much a client's clock may be behind.
	skew = time.Hour
)

// renewBefore is how long before its end a server certificate is renewed.
const renewBefore = leafLifetime / 3

// A CA issues server certificates. It is safe for concurrent use.
type CA struct {
	cert     *x509.Certificate
	key      crypto.Signer
	replaced string
}

// Loopback returns the names and addresses under which every node reaches itself.
func Loopback() []string { return []string{"127.0.0.1", "::1", "localhost"} }

// Load returns the CA of the data folder for a node with these names and addresses and
// [Loopback], and writes its certificate to a file beside it (datadir.CACert). It makes a
// CA if there is none, or if the one that is there is for other names, or for all.
func Load(dir *datadir.Dir, now time.Time, hosts ...string) (*CA, error) {
	names := namesOf(append(hosts, Loopback()...))
	data, err := dir.LoadOrCreate(datadir.CA, func() ([]byte, error) { return create(names, now) })
	if err != nil {
		return nil, fmt.Errorf("local CA: %w", err)
	}
	ca, err := parse(data)
	if err == nil && now.After(ca.cert.NotAfter) {
		err = fmt.Errorf("it ended on %s", ca.cert.NotAfter.Format(time.DateOnly))
	}
	if err != nil {
		return nil, fmt.Errorf("local CA in %s: %w; remove the file to have a new CA made, and trust that one instead",
			dir.Path(datadir.CA), err)
	}
	if was := constraintsOf(ca.cert); !was.equal(names) {
		if ca, err = replace(dir, names, now); err != nil {
			return nil, fmt.Errorf("local CA: %w", err)
		}
		ca.replaced = was.String()
	}
	if err := dir.WriteFile(datadir.CACert, ca.CertificatePEM()); err != nil {
		return nil, fmt.Errorf("local CA: %w", err)
	}
	return ca, nil
}

// replace makes a CA, and overwrites the key of the old one, so that nobody can use the
// trust that clients have in it.
func replace(dir *datadir.Dir, names names, now time.Time) (*CA, error) {
	data, err := create(names, now)
	if err != nil {
		return nil, err
	}
	if err := dir.WriteFile(datadir.CA, data); err != nil {
		return nil, err
	}
	return parse(data)
}

// Replaced returns the names of the CA that this one replaced when it was loaded. It is
// empty if it replaced none.
func (ca *CA) Replaced() string { return ca.replaced }

// create makes a key and a self-signed certificate. Both go into one file, so that there is
// never one without the other.
func create(names names, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	// The CAs of two nodes need different names, because some clients look up the issuer
	// of a certificate by name.
	fingerprint := sha256.Sum256(public)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("Larder local CA %x", fingerprint[:4])},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	names.constrain(template)
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return encode(cert, key)
}

// encode returns a certificate and its private key in PEM.
func encode(cert []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return append(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), nil
}

func parse(data []byte) (*CA, error) {
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("not a certificate authority")
	}
	return &CA{cert: pair.Leaf, key: key}, nil
}

// CertificatePEM returns the CA's own certificate, for clients to trust.
func (ca *CA) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
}

// Issue returns a new server certificate for hosts, which are names or IP addresses, and
// its private key, both in PEM. It is valid for 90 days, or until the CA ends.
func (ca *CA) Issue(hosts []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for a server certificate: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Larder"},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(leafLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if template.NotAfter.After(ca.cert.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	names := namesOf(hosts)
	template.DNSNames = names.dns
	for _, ip := range names.ips {
		template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return nil, fmt.Errorf("issue a server certificate: %w", err)
	}
	return encode(cert, key)
}

// Due says when a certificate that Issue returned must be renewed. It is not good if that
// time has come, if it is not of this CA, or if it is for other hosts.
func (ca *CA) Due(issued []byte, hosts []string, now time.Time) (due time.Time, good bool) {
	pair, err := tls.X509KeyPair(issued, issued)
	if err != nil {
		return time.Time{}, false
	}
	leaf := pair.Leaf
	due = leaf.NotAfter.Add(-renewBefore)
	return due, leaf.CheckSignatureFrom(ca.cert) == nil && namesIn(leaf).equal(namesOf(hosts)) &&
		!now.Before(leaf.NotBefore) && !now.After(due)
}
