// Package serve runs a single node: the bucket, the registry over TLS, and what people need
// to use both.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/assembly/tokens"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/disk"
	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/internal/node/uploadqueue"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
)

// certificateCheck is the time between two looks at the certificates.
const certificateCheck = time.Minute

// A node is all that Run has started so far.
type node struct {
	settings settings.Settings
	logger   *slog.Logger
	dir      *datadir.Dir
	certs    *certificates
	listener net.Listener
	bucket   *locals3.Server
	blobs    *locals3.DirectBucket // the bucket, as the registry sees it
	links    *s3presign.Presigner  // makes the URLs with which clients read the bucket
	catalog  *boltcatalog.Catalog
	access   *boltcatalog.Access
	disk     *disk.Watch

	publisher publishing.Registry
	tokens    tokens.Tokens
	uploads   *uploadqueue.Queue

	compareLater bool       // the catalog is compared with the records beside serving
	unreadable   chan error // why the catalog cannot be used any more

	mirror *mirror // nil if the node does not pull through

	// toOrigins sends requests to other registries. Nil: over the network, to public
	// addresses only.
	toOrigins http.RoundTripper

	// toIssuers sends requests to issuers of identity tokens. Nil: over the network, to
	// issuers that the system's roots trust.
	toIssuers http.RoundTripper

	ownKey string // the object with the registry's public key

	firstPrune time.Duration // 0: the constant firstPrune

	rotation sync.Mutex // held while the signing key is changed
	env      sync.Mutex // held while the file to source is written

	hangups chan os.Signal // SIGHUP: an operator has renewed the certificates

	lookEvery   time.Duration // 0: the constant certificateCheck
	healthLasts time.Duration // 0: the constant healthLasts
}

// Run serves until ctx ends or a part of the node fails, and then stops all that it started.
// When clients can connect, it writes the banner to out.
func Run(ctx context.Context, set settings.Settings, logger *slog.Logger, out io.Writer) error {
	n := &node{settings: set, logger: logger}
	return n.run(ctx, out)
}

func (n *node) run(ctx context.Context, out io.Writer) (err error) {
	n.hangups = make(chan os.Signal, 1)
	signal.Notify(n.hangups, syscall.SIGHUP) // without this, SIGHUP ends the process
	defer signal.Stop(n.hangups)
	n.unreadable = make(chan error, 1)
	n.uploads = n.newUploadQueue()
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(ctx); err != nil {
		return err
	}
	if err := n.openRegistry(ctx); err != nil {
		return err
	}
	handler := n.newHandler()
	defer n.startPublishing(ctx)()
	stop := n.answerOperators()
	defer func() { err = errors.Join(err, stop()) }()
	web := startWeb(n.listener, n.certs, n.settings.TrustedProxies, handler, n.logger)
	defer func() { err = errors.Join(err, web.Close()) }()
	defer func() { err = errors.Join(err, n.dir.Remove(datadir.Env)) }()
	if err := n.announce(ctx, out); err != nil {
		return err
	}
	err = n.wait(ctx, web)
	n.logger.Info("stopping")
	return err
}

// open starts everything below the registry.
func (n *node) open(ctx context.Context) (err error) {
	if n.dir, err = datadir.Open(n.settings.Data); err != nil {
		return err
	}
	// The file exists only while the node serves: this one is from a node that was killed.
	if err := n.dir.Remove(datadir.Env); err != nil {
		return err
	}
	if n.listener, err = net.Listen("tcp", n.settings.Addr); err != nil {
		return fmt.Errorf("listen for the registry: %w; choose another address with LARDER_ADDR", err)
	}
	bound := n.listener.Addr().(*net.TCPAddr).AddrPort().Addr()
	if err := cmp.Or(n.settings.CheckExposure(bound), n.settings.CheckDownloads(bound)); err != nil {
		return err
	}
	if n.certs, err = loadCertificates(n.dir, n.settings, n.logger, time.Now()); err != nil {
		return err
	}
	if was := n.certs.ca.Replaced(); was != "" {
		n.logger.Warn("there is a new local CA, for the names of this registry alone: in shells source the env file again; "+
			"where the old certificate was installed by hand, remove it and install the new one",
			"certificate", n.dir.Path(datadir.CACert), "for", strings.Join(n.certs.hosts, ", "), "the_old_one_was_for", was)
	}
	n.disk = disk.New(n.dir.Path(""), n.logger)
	n.bucket, err = locals3.Start(ctx, locals3.Options{
		Dir:         n.dir,
		Addr:        n.settings.S3Addr,
		Certificate: n.certs.ofBucket,
		ServerName:  n.certs.bucketName(),
		Roots:       n.certs.roots,
		Untrusted:   n.certs.adviceOfBucket(),
		Proxies:     n.settings.TrustedProxies,
		Notify:      n.notice,
		Room:        n.disk.Takes,
		Logger:      n.logger,
	})
	return err
}

// close stops what open started, in the opposite order.
func (n *node) close() error {
	var errs []error
	if n.access != nil {
		errs = append(errs, n.access.Close())
	}
	if n.catalog != nil {
		errs = append(errs, n.catalog.Close())
	}
	if n.bucket != nil {
		errs = append(errs, n.bucket.Close())
	}
	if n.listener != nil {
		if err := n.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if n.dir != nil {
		errs = append(errs, n.dir.Close())
	}
	return errors.Join(errs...)
}

// host returns the registry's host as in source addresses.
func (n *node) host() string {
	return n.settings.Host(n.listener.Addr().(*net.TCPAddr).Port)
}

// wait returns when ctx ends, or with an error when a part of the node fails. Meanwhile it
// renews the certificates.
func (n *node) wait(ctx context.Context, web *front.Server) error {
	check := time.NewTicker(cmp.Or(n.lookEvery, certificateCheck))
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-web.Done():
			return fmt.Errorf("the registry stopped: %w", web.Err())
		case <-n.bucket.Done():
			return errors.New("the S3 endpoint stopped") // n.close adds why
		case err := <-n.unreadable:
			return err
		case now := <-check.C:
			n.refreshCertificates(now)
		case <-n.hangups:
			if !n.refreshCertificates(time.Now()) {
				n.logger.Info("SIGHUP: the certificates were looked at, and none was renewed; other settings need a restart")
			}
		}
	}
}

// refreshCertificates refreshes the certificates, and logs an error. It says whether the
// operator had renewed theirs.
func (n *node) refreshCertificates(now time.Time) (renewed bool) {
	renewed, err := n.certs.refresh(now)
	if err != nil {
		n.logger.Error("cannot renew the certificate of the local CA; the old one stays", "error", err)
	}
	return renewed
}
