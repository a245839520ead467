package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// What a client may take: requests have no body to speak of, which whoever reads
// one bounds, and answers are documents of at most a few megabytes.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10

	// webStopTimeout bounds how long requests may take to end at a stop.
	webStopTimeout = 10 * time.Second
)

// web is a running HTTP server.
type web struct {
	server *http.Server
	done   chan struct{}
	err    error // why it ended; read after done
}

// startWeb serves handler on listener, which it takes over.
func startWeb(listener net.Listener, config *tls.Config, handler http.Handler, logger *slog.Logger) *web {
	w := &web{
		server: &http.Server{
			Handler:           handler,
			TLSConfig:         config,
			ReadHeaderTimeout: headerTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		},
		done: make(chan struct{}),
	}
	go func() {
		defer close(w.done)
		w.err = w.server.ServeTLS(listener, "", "")
	}()
	return w
}

// close stops accepting requests and waits for those under way, which it cuts
// off when they take too long.
func (w *web) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), webStopTimeout)
	defer cancel()
	err := w.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = w.server.Close()
	}
	<-w.done
	if err != nil {
		return fmt.Errorf("stop the registry: %w", err)
	}
	return nil
}
