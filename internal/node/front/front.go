// Package front is the HTTPS server for strangers. No client can take so many
// connections, so much time or so much memory that others get nothing.
//
// If there is no room for a new connection, a connection that waits is closed first: for
// a handshake, for a request or for the next one. So a client that opens thousands and
// sends nothing closes its own. If no connection waits, the client with the most makes
// room for a client with far fewer.
//
// A client is the address that connects, or the address that a trusted proxy names.
//
// It speaks only HTTP/1.1, so that a connection has one request at a time, and a limit of
// connections is a limit of requests. With HTTP/2 one connection has hundreds of requests,
// each with a body that a handler holds until the rest of it arrives.
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// The limits of a request until a handler sees it.
const (
	HeaderTimeout  = 5 * time.Second // also for the handshake
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10

	// stopTimeout bounds the time that requests have to end at a stop.
	stopTimeout = 10 * time.Second
)

// The limits of connections: MaxConnections in all, MaxPerSource of one address. An
// office behind one address has enough with MaxPerSource, and all others together have as
// many again.
const (
	MaxConnections = 2048
	MaxPerSource   = 1024
)

// Options are those of [Open].
type Options struct {
	// Name is the server's name in errors.
	Name string
	// Listener is the listener, which the server takes over.
	Listener net.Listener
	TLS      *tls.Config
	Handler  http.Handler
	Logger   *slog.Logger
	// Untrusted is the advice in the log about a client that does not trust the server's
	// certificate.
	Untrusted string
	// Proxies are trusted to say, in X-Forwarded-For, from which address a request came
	// to them.
	Proxies []netip.Prefix
	// ReadTimeout bounds a request, and WriteTimeout its answer. Zero: the
	// handler bounds them, with [Paced].
	ReadTimeout, WriteTimeout time.Duration
}

// A Server is a running HTTPS server.
type Server struct {
	name string
	http *http.Server
	done chan struct{}
	err  error // why it ended; read after done
}

// Open serves until Close, or until it fails (see Done).
func Open(o Options) *Server { return open(o, MaxConnections, MaxPerSource) }

func open(o Options, most, perSource int) *Server {
	errorLog := newErrorLog(o.Logger, o.Untrusted)
	connections := newConnections(o.Listener, most, perSource, errorLog)
	s := &Server{
		name: o.Name,
		http: &http.Server{
			Handler:           behind(o.Proxies, o.Handler),
			TLSConfig:         o.TLS,
			ReadHeaderTimeout: HeaderTimeout,
			ReadTimeout:       o.ReadTimeout,
			WriteTimeout:      o.WriteTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			Protocols:         http1(),
			ConnState:         connections.changed,
			ErrorLog:          errorLog,
			// The handler answers "OPTIONS *", too.
			DisableGeneralOptionsHandler: true,
		},
		done: make(chan struct{}),
	}
	s.http.RegisterOnShutdown(connections.closeWaiting)
	go func() {
		defer close(s.done)
		s.err = s.http.ServeTLS(connections, "", "")
	}()
	return s
}

func http1() *http.Protocols {
	only := new(http.Protocols)
	only.SetHTTP1(true)
	return only
}

// Probe connects to a server as a client does, and ends the connection after the handshake.
func Probe(ctx context.Context, addr net.Addr, client *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, HeaderTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: client}
	conn, err := dialer.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// Done is closed when the server has ended, by Close or by a failure.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server ended, and nil while it runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		if errors.Is(s.err, http.ErrServerClosed) {
			return nil
		}
		return s.err
	default:
		return nil
	}
}

// Close stops accepting requests, waits for those under way, and cuts off requests that
// take too long.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.done
	if err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}
