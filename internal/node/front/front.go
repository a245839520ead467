// Package front is how strangers come in: an HTTPS server at which nobody can
// take so much, be it connections, time or memory, that others get nothing.
//
// A connection that waits, be it for a handshake, for a request or for the next
// one, is the first to be closed where there is no room for another. Whoever
// opens thousands and sends nothing so closes their own, whatever they come as.
// Where none waits, whoever has most of them makes room for who has far fewer.
//
// Who somebody is, is the address that connects, or the one that a proxy names which
// an operator trusts.
//
// HTTP/1.1 is all that is spoken, so that a connection is a request at most, and
// who counts connections has counted requests. By HTTP/2 one connection has
// hundreds, each with a body that a handler holds until the rest of it comes.
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

// What a client may take until a handler sees its request.
const (
	HeaderTimeout  = 5 * time.Second // also for the handshake
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10

	// stopTimeout bounds how long requests may take to end at a stop.
	stopTimeout = 10 * time.Second
)

// How many connections there may be: MaxConnections in all, of them
// MaxPerSource of one address. An office behind one address has room enough in
// MaxPerSource, and with it there is as much again for everybody else.
const (
	MaxConnections = 2048
	MaxPerSource   = 1024
)

// Options are what Open needs to know.
type Options struct {
	// Name is what errors call the server.
	Name string
	// Listener is where it listens; the server takes it over.
	Listener net.Listener
	TLS      *tls.Config
	Handler  http.Handler
	Logger   *slog.Logger
	// Untrusted is what the log advises where a client does not trust the
	// server's certificate.
	Untrusted string
	// Proxies are believed when they say, in X-Forwarded-For, from which address
	// a request came to them.
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
			// What strangers write is no answer of the handler's.
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

// Done is closed when the server has ended, be it by Close or by a failure.
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

// Close stops accepting requests and waits for those under way, which it cuts
// off when they take too long.
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
