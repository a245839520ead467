package locals3

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// inside sends each request over its own connection to the socket of the endpoint. The
// endpoint answers a refused or conditional upload early, and does not read its body;
// [http.Transport] would sometimes take that for a failure.
type inside struct{ address string }

func (i inside) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", i.address)
}

// RoundTrip implements http.RoundTripper.
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	conn, err := i.dial(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper must
		}
		return nil, err
	}
	e := &exchange{ctx: r.Context(), conn: conn, stop: context.AfterFunc(r.Context(), func() { _ = conn.Close() })}
	e.send(r)
	response, err := readAnswer(conn, r)
	if err != nil {
		e.end()
		return nil, cmp.Or(e.body.failed(), r.Context().Err(), err)
	}
	e.answer = response.Body
	if e.body.stillOpen() {
		_ = e.body.Close() // nobody reads the rest, and the client need not send it
	}
	response.Body = e
	return response, nil
}

// exchange is a request, its connection and the body of its answer.
type exchange struct {
	ctx    context.Context
	conn   net.Conn
	stop   func() bool // no longer close conn when ctx ends
	body   *sentBody
	sent   sync.WaitGroup
	answer io.ReadCloser
}

// send sends the request in the background.
func (e *exchange) send(r *http.Request) {
	e.body = &sentBody{ReadCloser: http.NoBody, ended: true}
	out := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		e.body = &sentBody{ReadCloser: r.Body}
		out.Body = e.body
	}
	out.Close = true
	e.sent.Go(func() {
		if err := out.Write(e.conn); err != nil && e.body.failed() != nil {
			_ = e.conn.Close() // so that the endpoint does not take the body for whole
		}
	})
}

// Read implements io.Reader, of the answer.
func (e *exchange) Read(p []byte) (int, error) {
	n, err := e.answer.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = cmp.Or(e.ctx.Err(), err)
	}
	return n, err
}

// Close implements io.Closer.
func (e *exchange) Close() error {
	err := e.answer.Close()
	e.end()
	return err
}

func (e *exchange) end() {
	e.stop()
	_ = e.conn.Close()
	_ = e.body.Close()
	e.sent.Wait()
}

// readAnswer reads the answer's head, after the interim answers.
func readAnswer(conn net.Conn, r *http.Request) (*http.Response, error) {
	reader := bufio.NewReaderSize(conn, bufferSize)
	for {
		response, err := http.ReadResponse(reader, r)
		if err != nil || response.StatusCode >= http.StatusOK {
			return response, err
		}
	}
}

// bodyError reports that the client's body could not be read.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return fmt.Sprintf("read the request's body: %v", e.err) }
func (e *bodyError) Unwrap() error { return e.err }

// sentBody is a request's body that is being sent, and remembers how it ended.
type sentBody struct {
	io.ReadCloser
	mu    sync.Mutex
	ended bool
	err   error // of the client's
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *sentBody) Close() error {
	b.end(io.EOF)
	return b.ReadCloser.Close()
}

// end remembers the first reason why there is no more to read.
func (b *sentBody) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended && !errors.Is(err, io.EOF) {
		b.err = &bodyError{err}
	}
	b.ended = true
}

func (b *sentBody) stillOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.ended
}

func (b *sentBody) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
