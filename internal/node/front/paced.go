package front

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// The limits of bodies of requests and answers. They may have any size and the line may be
// slow. But a client that stops is cut off, and so is a client that does not reach minRate
// over all the time that the server has waited for it.
const (
	stallTimeout = time.Minute
	minRate      = 1 << 10 // bytes a second
)

// Paced serves next, and cuts off clients that send or read bodies too slowly.
func Paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // for "100 Continue"
		if r.Body != http.NoBody {
			// In a copy: the server looks at the body of its own request to know whether
			// the client still waits for "100 Continue". With another body it would read
			// the rest before an answer, and both would wait.
			r = r.WithContext(r.Context())
			r.Body = &pacedBody{ReadCloser: r.Body, control: control}
		}
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, control: control}, r)
		_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // for what is not sent yet
	})
}

// pace is the time and bytes of one direction of a transfer so far.
type pace struct {
	moved  int64
	waited time.Duration
}

// deadline is the time until which the server waits for the client from now on.
func (p *pace) deadline(now time.Time) time.Time {
	earned := time.Duration(p.moved/minRate) * time.Second
	return now.Add(min(stallTimeout, stallTimeout+earned-p.waited))
}

func (p *pace) add(n int, begun time.Time) {
	p.moved += int64(n)
	p.waited += time.Since(begun)
}

// pacedBody is a request's body.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	pace    pace

	mu            sync.Mutex
	ended, closed bool
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	begun := time.Now()
	if err := b.wait(b.pace.deadline(begun)); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.pace.add(n, begun)
	if err == io.EOF {
		b.end()
	}
	return n, err
}

// Close implements io.Closer. It also ends a Read that is under way. Unless the body was
// read to its end, the connection cannot have another request then.
func (b *pacedBody) Close() error {
	b.mu.Lock()
	if !b.ended && !b.closed {
		_ = b.control.SetReadDeadline(time.Now())
	}
	b.closed = true
	b.mu.Unlock()
	return b.ReadCloser.Close()
}

// wait sets the time until which the next Read waits.
func (b *pacedBody) wait(until time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return http.ErrBodyReadAfterClose
	}
	if b.ended {
		return io.EOF
	}
	return b.control.SetReadDeadline(until)
}

// end removes the deadline, so that it does not hold for the next request.
func (b *pacedBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
}

// pacedWriter is an answer's body.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
}

// Write implements io.Writer.
func (w *pacedWriter) Write(p []byte) (int, error) {
	begun := time.Now()
	if err := w.control.SetWriteDeadline(w.pace.deadline(begun)); err != nil {
		return 0, err
	}
	n, err := w.ResponseWriter.Write(p)
	w.pace.add(n, begun)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
