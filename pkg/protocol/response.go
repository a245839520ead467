package protocol

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	fastgzip "github.com/klauspost/compress/gzip"
	"github.com/larder-registry/larder/pkg/pages"
)

// What caches may do with a response.
const (
	public     = "public, max-age=300"
	revalidate = "private, no-cache"
	noStore    = "no-store" // errors, and everything with a presigned URL
)

// From these sizes on, in bytes, a body is compressed for clients that accept it.
const (
	// gzipFrom is for documents that are made once: a smaller one fits into a packet
	// as it is.
	gzipFrom = 1 << 10

	// gzipMadeFrom is for bodies that are made for each request. A smaller one arrives
	// in the same round trip whether or not it is compressed: a server sends ten packets
	// at once, and they have room for it and its headers.
	gzipMadeFrom = 13 << 10
)

// Values of headers, in the form of [http.Header]. All responses share them, so nobody
// may change them.
var (
	caches       = map[string][]string{public: {public}, revalidate: {revalidate}, noStore: {noStore}}
	noSniff      = []string{"nosniff"}
	jsonType     = []string{"application/json"}
	markdownType = []string{pages.Type}
	plainType    = []string{"text/plain; charset=utf-8"}
	varyEncoding = []string{"Accept-Encoding"}
	varyAccept   = []string{"Accept-Encoding, Accept"}
	varyVersion  = []string{versionHeader}
	gzipEncoding = []string{"gzip"}
	noLength     = []string{"0"}
)

// response is an answer before it is compressed and sent.
type response struct {
	status   int
	cache    string
	header   [2]field  // beside the headers of every response
	body     []byte    // a JSON document that was made for this request, or nil
	document *document // one that was not, instead of body; for status 200
}

// field is a header in the form of [http.Header]; the zero one is no header.
type field struct {
	name   string
	values []string
}

// write sends the response, to HEAD without its body. It returns the status, and how many
// bytes of the body it has sent.
func (res response) write(w http.ResponseWriter, r *http.Request) (status, written int) {
	h := w.Header()
	h["Cache-Control"] = caches[res.cache]
	h["X-Content-Type-Options"] = noSniff
	for _, f := range res.header {
		if f.name != "" {
			h[f.name] = f.values
		}
	}
	if res.document != nil {
		return res.document.writeTo(w, r)
	}
	body := res.body
	if body != nil {
		h["Content-Type"] = jsonType
		h["Vary"] = varyEncoding
		if len(body) > gzipMadeFrom && acceptsGzip(r.Header) {
			h["Content-Encoding"] = gzipEncoding
			body = fastest.compress(body)
		}
		h["Content-Length"] = length(body)
	} else if res.status != http.StatusNoContent { // a server says so to GET alone
		h["Content-Length"] = noLength
	}
	w.WriteHeader(res.status)
	if body == nil || r.Method == http.MethodHead {
		return res.status, 0
	}
	written, _ = w.Write(body) // fails only when the client has gone
	return res.status, written
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
	values := h["Accept-Encoding"]
	if len(values) == 1 && values[0] == "gzip" { // as the CLIs ask
		return true
	}
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
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

// compressor compresses at one level of one library.
type compressor struct{ writers sync.Pool }

// gzipWriter writes gzip to another writer after each Reset.
type gzipWriter interface {
	io.WriteCloser
	Reset(io.Writer)
}

var (
	// fastest is for what is sent once. For that klauspost/compress takes half of the time.
	fastest = newCompressor(func() (gzipWriter, error) { return fastgzip.NewWriterLevel(io.Discard, fastgzip.BestSpeed) })

	// thorough is for what is kept: its lists of versions are a seventh smaller, for twice the
	// time. The levels above take four times as long, and are no better.
	thorough = newCompressor(func() (gzipWriter, error) { return gzip.NewWriterLevel(io.Discard, gzip.DefaultCompression) })
)

// newCompressor keeps its writers, because one takes far more memory than the body that it
// writes.
func newCompressor(newWriter func() (gzipWriter, error)) *compressor {
	return &compressor{sync.Pool{New: func() any {
		w, _ := newWriter() // fails for an unknown level only
		return w
	}}}
}

// compress works in memory, where nothing can fail.
func (c *compressor) compress(body []byte) []byte {
	var compressed bytes.Buffer
	w := c.writers.Get().(gzipWriter)
	defer c.writers.Put(w)
	w.Reset(&compressed)
	_, _ = w.Write(body)
	_ = w.Close()
	return compressed.Bytes()
}
