package locals3

import (
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/larder-registry/larder/internal/node/front"
)

// downloads has a line in the log for each download of an object that next answers.
// The query is in none of them, for it may be a signature. Those that are refused
// anybody can cause, so not all of them have one.
type downloads struct {
	next   http.Handler
	logger *slog.Logger
	line   func() bool // another one of those that anybody can cause
}

func newDownloads(next http.Handler, logger *slog.Logger) http.Handler {
	return &downloads{next, logger, front.LimitOfLines()}
}

// ServeHTTP implements http.Handler.
func (d *downloads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := downloaded(r)
	if key == "" {
		d.next.ServeHTTP(w, r)
		return
	}
	start, counted := time.Now(), &counter{ResponseWriter: w, status: http.StatusOK}
	whole := false
	defer func() { // also where the proxy breaks off an answer, by a panic
		if refused := counted.status >= 400 && counted.status < 500; refused && !d.line() {
			return
		}
		client, _, _ := net.SplitHostPort(r.RemoteAddr)
		words := []any{"key", key, "status", counted.status, "bytes", counted.written, "client", client, "duration", time.Since(start)}
		if !whole {
			words = append(words, "broken_off", true)
		}
		d.logger.InfoContext(r.Context(), "download", words...)
	}()
	d.next.ServeHTTP(counted, r)
	whole = true
}

// aboutObjects are the parameters by which a query asks for something else of an
// object than its bytes.
var aboutObjects = []string{"acl", "attributes", "legal-hold", "retention", "tagging", "torrent", "uploadId"}

// downloaded is the key of the object that a request downloads, or empty.
func downloaded(r *http.Request) string {
	if r.Method != http.MethodGet {
		return ""
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); slices.Contains(aboutObjects, name) {
			return ""
		}
	}
	return keyOf(r)
}

// keyOf is the key that a request names, cut to the length that one may have.
func keyOf(r *http.Request) string {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	const longest = 1024
	if len(key) > longest {
		key = strings.ToValidUTF8(key[:longest], string(utf8.RuneError))
	}
	return key
}

// counter counts what is answered.
type counter struct {
	http.ResponseWriter
	status  int
	written int64
}

// WriteHeader implements http.ResponseWriter.
func (c *counter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.written += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
