package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/larder-registry/larder/internal/node/settings"
)

const (
	// maxPEM is the largest file of a certificate chain or a key, in bytes.
	maxPEM = 1 << 20

	// endsSoon is how long before its end a certificate should have been renewed. For a
	// shorter lifetime it is the last third of that.
	endsSoon = 14 * 24 * time.Hour

	// warnAgain and complainAgain are the times after which the same line is logged
	// again: about a certificate that ends soon, and about files that cannot be used.
	warnAgain     = 24 * time.Hour
	complainAgain = time.Hour
)

// brought is a certificate that an operator keeps in files, and renews there while the node
// serves. The files are read again and again, whatever their times are: so it does not
// matter whether they are written, renamed or linked anew. A new certificate is used once
// both files fit together; until then the old one stays.
type brought struct {
	cert, key        string // files
	registry, bucket string // names that clients look for
	logger           *slog.Logger

	current atomic.Pointer[usable]

	complaint  string // the last error of the files in the log
	complained time.Time
	warned     time.Time // about the end
}

// usable is a certificate with its key, which clients take.
type usable struct {
	pair      *tls.Certificate
	forBucket bool // it is valid for the bucket's address, too
}

// openBrought reads the files for the first time.
func openBrought(set settings.Settings, logger *slog.Logger, now time.Time) (*brought, error) {
	b := &brought{cert: set.TLSCert, key: set.TLSKey, registry: set.ServerName(), bucket: set.S3Host(), logger: logger}
	found, err := b.read(now)
	if err != nil {
		return nil, err
	}
	b.current.Store(found)
	b.warnOfEnd(now)
	return b, nil
}

// look reads the files, and uses the certificate if it is a new and usable one. It says
// whether it was.
func (b *brought) look(now time.Time) (renewed bool) {
	defer b.warnOfEnd(now)
	found, err := b.read(now)
	if err == nil && b.current.Load().forBucket && !found.forBucket {
		err = fmt.Errorf("the certificate in %s is for %s, and no longer for %s, the S3 endpoint", b.cert, strings.Join(names(found.pair.Leaf), ", "), b.bucket)
	}
	if err != nil {
		b.complain(err, now)
		return false
	}
	b.complaint = ""
	if before := b.current.Swap(found); before.pair.Leaf.Equal(found.pair.Leaf) {
		return false
	}
	b.warned = time.Time{}
	leaf := found.pair.Leaf
	b.logger.Info("the certificate was renewed", "file", b.cert, "for", strings.Join(names(leaf), ", "), "ends", leaf.NotAfter.UTC().Format(time.RFC3339))
	return true
}

// complain logs that the files cannot be used, unless it has just done so.
func (b *brought) complain(err error, now time.Time) {
	if text := err.Error(); text != b.complaint || now.Sub(b.complained) >= complainAgain {
		b.complaint, b.complained = text, now
		b.logger.Error("the certificate files are no good, so the certificate before them stays; they are read again every minute", "error", err)
	}
}

// warnOfEnd logs, once a day, that the certificate should be renewed.
func (b *brought) warnOfEnd(now time.Time) {
	leaf := b.current.Load().pair.Leaf
	soon := min(endsSoon, leaf.NotAfter.Sub(leaf.NotBefore)/3)
	if now.Add(soon).Before(leaf.NotAfter) || now.Sub(b.warned) < warnAgain {
		return
	}
	b.warned = now
	say, what := b.logger.Warn, "the certificate ends soon: renew it"
	if now.After(leaf.NotAfter) {
		say, what = b.logger.Error, "the certificate has ended, and clients refuse it: renew it"
	}
	say(what, "file", b.cert, "ends", leaf.NotAfter.UTC().Format(time.RFC3339))
}

// read reads both files, and checks whether clients would take the certificate.
func (b *brought) read(now time.Time) (*usable, error) {
	cert, err := readPEM(b.cert)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(b.key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s and the key in %s cannot be used together: %w", b.cert, b.key, err)
	}
	leaf := pair.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("the certificate in %s ended on %s", b.cert, leaf.NotAfter.Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("the certificate in %s is not valid before %s: is this machine's clock right?", b.cert, leaf.NotBefore.UTC().Format(time.RFC3339))
	case leaf.VerifyHostname(b.registry) != nil:
		return nil, fmt.Errorf("the certificate in %s is for %s, clients will look for %s: set LARDER_HOSTNAME to a name that it is for",
			b.cert, strings.Join(names(leaf), ", "), b.registry)
	}
	return &usable{&pair, leaf.VerifyHostname(b.bucket) == nil}, nil
}

// readPEM reads a regular file. It does not wait for others, such as a pipe.
func readPEM(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, and must be one: it is read again and again", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(data) > maxPEM {
		err = fmt.Errorf("%s has more than %d bytes, so it is no file of a certificate or key", path, maxPEM)
	}
	return data, err
}

// chain returns the certificate and the others of its file.
func (b *brought) chain() (all []*x509.Certificate) {
	for _, der := range b.current.Load().pair.Certificate {
		if cert, err := x509.ParseCertificate(der); err == nil {
			all = append(all, cert)
		}
	}
	return all
}

func names(leaf *x509.Certificate) []string {
	all := append([]string{}, leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}
