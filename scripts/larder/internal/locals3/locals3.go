// Package locals3 is the bucket of a single node: an S3 endpoint inside the
// process that keeps its objects in the data folder, and tells in-process
// which keys were written.
//
// It has two identities. The node's own has every right, and signs the URLs
// that clients download from. The uploader's is for people and their CI: it
// may write everywhere but under registry/, which it may only read.
//
// The S3 implementation allows one endpoint per process. It makes its folder
// the process's working directory, so all other code needs absolute paths.
package locals3

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"

	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
)

const (
	// Bucket is the bucket's name.
	Bucket = "larder"
	// Region is what clients have to name as the bucket's region.
	Region = "us-east-1"
	// RegistryFolder is the part of the bucket that the uploader may only read.
	RegistryFolder = "registry"
)

const (
	maxConnections = 2048
	maxRequests    = 1024
	maxParts       = 10_000 // as on AWS

	// startTimeout bounds how long the endpoint may take until it answers.
	startTimeout = 30 * time.Second
	// stopTimeout bounds Close. The endpoint itself gives requests that are
	// under way ten seconds to end.
	stopTimeout = 15 * time.Second
)

// Options are what Start needs to know.
type Options struct {
	// Dir holds the objects and the access keys.
	Dir *datadir.Dir
	// Addr is the host:port to listen on; port 0 stands for any free one.
	Addr string
	// CertFile is the absolute path of a PEM file with a certificate chain,
	// KeyFile that of one with its private key. Both may be the same file.
	CertFile, KeyFile string
	// ServerName is a name that the certificate is valid for, and Roots the
	// authorities that vouch for it: Start connects to its own endpoint.
	ServerName string
	Roots      *x509.CertPool
	// Notify is called with the key of every object that was written, by
	// whomever, after it can be read. It must return at once, and is called
	// from many goroutines.
	Notify func(key string)
	// Logger is told of what is not an answer to a request.
	Logger *slog.Logger
}

// A Server is a running S3 endpoint.
type Server struct {
	// Endpoint is the URL at which this process reaches the endpoint, with
	// HTTPClient, which trusts its certificate.
	Endpoint   string
	HTTPClient *http.Client
	// Port is the one that the endpoint listens on.
	Port int
	// Root is the node's own identity, and Uploader that for uploads.
	Root, Uploader Credentials

	gateway *s3api.S3ApiServer
	opts    Options
	cancel  context.CancelFunc
	release func() // of standard error
	done    chan struct{}
	err     error // why the endpoint ended; read after done
}

// Start starts the endpoint and returns when the bucket is there and answers.
// The endpoint serves until Close, or until it fails (see Done); ctx only
// bounds the start.
func Start(ctx context.Context, opts Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	addr, port, err := reserve(opts.Addr)
	if err != nil {
		return nil, err
	}
	keys, err := loadCredentials(opts.Dir)
	if err != nil {
		return nil, err
	}
	storage, err := openStorage(opts.Dir)
	if err != nil {
		return nil, err
	}
	release, err := captureErrors(opts.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Endpoint:   "https://" + reachable(addr),
		HTTPClient: newHTTPClient(opts),
		Port:       port,
		Root:       keys.Root,
		Uploader:   keys.Uploader,
		opts:       opts,
		release:    release,
		done:       make(chan struct{}),
	}
	listening := s.run(notifying{Backend: guarded{storage}, notify: opts.Notify}, addr)
	if err := s.prepare(ctx, listening); err != nil {
		_ = s.Close() // could only repeat err
		return nil, err
	}
	return s, nil
}

// run starts the endpoint's goroutine. The channel that it returns is closed
// when the endpoint listens.
func (s *Server) run(storage backend.Backend, addr string) <-chan struct{} {
	listening := make(chan struct{})
	config := &embedgw.Config{
		RootUserAccess:    s.Root.AccessKeyID,
		RootUserSecret:    s.Root.SecretAccessKey,
		Region:            Region,
		Ports:             []string{addr},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: maxParts,
		CertFile:          s.opts.CertFile,
		KeyFile:           s.opts.KeyFile,
		Quiet:             true,
		// One request per connection: the endpoint leaves unread what follows
		// a refused or conditional upload, and takes it for the next request.
		KeepAlive:  false,
		IAMService: accounts{uploader: s.Uploader},
		S3Options: []s3api.Option{
			func(gateway *s3api.S3ApiServer) { s.gateway = gateway },
			s3api.WithOnListen(func() { close(listening) }),
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.done)
		defer s.release()
		s.err = embedgw.RunVersityGW(ctx, storage, config)
	}()
	return listening
}

func (s *Server) prepare(ctx context.Context, listening <-chan struct{}) error {
	select {
	case <-listening:
		return s.prepareBucket(ctx)
	case <-s.done:
		return fmt.Errorf("start the S3 endpoint: %w", s.err)
	case <-ctx.Done():
		return fmt.Errorf("start the S3 endpoint: %w", ctx.Err())
	}
}

// Done is closed when the endpoint has ended, be it by Close or by a failure,
// which Err then tells.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the endpoint ended, and nil while it runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close stops the endpoint. Requests that are under way get ten seconds.
func (s *Server) Close() error {
	s.cancel()
	s.HTTPClient.CloseIdleConnections()
	select {
	case <-s.done:
		return s.err
	case <-time.After(stopTimeout):
		return fmt.Errorf("the S3 endpoint did not stop within %v", stopTimeout)
	}
}

// ReloadCertificate has new connections see what now is in the certificate
// files.
func (s *Server) ReloadCertificate() error {
	return s.gateway.CertStorage.SetCertificate(s.opts.CertFile, s.opts.KeyFile)
}

// reserve finds out whether the endpoint can listen on addr, and chooses a
// port where addr has none: the endpoint cannot tell which one it was given.
func reserve(addr string) (string, int, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return "", 0, fmt.Errorf("listen for S3 requests: %w; choose another address with LARDER_S3_ADDR", err)
	}
	defer listener.Close()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("listen for S3 requests: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return net.JoinHostPort(host, fmt.Sprint(port)), port, nil
}

// reachable returns where to connect to reach a listener on addr.
func reachable(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
