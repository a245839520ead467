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

// downloads logs each download of an object that next answers, without the query, which
// may be a signature. Anybody can cause refused downloads, so only some of them are logged.
type downloads struct {
	next   http.Handler
	logger *slog.Logger
	line   func() bool // whether another line that anybody can cause may be logged
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
	defer func() { // also when the proxy breaks an answer off, by a panic
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

// aboutObjects are the parameters of queries that ask for something else than the bytes of
// an object.
var aboutObjects = []string{"acl", "attributes", "legal-hold", "retention", "tagging", "torrent", "uploadId"}

// downloaded returns the key of the object that a request downloads, or "".
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

// keyOf returns the key that a request names, cut to the longest length of a key.
func keyOf(r *http.Request) string {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	const longest = 1024
	if len(key) > longest {
		key = strings.ToValidUTF8(key[:longest], string(utf8.RuneError))
	}
	return key
}

// counter counts the bytes of an answer, and keeps its status.
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
