package serve

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/larder-registry/larder/internal/node/front"
)

// The time that a client may take. Bodies of requests are small, and the handlers that read
// them bound them. Answers are documents of at most a few megabytes.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
)

// startWeb serves handler on listener, which it takes over.
func startWeb(listener net.Listener, certs *certificates, proxies []netip.Prefix, handler http.Handler, logger *slog.Logger) *front.Server {
	return front.Open(front.Options{
		Name:         "the registry",
		Listener:     listener,
		TLS:          certs.tlsConfig(),
		Handler:      handler,
		Logger:       logger,
		Untrusted:    certs.adviceOfRegistry(),
		Proxies:      proxies,
		ReadTimeout:  readTimeout,
		WriteTimeout: writeTimeout,
	})
}
