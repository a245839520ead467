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

// How many requests of clients may be under way: fewer than the endpoint takes,
// for the node has its own; and of one address half as many, so that nobody who
// has an URL to download from keeps all others from their downloads.
const (
	maxClientRequests = 768
	maxSourceRequests = 384
)

// maxDocument is the largest body, in bytes, of a request that is no upload:
// the endpoint has it in memory. The largest that clients make completes an
// upload of 10,000 parts, with a checksum of each.
const maxDocument = 4 << 20

// door is what clients talk to: it passes on to the endpoint what is signed with
// an access key that there is, and refuses all else before anything of its body
// is read. The endpoint checks signatures itself, and who may do what, but reads
// bodies, and keeps them, before it knows whose they are. Whoever asks for an access
// key has none to sign with, and is answered by somebody else.
type door struct {
	keys   *Keys
	issuer *atomic.Pointer[http.Handler] // of access keys; nil while there is none
	slots  *front.Slots
	proxy  *httputil.ReverseProxy
	logger *slog.Logger
	line   func() bool // another one in the log of what an access key may not do
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
		_, _ = control.SetReadDeadline(now), control.SetWriteDeadline(now) // the client may do nothing
	})
	if release == nil {
		slowDown.answer(w, r)
		return
	}
	defer release()
	body := r.Body
	if isUpload(r) {
		r.Body = io.NopCloser(body)
		_ = http.NewResponseController(w).EnableFullDuplex() // or the answer waits for the body, and the client with "Expect" for the answer
	}
	answer := &counter{ResponseWriter: w, status: http.StatusOK}
	next.ServeHTTP(answer, r.WithContext(ctx))
	if answer.status == http.StatusForbidden {
		d.tellDenied(r, who)
	}
	if isUpload(r) && ctx.Err() == nil {
		readRest(w, body)
	}
}

// tellDenied has a line in the log for what somebody's access key is not good for. A
// download that is denied has one of its own.
func (d *door) tellDenied(r *http.Request, who string) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || who == "" || !d.line() {
		return
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	d.logger.WarnContext(r.Context(), "the access key is not good for that", "by", who, "method", r.Method, "key", keyOf(r), "client", client)
}

// maxRest is how much of an upload is read, in bytes, after it was refused.
const maxRest = 64 << 20

// readRest reads what the endpoint has left of an upload that it refused. Some
// clients, as the AWS CLI, look for an answer when they have sent all, and know of
// none where the connection ends before.
func readRest(w http.ResponseWriter, body io.Reader) {
	if err := http.NewResponseController(w).Flush(); err == nil {
		_, _ = io.CopyN(io.Discard, body, maxRest)
	}
}

// admit returns what answers a request and who has signed it, or why nothing does.
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

// verify returns by which name the one is known who has signed a request.
func (d *door) verify(r *http.Request) (who string, err error) {
	verifier := sigv4.Verifier{Region: Region, Secret: func(accessKeyID, sessionToken string) (string, bool) {
		h, ok := d.keys.holder(accessKeyID, sessionToken)
		who = h.name
		return h.SecretAccessKey, ok
	}}
	err = verifier.Verify(r, time.Now())
	return who, err
}

// errMadeRoom reports that a request was ended for one of a client who had fewer.
var errMadeRoom = errors.New("too many requests of this client are under way")

// rewrite makes of a request what the endpoint gets: the same, for it is signed.
func rewrite(r *httputil.ProxyRequest) {
	path, query, asks := strings.Cut(r.In.RequestURI, "?")
	r.Out.URL = &url.URL{Scheme: "http", Host: r.In.Host, Opaque: path, RawQuery: query, ForceQuery: asks}
	r.Out.Host = r.In.Host
	r.Out.Header.Del("Expect") // it was answered here
}

// maxCompletion is the largest answer, in bytes, to who completes an upload.
const maxCompletion = 64 << 10

// sayHTTPS mends the address in the answer to who completes an upload: the
// endpoint does not know how clients reach it.
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

// buffers are those in which bodies of answers pass by.
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
