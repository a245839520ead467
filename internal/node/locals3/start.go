package locals3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/internal/node/socket"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3api/utils"
)

// Start starts the endpoint and returns when the bucket exists and answers. The endpoint
// serves until Close, or until it fails (see Done); ctx bounds the start only.
func Start(ctx context.Context, opts Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	listener, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for S3 requests: %w; choose another address with LARDER_S3_ADDR", err)
	}
	s, err := open(ctx, opts, listener)
	if err != nil {
		_ = listener.Close() // the door may have taken it over
		return nil, err
	}
	return s, nil
}

// StartInside is Start of an endpoint that only the data folder's owner can reach, at its
// socket. It needs Dir and Logger.
func StartInside(ctx context.Context, opts Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	opts.Notify, opts.Room = func(string) {}, func(int64) bool { return true }
	return open(ctx, opts, nil)
}

// open starts the endpoint, and lets clients in if there is a listener for them.
func open(ctx context.Context, opts Options, listener net.Listener) (*Server, error) {
	keys, err := loadKeys(opts.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(opts.Dir.Path(datadir.S3), Bucket)); err == nil && keys.made {
		opts.Logger.Warn("the access keys of the bucket were not there, so there are new ones: in shells source the env file again, and make the uploaders anew",
			"file", opts.Dir.Path(datadir.S3Credentials))
	}
	storage, err := openStorage(opts.Dir)
	if err != nil {
		return nil, err
	}
	to := inside{}
	if to.address, err = socket.Address(opts.Dir.Path(datadir.S3Socket)); err != nil {
		return nil, err
	}
	s := &Server{
		Endpoint:   insideURL,
		HTTPClient: newHTTPClient(to),
		Keys:       keys,
		Node:       Credentials{nodeKeyID, newCredentials().SecretAccessKey},
		opts:       opts,
		ended:      make(chan struct{}),
		done:       make(chan struct{}),
	}
	if listener != nil {
		s.Port = listener.Addr().(*net.TCPAddr).Port
	}
	if s.release, err = captureErrors(opts.Logger); err != nil {
		return nil, err
	}
	listening, err := s.run(notifying{Backend: roomy{guarded{storage, keys}, opts.Room, &s.files}, notify: opts.Notify}, to.address)
	if err != nil {
		s.release()
		return nil, err
	}
	if err := s.prepare(ctx, listening, storage); err != nil {
		s.cancel()
		<-s.ended // could only repeat err
		return nil, err
	}
	if listener == nil {
		return s, nil
	}
	s.openDoor(listener, newDoor(keys, &s.issuer, front.NewSlots(maxClientRequests, maxSourceRequests), to, opts.Logger))
	if err := s.probe(ctx, listener.Addr()); err != nil {
		_ = s.Close() // could only repeat err
		return nil, err
	}
	return s, nil
}

// running says that this process has an endpoint. It cannot have two: the storage needs its
// own working directory.
var running atomic.Bool

// run starts the endpoint's goroutine. It returns a channel that is closed when the
// endpoint listens.
func (s *Server) run(storage backend.Backend, address string) (<-chan struct{}, error) {
	if !running.CompareAndSwap(false, true) {
		return nil, errors.New("start the S3 endpoint: this process has one already")
	}
	listening := make(chan struct{})
	utils.SetBucketNameValidationStrict(true)
	gateway, err := s3api.New(storage, middlewares.RootUserConfig{Access: s.Node.AccessKeyID, Secret: s.Node.SecretAccessKey},
		Region, accounts{s.Keys}, nil, nil, nil, nil,
		s3api.WithConcurrencyLimiter(maxConnections, maxRequests),
		s3api.WithMpMaxParts(maxParts),
		s3api.WithSocketPerm(0o600),
		s3api.WithQuiet(),
		// No option for keep-alive: the endpoint does not read the body of a refused or
		// conditional upload, and would take it for the next request.
		s3api.WithOnListen(func() { close(listening) }),
	)
	if err != nil {
		running.Store(false)
		return nil, fmt.Errorf("start the S3 endpoint: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		defer running.Store(false)
		defer s.release()
		s.endedErr = serve(ctx, gateway, storage, address)
	}()
	return listening, nil
}

// serve runs the endpoint at an address until ctx ends, or until it fails. Package embedgw
// does that, too, but links clients of message queues, directories and vaults.
func serve(ctx context.Context, gateway *s3api.S3ApiServer, storage backend.Backend, address string) (err error) {
	defer storage.Shutdown()
	failed := make(chan error, 1)
	go func() { failed <- gateway.ServeMultiPort([]string{address}) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	if stopped := gateway.ShutDown(); stopped != nil {
		fmt.Fprintf(os.Stderr, "shutdown api server: %v\n", stopped)
	}
	return err
}

func (s *Server) prepare(ctx context.Context, listening <-chan struct{}, storage ownership) error {
	select {
	case <-listening:
		return s.prepareBucket(ctx, storage)
	case <-s.ended:
		return fmt.Errorf("start the S3 endpoint: %w", s.endedErr)
	case <-ctx.Done():
		return fmt.Errorf("start the S3 endpoint: %w", ctx.Err())
	}
}

// openDoor lets clients in.
func (s *Server) openDoor(listener net.Listener, handler http.Handler) {
	s.door = front.Open(front.Options{
		Name:      "the S3 endpoint",
		Listener:  listener,
		TLS:       &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.opts.Certificate},
		Handler:   handler,
		Logger:    s.opts.Logger,
		Untrusted: s.opts.Untrusted,
		Proxies:   s.opts.Proxies,
	})
	go func() {
		defer close(s.done)
		select {
		case <-s.door.Done():
		case <-s.ended:
		}
	}()
}

// probe makes sure that a client that connects finds the door.
func (s *Server) probe(ctx context.Context, addr net.Addr) error {
	if err := front.Probe(ctx, addr, &tls.Config{RootCAs: s.opts.Roots, ServerName: s.opts.ServerName}); err != nil {
		return fmt.Errorf("the S3 endpoint does not answer at its own address: %w", err)
	}
	return nil
}
