package protocol

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// What caches may do with a response.
const (
	public     = "public, max-age=300"
	revalidate = "private, no-cache"
	noStore    = "no-store" // errors, and everything with a presigned URL
)

// gzipFrom is the size of a body, in bytes, from which on it is compressed for
// clients that accept it: a smaller one fits into a packet as it is.
const gzipFrom = 1 << 10

// response is an answer before it is compressed and sent.
type response struct {
	status int
	cache  string
	header map[string]string // beside the headers of every response
	body   []byte            // a JSON document, or nil
}

// write sends the response, to HEAD without its body, and returns how many bytes of the
// body it has sent.
func (res response) write(w http.ResponseWriter, r *http.Request) int {
	h := w.Header()
	h.Set("Cache-Control", res.cache)
	h.Set("X-Content-Type-Options", "nosniff")
	for name, value := range res.header {
		h.Set(name, value)
	}
	body := res.body
	if body != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Vary", "Accept-Encoding")
		if len(body) > gzipFrom && acceptsGzip(r.Header) {
			h.Set("Content-Encoding", "gzip")
			body = compress(body)
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
	} else if res.status != http.StatusNoContent { // a server says so to GET alone
		h.Set("Content-Length", "0")
	}
	w.WriteHeader(res.status)
	if body == nil || r.Method == http.MethodHead {
		return 0
	}
	written, _ := w.Write(body) // fails only when the client has gone
	return written
}

// countingWriter notes what another handler answers.
type countingWriter struct {
	http.ResponseWriter
	status, written int
}

func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(data []byte) (int, error) {
	n, err := w.ResponseWriter.Write(data)
	w.written += n
	return n, err
}

// acceptsGzip reads Accept-Encoding. A client that does not name gzip does not
// get it.
func acceptsGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, parameter, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		quality, given := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q=")
		if !given {
			return true
		}
		q, err := strconv.ParseFloat(quality, 64)
		return err == nil && q > 0
	}
	return false
}

// gzipWriters are kept because one takes far more memory than the body that it writes.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // fails for an unknown level only
	return w
}}

// compress works in memory, where nothing can fail.
func compress(body []byte) []byte {
	var compressed bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&compressed)
	_, _ = w.Write(body)
	_ = w.Close()
	return compressed.Bytes()
}

// encode writes one of this package's documents. All of them are made of
// strings and lists, which can always be written.
func encode(document any) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // it would spoil the look of every presigned URL
	if err := encoder.Encode(document); err != nil {
		panic(err)
	}
	return body.Bytes()
}
