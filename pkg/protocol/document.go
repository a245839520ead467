package protocol

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/larder-registry/larder/internal/jsonstring"
)

// document is a document, of JSON unless its kind is another, that is made once and sent many
// times.
type document struct {
	plain  []byte // nil if it is kept compressed
	packed []byte // by gzip; nil if it is small

	// Values of headers.
	kind, etag, plainLength, packedLength []string
}

// newDocument compresses a JSON document if that is worth it.
func newDocument(plain []byte) *document {
	d := &document{plain: plain, kind: jsonType, plainLength: length(plain)}
	kept := plain
	if len(plain) > gzipFrom {
		kept = bytes.Clone(thorough.compress(plain)) // without the room to grow
		d.plain, d.packed, d.packedLength = nil, kept, length(kept)
	}
	// Both forms have the same tag. So it is weak, which is enough: there are no ranges.
	sum := sha256.Sum256(kept)
	d.etag = []string{`W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}
	return d
}

func length(body []byte) []string { return []string{strconv.Itoa(len(body))} }

// size implements [answer].
func (d *document) size() int { return cap(d.plain) + cap(d.packed) }

// writeTo sends the document with its headers, or 304 to a client that has it already. It
// returns the status, and how many bytes of the body it has sent.
func (d *document) writeTo(w http.ResponseWriter, r *http.Request) (status, written int) {
	h := w.Header()
	h["Etag"] = d.etag
	if h["Vary"] == nil {
		h["Vary"] = varyEncoding
	}
	if matches(r.Header["If-None-Match"], d.etag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified, 0
	}
	h["Content-Type"] = d.kind
	body := d.plain
	if d.packed != nil && acceptsGzip(r.Header) {
		h["Content-Encoding"], body = gzipEncoding, d.packed
		h["Content-Length"] = d.packedLength
	} else {
		h["Content-Length"] = d.plainLength
	}
	w.WriteHeader(http.StatusOK)
	switch {
	case r.Method == http.MethodHead:
	case body != nil:
		written, _ = w.Write(body) // fails only when the client has gone
	default:
		written = d.unpackTo(w)
	}
	return http.StatusOK, written
}

// gzipReaders are kept because each takes far more memory than the document that it reads.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unpackTo sends the document as it was before it was compressed, and returns how many
// bytes it has sent.
func (d *document) unpackTo(w io.Writer) int {
	r := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(r)
	_ = r.Reset(bytes.NewReader(d.packed)) // what compress has written can be read
	written, _ := io.Copy(w, r)            // fails only when the client has gone
	return int(written)
}

// matches says whether one of the tags that a client has is this one. Both may be weak.
func matches(fields []string, etag string) bool {
	want := strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	for _, field := range fields {
		for {
			field = strings.TrimLeft(field, " \t,")
			if strings.HasPrefix(field, "*") {
				return true
			}
			quoted, isTag := strings.CutPrefix(strings.TrimPrefix(field, "W/"), `"`)
			tag, rest, isWhole := strings.Cut(quoted, `"`)
			if !isTag || !isWhole {
				break // the end, or something else
			}
			if tag == want {
				return true
			}
			field = rest
		}
	}
	return false
}

// template is a JSON document without its presigned URLs, which are made for each request.
type template struct {
	pieces [][]byte // one before each URL, and one after the last
	keys   []string // of the objects; the URL of each is after the piece of the same number
}

// until adds a piece, and the object whose URL comes after it.
func (t *template) until(piece []byte, key string) {
	t.pieces, t.keys = append(t.pieces, piece), append(t.keys, key)
}

// end adds the last piece.
func (t *template) end(piece []byte) { t.pieces = append(t.pieces, piece) }

// size implements [answer].
func (t *template) size() int {
	size := 0
	for _, piece := range t.pieces {
		size += cap(piece) + 24
	}
	for _, key := range t.keys {
		size += len(key) + 16
	}
	return size
}

// fill is the document with URLs.
func (t *template) fill(ctx context.Context, presigner Presigner) ([]byte, error) {
	var body []byte
	for i, key := range t.keys {
		url, err := presign(ctx, presigner, key)
		if err != nil {
			return nil, err
		}
		if body == nil { // the other URLs are about as long
			body = make([]byte, 0, t.size()+len(t.keys)*(len(url)+len(url)/8))
		}
		body = append(body, t.pieces[i]...)
		body = jsonstring.Append(body, url)
	}
	return append(body, t.pieces[len(t.keys)]...), nil
}

func presign(ctx context.Context, presigner Presigner, key string) (string, error) {
	url, err := presigner.PresignGet(ctx, key)
	if err != nil {
		return "", fmt.Errorf("presign %s: %w", key, err)
	}
	return url, nil
}
