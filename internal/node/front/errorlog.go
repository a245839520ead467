package front

import (
	"log"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/ttlcache"
	"golang.org/x/time/rate"
)

// How many lines of the log strangers can cause, in each second and at once: failed
// handshakes must not fill a disk.
const (
	linesPerSecond = 1
	linesAtOnce    = 20
)

// LimitOfLines returns a function that says whether another line that strangers cause may
// be logged.
func LimitOfLines() (admit func() bool) {
	return rate.NewLimiter(linesPerSecond, linesAtOnce).Allow
}

// newErrorLog logs errors of connections. Untrusted is the advice about clients that do
// not trust the server's certificate.
func newErrorLog(logger *slog.Logger, untrusted string) *log.Logger {
	return log.New(&errorLog{
		to:        logger,
		admit:     LimitOfLines(),
		untrusted: untrusted,
		said:      ttlcache.New[said, struct{}](maxSaid),
	}, "", 0)
}

// errorLog explains in words why a handshake failed, and passes on other lines of
// net/http, as many as its limit allows.
type errorLog struct {
	to        *slog.Logger
	admit     func() bool
	untrusted string
	said      *ttlcache.Cache[said, struct{}]
}

// handshakeFailed is the form of net/http's line about a failed handshake.
var handshakeFailed = regexp.MustCompile(`^http: TLS handshake error from (\S+): (.*)$`)

// Write implements io.Writer, of one line.
func (e *errorLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	parts := handshakeFailed.FindStringSubmatch(text)
	if parts == nil {
		if e.admit() {
			e.to.Warn(text)
		}
		return len(line), nil
	}
	from, reason := parts[1], parts[2]
	if why := e.inWords(reason); e.isNew(said{Source(from).String(), why}) && e.admit() {
		client, _, _ := net.SplitHostPort(from)
		e.to.Warn(why, "client", client, "error", reason)
	}
	return len(line), nil
}

// inWords explains why a handshake failed, and what to do.
func (e *errorLog) inWords(reason string) string {
	for _, known := range []struct{ part, words string }{
		{"unknown certificate authority", "a client does not trust this server's certificate: " + e.untrusted},
		// Terraform and OpenTofu give no other reason.
		{"bad certificate", "a client refuses this server's certificate, as a rule because it does not trust it, else because it asked for another host name: " + e.untrusted},
		{"unknown certificate", "a client refuses this server's certificate, as a rule because it does not trust it, else because it asked for another host name: " + e.untrusted},
		// Clients with OpenSSL, such as the AWS CLI, send their alert unencrypted, when this
		// server cannot read it any more.
		{"bad record MAC", "a client has broken the TLS handshake off, as a rule because it does not trust this server's certificate: " + e.untrusted},
		{"expired certificate", "a client takes this server's certificate for one that has ended: renew it, or set the client's clock"},
		{"an HTTP request to an HTTPS server", "a client sent a request without TLS: its URL must begin with https://"},
		{"does not look like a TLS handshake", "a client does not speak TLS"},
		{"offered only unsupported versions", "a client is too old: it must speak TLS 1.2 or 1.3"},
		{"i/o timeout", "a client did not finish the TLS handshake in time"},
		{"EOF", "a client went away before TLS began, as health checks and port scans do"},
		{"connection reset", "a client went away before TLS began, as health checks and port scans do"},
	} {
		if strings.Contains(reason, known.part) {
			return known.words
		}
	}
	return "a TLS handshake failed"
}

// said is a text that was logged about a client.
type said struct{ of, what string }

const (
	sayAgain = time.Hour // after which the same text is logged again
	maxSaid  = 1024      // texts that are remembered
)

// isNew says whether a text was not logged within the hour, and remembers that it is
// logged now. The limit of lines bounds a client with thousands of addresses.
func (e *errorLog) isNew(what said) bool {
	return e.said.PutNew(what, struct{}{}, time.Now(), sayAgain)
}
