package front

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// What the bodies of requests and answers may take of a client's time: they may
// be of any size and the line slow, but who stops is cut off, and so is who
// does not come to minRate over all the time that was waited for them.
const (
	stallTimeout = time.Minute
	minRate      = 1 << 10 // bytes a second
)

// Paced serves next with bodies that a client cannot hold up for ever.
func Paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // for "100 Continue"
		if r.Body != http.NoBody {
			// A copy, for the server looks at the body of its own request to know
			// whether the client still waits for "100 Continue". Of another body
			// it would read the rest before an answer, and both would wait.
			r = r.WithContext(r.Context())
			r.Body = &pacedBody{ReadCloser: r.Body, control: control}
		}
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, control: control}, r)
		_ = control.SetWriteDeadline(time.Now().Add(stallTimeout)) // for what is not sent yet
	})
}

// pace is what one direction of a transfer has taken so far.
type pace struct {
	moved  int64
	waited time.Duration
}

// deadline is when the client's patience ends, of whom is waited for now.
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

// Close implements io.Closer: it ends a Read that is under way, too. Unless the
// body was read to its end, the connection is good for no further request then.
func (b *pacedBody) Close() error {
	b.mu.Lock()
	if !b.ended && !b.closed {
		_ = b.control.SetReadDeadline(time.Now())
	}
	b.closed = true
	b.mu.Unlock()
	return b.ReadCloser.Close()
}

// wait has the next Read wait until a time.
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

// end has whoever reads the next request wait for it as long as it takes.
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
