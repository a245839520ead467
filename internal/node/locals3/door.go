package locals3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/internal/node/sigv4"
)

// The limits of requests of clients that are under way: fewer than the endpoint takes,
// because the node has its own requests; and half as many of one address, so that one
// client with a download URL cannot keep all others from their downloads.
const (
	maxClientRequests = 768
	maxSourceRequests = 384
)

// maxDocument is the largest body, in bytes, of a request that is not an upload: the
// endpoint reads it into memory. The largest one of a client completes an upload of 10,000
// parts, with a checksum of each.
const maxDocument = 4 << 20

// door answers clients. It passes requests that are signed with a known access key on to
// the endpoint, and refuses all others before it reads anything of their bodies. The
// endpoint checks signatures and rights itself, but reads and keeps bodies before it knows
// who sent them. A client that asks for an access key has none to sign with; the issuer
// answers it.
type door struct {
	keys   *Keys
	issuer *atomic.Pointer[http.Handler] // of access keys; nil while there is none
	slots  *front.Slots
	proxy  *httputil.ReverseProxy
	logger *slog.Logger
	line   func() bool // whether the log has room for another line about missing rights
}

// newDoor returns the door to the endpoint at a socket.
func newDoor(keys *Keys, issuer *atomic.Pointer[http.Handler], slots *front.Slots, inside http.RoundTripper, logger *slog.Logger) http.Handler {
	d := &door{
		keys:   keys,
		issuer: issuer,
		slots:  slots,
		logger: logger,
		line:   front.LimitOfLines(),
		proxy: &httputil.ReverseProxy{
			Rewrite:        rewrite,
			Transport:      inside,
			ModifyResponse: sayHTTPS,
			BufferPool:     &buffers{},
			FlushInterval:  -1, // a client may wait for its answer before it sends any more
			ErrorHandler:   func(w http.ResponseWriter, r *http.Request, err error) { failed(w, r, err, logger) },
			ErrorLog:       log.New(io.Discard, "", 0), // of clients that went away
		},
	}
	return front.Paced(newDownloads(d, logger))
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	next, who, no := d.admit(w, r)
	if no != nil {
		no.answer(w, r)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	release := d.slots.Take(r.RemoteAddr, func() {
		cancel(errMadeRoom)
		control, now := http.NewResponseController(w), time.Now()
		_, _ = control.SetReadDeadline(now), control.SetWriteDeadline(now) // the client may be silent
	})
	if release == nil {
		slowDown.answer(w, r)
		return
	}
	defer release()
	body := r.Body
	if isUpload(r) {
		r.Body = io.NopCloser(body)
		_ = http.NewResponseController(w).EnableFullDuplex() // else the answer waits for the body, and a client with "Expect" waits for the answer
	}
	answer := &counter{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, r.WithContext(ctx))
	if answer.status == http.StatusForbidden {
		d.logDenied(r, who)
	}
	if isUpload(r) && ctx.Err() == nil {
		readRest(w, body)
	}
}

// logDenied logs that an access key lacks the right for a request. Denied downloads are
// logged elsewhere.
func (d *door) logDenied(r *http.Request, who string) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || who == "" || !d.line() {
		return
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	d.logger.WarnContext(r.Context(), "the access key is not good for that", "by", who, "method", r.Method, "key", keyOf(r), "client", client)
}

// maxRest is how much of a refused upload is read, in bytes.
const maxRest = 64 << 20

// readRest reads what the endpoint has left of an upload that it refused. Some clients,
// such as the AWS CLI, read the answer only when they have sent all, and get no answer if
// the connection ends before.
func readRest(w http.ResponseWriter, body io.Reader) {
	if err := http.NewResponseController(w).Flush(); err == nil {
		_, _ = io.CopyN(io.Discard, body, maxRest)
	}
}

// admit returns the handler of a request and the name of its signer, or a refusal.
func (d *door) admit(w http.ResponseWriter, r *http.Request) (next http.Handler, who string, no *refusal) {
	if no := misshapen(r); no != nil {
		return nil, "", no
	}
	if issuer := d.issuer.Load(); issuer != nil && asksForKeys(r) {
		return *issuer, "", nil
	}
	who, err := d.verify(r)
	if err != nil {
		return nil, "", unauthenticated(err)
	}
	if !isUpload(r) {
		if r.ContentLength > maxDocument {
			return nil, "", &tooLarge
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxDocument)
	}
	if hasNoLength(r) {
		return nil, "", &noLength
	}
	return d.proxy, who, nil
}

// verify returns the name of the holder of the key that signed a request.
func (d *door) verify(r *http.Request) (who string, err error) {
	verifier := sigv4.Verifier{Region: Region, Secret: func(accessKeyID, sessionToken string) (string, bool) {
		h, ok := d.keys.holder(accessKeyID, sessionToken)
		who = h.name
		return h.SecretAccessKey, ok
	}}
	err = verifier.Verify(r, time.Now())
	return who, err
}

// errMadeRoom reports that a request was ended to make room for a client with fewer.
var errMadeRoom = errors.New("too many requests of this client are under way")

// rewrite makes the request to the endpoint: the same, because it is signed.
func rewrite(r *httputil.ProxyRequest) {
	path, query, asks := strings.Cut(r.In.RequestURI, "?")
	r.Out.URL = &url.URL{Scheme: "http", Host: r.In.Host, Opaque: path, RawQuery: query, ForceQuery: asks}
	r.Out.Host = r.In.Host
	r.Out.Header.Del("Expect") // the door answers it
}

// maxCompletion is the largest answer to the completion of an upload, in bytes.
const maxCompletion = 64 << 10

// sayHTTPS mends the address in the answer to the completion of an upload: the endpoint
// does not know how clients reach it.
func sayHTTPS(response *http.Response) error {
	completes := response.Request.Method == http.MethodPost && response.StatusCode == http.StatusOK && response.ContentLength <= maxCompletion
	if !completes || response.ContentLength < 0 {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	body = bytes.Replace(body, []byte("<Location>http://"), []byte("<Location>https://"), 1)
	response.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), response.Body}
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// failed answers a request that the endpoint did not answer.
func failed(w http.ResponseWriter, r *http.Request, err error, logger *slog.Logger) {
	no := bodyFailed(err)
	if errors.Is(context.Cause(r.Context()), errMadeRoom) {
		no = &slowDown
	}
	if no == nil {
		if r.Context().Err() == nil {
			logger.Error("the S3 endpoint did not answer", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		no = &internal
	}
	no.answer(w, r)
}

// buffers are the buffers through which bodies of answers go.
type buffers struct{ pool sync.Pool }

const bufferSize = 64 << 10

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
