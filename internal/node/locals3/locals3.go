// Package locals3 is the bucket of a single node: an S3 endpoint inside the process. It
// keeps its objects in the data folder, and reports in-process which keys were written.
//
// It knows its clients by their access keys, which may change while it serves. The
// registry's own key has every right, and signs the URLs that clients download from. The
// operator's key may write everywhere but below registry/, which it may only read. Each
// uploader has a key for some namespaces.
//
// The registry sends its requests to the endpoint, too. But it reads the bytes of an object
// from the object's file: see [DirectBucket].
//
// The S3 implementation allows one endpoint per process. It makes its folder the process's
// working directory, so all other code needs absolute paths. It trusts its clients before
// it knows them. So it listens at a socket in the data folder, behind a door that lets
// only signed requests in.
package locals3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/front"
)

const (
	// Bucket is the bucket's name.
	Bucket = "larder"
	// Region is the bucket's region, which clients must name.
	Region = "us-east-1"
	// insideURL is the URL of the endpoint behind its socket. Nobody looks its host up.
	insideURL = "http://" + Bucket

	// RegistryFolder is the part of the bucket that the operator may only read.
	RegistryFolder = "registry"

	// nodeKeyID is the access key ID of the bucket's owner, the node.
	nodeKeyID = "LARDERNODE"
)

const (
	maxConnections = 2048
	maxRequests    = 1024   // of clients and of the node
	maxParts       = 10_000 // as on AWS

	// startTimeout bounds how long the endpoint may take until it answers.
	startTimeout = 30 * time.Second
	// stopTimeout bounds Close. The endpoint itself gives requests that are
	// under way ten seconds to end.
	stopTimeout = 15 * time.Second
)

// Options are those of [Start].
type Options struct {
	// Dir holds the objects and the access keys.
	Dir *datadir.Dir
	// Addr is the host:port to listen on; port 0 is any free one.
	Addr string
	// Certificate returns the certificate for a new connection. It may change.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// ServerName is a name of the certificate, and Roots are the authorities that issued
	// it: Start connects to its own address.
	ServerName string
	Roots      *x509.CertPool
	// Untrusted is the advice in the log about a client that does not trust the
	// certificate.
	Untrusted string
	// Proxies are trusted to say from which address a request came.
	Proxies []netip.Prefix
	// Notify is called with the key of every object that anybody has written, after it
	// can be read, and of every object that was deleted; not if one version was removed
	// for good. It must return at once, and is called from many goroutines.
	Notify func(key string)
	// Room says whether the disk has room for size more bytes of uploads.
	Room func(size int64) bool
	// Logger gets errors that are not in the answer to a request.
	Logger *slog.Logger
}

// A Server is a running S3 endpoint.
type Server struct {
	// Endpoint is the URL at which this process, and only this one, reaches the endpoint
	// with HTTPClient.
	Endpoint   string
	HTTPClient *http.Client
	// Port is the port at which clients reach the endpoint.
	Port int
	// Keys are the access keys that clients have. They may be changed.
	Keys *Keys
	// Node is this process's own access key, with all rights. Nobody else has it, and the
	// door does not know it.
	Node Credentials

	opts     Options
	door     *front.Server
	issuer   atomic.Pointer[http.Handler] // of access keys
	files    openFiles                    // that this process reads
	cancel   context.CancelFunc
	release  func() // of standard error
	ended    chan struct{}
	endedErr error // why the endpoint ended; read after ended
	done     chan struct{}
}

// IssueBy sets the handler of requests for an access key, which are forms without a
// signature. The handler must bound what it reads, and how often it is asked. Without a
// handler, these requests are refused as all others that are not signed.
func (s *Server) IssueBy(handler http.Handler) { s.issuer.Store(&handler) }

// Done is closed when the endpoint has ended, by Close or by a failure, which Err then
// returns.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the endpoint ended, and nil while it runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.ended:
		return s.endedErr
	default:
		return s.door.Err()
	}
}

// Close stops the endpoint. Requests that are under way have ten seconds to end.
func (s *Server) Close() error {
	var failed, err error
	if s.door != nil {
		failed, err = s.door.Err(), s.door.Close()
	}
	s.cancel()
	select {
	case <-s.ended:
		err = errors.Join(failed, err, s.endedErr)
	case <-time.After(stopTimeout):
		err = errors.Join(failed, err, fmt.Errorf("the S3 endpoint did not stop within %v", stopTimeout))
	}
	return err
}
